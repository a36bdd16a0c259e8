#include "bench/contend/requests.hpp"

#include <cmath>

namespace leasehold::bench {
namespace {

/// Independent generators of one seed, by number.
Random stream(std::uint64_t seed, std::uint64_t number) {
  Random of_seed(seed);
  return Random(of_seed.draw() ^ Random(number + 1).draw());
}

constexpr std::uint64_t kOpen = 1'000'000;  ///< above the numbers of all callers

}  // namespace

Requests::Requests(const Load& load, int first_caller, int callers, double arrivals_per_s)
    : arrivals_(Arrivals::parse(load.arrivals)),
      holding_(Holding::parse(load.hold)),
      locks_(Locks::parse(load.locks)),
      end_ns_(load.end_ns()),
      apart_ns_(arrivals_per_s > 0 ? 1e9 / arrivals_per_s : 0),
      open_(stream(load.seed, kOpen + static_cast<std::uint64_t>(first_caller))),
      last_ns_(static_cast<double>(-load.warm_up_ms) * 1e6),
      has_asked_(static_cast<std::size_t>(callers), false) {
  for (int c = 0; c < callers; ++c) {
    closed_.push_back(stream(load.seed, static_cast<std::uint64_t>(first_caller + c)));
  }
}

Request Requests::drawn(Random& random, std::int64_t at_ns) const {
  const int lock = locks_.draw(random);
  return {at_ns, lock, holding_.draw_ns(random)};
}

std::optional<Request> Requests::next(int caller, std::int64_t now_ns) {
  const auto i = static_cast<std::size_t>(caller);
  Request request;
  switch (arrivals_.kind) {
    case Arrivals::Kind::closed: {
      const auto pause = draw_share(closed_[i]) * static_cast<double>(arrivals_.pause_ns);
      request = drawn(closed_[i], now_ns + std::llround(pause));
      break;
    }
    case Arrivals::Kind::open:
      last_ns_ -= std::log(draw_share(open_)) * apart_ns_;
      request = drawn(open_, std::llround(last_ns_));
      break;
    case Arrivals::Kind::once:
      if (has_asked_[i]) return std::nullopt;
      request = drawn(closed_[i], 0);
      break;
  }
  has_asked_[i] = true;
  if (request.at_ns >= end_ns_) return std::nullopt;
  return request;
}

}  // namespace leasehold::bench

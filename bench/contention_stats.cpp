#include "bench/contention_stats.hpp"

#include <algorithm>
#include <numeric>

namespace leasehold::bench {
namespace {

constexpr double kMs = 1e6;
constexpr std::int64_t kWindow_ns = 2'000'000'000;

double jain(const std::vector<double>& counts) {
  const double sum = std::accumulate(counts.begin(), counts.end(), 0.0);
  const double squares = std::inner_product(counts.begin(), counts.end(), counts.begin(), 0.0);
  return squares == 0 ? 0 : sum * sum / (static_cast<double>(counts.size()) * squares);
}

double mean_jain(const std::vector<Taken>& taken, std::int64_t callers, std::int64_t from,
                 std::int64_t to) {
  const auto windows = std::max<std::int64_t>((to - from) / kWindow_ns, 1);
  double sum = 0;
  for (std::int64_t w = 0; w < windows; ++w) {
    std::vector<double> counts(static_cast<std::size_t>(callers), 0.0);
    for (const Taken& t : taken) {
      const auto since = t.granted - (from + w * kWindow_ns);
      if (since >= 0 && since < kWindow_ns) counts.at(static_cast<std::size_t>(t.caller)) += 1;
    }
    sum += jain(counts);
  }
  return sum / static_cast<double>(windows);
}

}  // namespace

double quantile(std::vector<double> values, double q) {
  if (values.empty()) return 0;
  const auto at =
      values.begin() + static_cast<std::ptrdiff_t>(static_cast<double>(values.size() - 1) * q);
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

Contention measure(std::vector<Taken> taken, std::int64_t callers, std::int64_t from,
                   std::int64_t to) {
  std::erase_if(taken, [&](const Taken& t) { return t.granted < from || t.granted >= to; });
  std::sort(taken.begin(), taken.end(),
            [](const Taken& a, const Taken& b) { return a.granted < b.granted; });
  Contention c;
  if (taken.empty()) return c;
  std::vector<double> waits, hand_overs;
  double held = 0;
  for (std::size_t i = 0; i < taken.size(); ++i) {
    waits.push_back(static_cast<double>(taken[i].granted - taken[i].asked) / kMs);
    held += static_cast<double>(taken[i].released - taken[i].granted) / kMs;
    if (i > 0 && taken[i].asked < taken[i - 1].released) {
      hand_overs.push_back(static_cast<double>(taken[i].granted - taken[i - 1].released) / kMs);
    }
  }
  c.acquisitions_per_s =
      static_cast<double>(taken.size()) / (static_cast<double>(to - from) * 1e-9);
  c.mean_hold_ms = held / static_cast<double>(taken.size());
  c.wait_p50_ms = quantile(waits, 0.5);
  c.wait_p99_ms = quantile(waits, 0.99);
  c.wait_max_ms = *std::max_element(waits.begin(), waits.end());
  c.hand_over_p50_ms = quantile(hand_overs, 0.5);
  c.hand_over_p99_ms = quantile(hand_overs, 0.99);
  c.jain = mean_jain(taken, callers, from, to);
  return c;
}

}  // namespace leasehold::bench

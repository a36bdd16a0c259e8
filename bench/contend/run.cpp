#include "bench/contend/run.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <ranges>
#include <sstream>

#include "cli/command_line.hpp"

namespace leasehold::bench {
namespace {

constexpr double kCut = 100;  ///< no Pareto holding is longer than this many means
constexpr int kMostLocks = 100'000;
constexpr std::uint64_t kOpen = 1'000'000;  ///< above the numbers of all callers

/// "KIND:WORD:WORD", and the rule that it keeps.
struct Given {
  std::string option, text, rule;
  std::vector<std::string> words = split(text + ":", ':');

  /// Whether it is of that kind, with so many words more.
  [[nodiscard]] bool is(const std::string& kind, std::size_t more) const {
    return words[0] == kind && words.size() == more + 1;
  }
  [[nodiscard]] double ns(std::size_t word) const {
    return static_cast<double>(cli::duration_of(option, words[word]).count()) * 1e6;
  }
  /// A word as a number; nothing if a part of it is none.
  [[nodiscard]] double number(std::size_t word, double usual) const {
    if (word >= words.size()) return usual;
    char* end = nullptr;
    const double value = std::strtod(words[word].c_str(), &end);
    return words[word].empty() || *end != 0 ? std::nan("") : value;
  }
  void require(bool kept, const std::string& of_kind = "") const {
    if (kept) return;
    throw cli::UsageError("--" + option + " is '" + text + "': it must be " +
                          (of_kind.empty() ? rule : of_kind));
  }
};

/// Uniform in (0, 1].
double draw_share(Random& random) {
  return (static_cast<double>(random.draw() >> 11) + 1) * 0x1p-53;
}

/// Independent generators of one seed, by number.
Random stream(std::uint64_t seed, std::uint64_t number) {
  Random of_seed(seed);
  return Random(of_seed.draw() ^ Random(number + 1).draw());
}

}  // namespace

const std::vector<std::pair<std::string, Strategy>>& strategies() {
  using std::chrono::milliseconds;
  static const std::vector<std::pair<std::string, Strategy>> all{
      {"uniform", uniform_waiting()},
      {"adaptive", adaptive_waiting()},
      {"queue", queue_waiting()},
      {"uniform-1-50", uniform_waiting(milliseconds(1), milliseconds(50))},
      {"uniform-100-3000", uniform_waiting(milliseconds(100), milliseconds(3'000))},
      {"fixed-100", fixed_waiting(milliseconds(100))},
      {"exponential-full", exponential_waiting(Jitter::full)},
      {"exponential-decorrelated", exponential_waiting(Jitter::decorrelated)},
      {std::string(kExclusive), queue_waiting()},
  };
  return all;
}

Strategy strategy_named(const std::string& name) {
  std::string list;
  for (const auto& [known, strategy] : strategies()) {
    if (known == name) return strategy;
    list += (list.empty() ? "" : ", ") + known;
  }
  throw cli::UsageError("--strategy is '" + name + "': it must be one of " + list);
}

std::vector<std::string> split(const std::string& list, char between) {
  std::vector<std::string> words;
  std::istringstream in(list);
  for (std::string word; std::getline(in, word, between);) words.push_back(word);
  return words;
}

Holding Holding::parse(const std::string& text) {
  const Given given{
      "hold", text,
      "constant:TIME, uniform:LEAST:MOST, exponential:MEAN or pareto:MEAN[:EXPONENT]"};
  if (given.is("uniform", 2)) {
    const double a = given.ns(1), b = given.ns(2);
    given.require(a <= b, "uniform:LEAST:MOST, the least first");
    return {[a, b](double share) { return a + share * (b - a); }, (a + b) / 2};
  }
  const bool constant = given.is("constant", 1), exponential = given.is("exponential", 1);
  given.require(constant || exponential || given.is("pareto", 1) || given.is("pareto", 2));
  const double mean = given.ns(1);
  if (constant) return {[mean](double) { return mean; }, mean};
  if (exponential) return {[mean](double share) { return -std::log(share) * mean; }, mean};
  const double exponent = given.number(2, 1.5);
  given.require(exponent > 1 && exponent <= 100,
                "pareto:MEAN:EXPONENT with an exponent above 1, at most 100");
  const double least = mean * (exponent - 1) / exponent;
  const double beyond_cut = least * std::pow(least / (kCut * mean), exponent - 1) / (exponent - 1);
  const auto ns_at = [=](double share) {
    return std::min(least * std::pow(share, -1 / exponent), kCut * mean);
  };
  return {ns_at, mean > 0 ? mean - beyond_cut : mean};
}

/// One draw, whatever the kind.
std::int64_t Holding::draw_ns(Random& random) const {
  return std::llround(ns_at(draw_share(random)));
}

Arrivals Arrivals::parse(const std::string& text) {
  const Given given{"arrivals", text, "closed, closed:PAUSE, open:PERCENT or once"};
  if (given.is("once", 0)) return {Kind::once};
  if (given.is("closed", 0)) return {};
  if (given.is("closed", 1)) return {Kind::closed, static_cast<std::int64_t>(given.ns(1))};
  given.require(given.is("open", 1));
  const double share = given.number(1, 0) / 100;
  given.require(share > 0 && share <= 10,
                "open:PERCENT of the ideal rate, above 0 and at most 1000");
  return {Kind::open, 0, share};
}

Locks Locks::parse(const std::string& text) {
  const Given given{
      "locks", text,
      "one, many:COUNT or zipf:COUNT[:EXPONENT], of 1 to 100000 locks, exponent 0 to 10"};
  const bool zipf = given.is("zipf", 1) || given.is("zipf", 2);
  given.require(zipf || given.is("one", 0) || given.is("many", 1));
  const double count = given.number(1, 1), s = zipf ? given.number(2, 1) : 0;
  given.require(count >= 1 && count <= kMostLocks && count == std::floor(count));
  given.require(s >= 0 && s <= 10);
  Locks locks;
  double sum = 0;
  for (int k = 1; k <= static_cast<int>(count); ++k) {
    locks.up_to.push_back(sum += std::pow(k, -s));
  }
  for (double& up_to : locks.up_to) up_to /= sum;
  return locks;
}

int Locks::draw(Random& random) const {
  const auto at = std::lower_bound(up_to.begin(), up_to.end() - 1, draw_share(random));
  return static_cast<int>(at - up_to.begin());
}

double ideal_per_s(const Load& load, double write_ms) {
  const double turn_s = Holding::parse(load.hold).mean_ns * 1e-9 + write_ms * 1e-3;
  return 1 / (turn_s * Locks::parse(load.locks).hottest_share());
}

Requests::Requests(const Load& load, int first_caller, int callers, double arrivals_per_s)
    : arrivals_(Arrivals::parse(load.arrivals)),
      holding_(Holding::parse(load.hold)),
      locks_(Locks::parse(load.locks)),
      end_ns_(load.end_ns()),
      reads_(load.reads),
      beside_(load.clients * load.callers - first_caller),
      apart_ns_(arrivals_per_s > 0 ? 1e9 / arrivals_per_s : 0),
      open_(stream(load.seed, kOpen + static_cast<std::uint64_t>(first_caller))),
      last_ns_(static_cast<double>(-load.warm_up_ms) * 1e6),
      has_asked_(static_cast<std::size_t>(callers), false) {
  for (int c = 0; c < callers; ++c) {
    closed_.push_back(stream(load.seed, static_cast<std::uint64_t>(first_caller + c)));
  }
}

Request Requests::drawn(Random& random, std::int64_t at_ns, bool may_read) const {
  const int lock = locks_.draw(random);
  const auto hold_ns = holding_.draw_ns(random);
  return {at_ns, lock, hold_ns, may_read && draw_share(random) * 100 <= reads_};
}

std::optional<Request> Requests::next(int caller, std::int64_t now_ns) {
  const auto i = static_cast<std::size_t>(caller);
  const bool may_read = reads_ > 0 && caller < beside_;
  Request request;
  switch (arrivals_.kind) {
    case Arrivals::Kind::closed: {
      const auto pause = draw_share(closed_[i]) * static_cast<double>(arrivals_.pause_ns);
      request = drawn(closed_[i], now_ns + std::llround(pause), may_read);
      break;
    }
    case Arrivals::Kind::open:
      last_ns_ -= std::log(draw_share(open_)) * apart_ns_;
      request = drawn(open_, std::llround(last_ns_), may_read);
      break;
    case Arrivals::Kind::once:
      if (has_asked_[i]) return std::nullopt;
      request = drawn(closed_[i], 0, may_read);
      break;
  }
  has_asked_[i] = true;
  if (request.at_ns >= end_ns_) return std::nullopt;
  return request;
}

void WireCounts::count(const std::string& command, std::int64_t at_ns, std::int64_t end_ns) {
  if (at_ns < 0 || at_ns >= end_ns) return;
  static const std::array kWrites{"findAndModify", "update", "delete", "insert", "createIndexes"};
  ++(std::ranges::count(kWrites, command) > 0 ? writes : reads);
  if (command == "findAndModify") ++attempts[at_ns / 1'000'000'000];
}

void WireCounts::add(const WireCounts& other) {
  writes += other.writes;
  reads += other.reads;
  for (const auto& [second, count] : other.attempts) attempts[second] += count;
}

std::int64_t WireCounts::most_attempts_per_s() const {
  return attempts.empty() ? 0 : std::ranges::max(std::views::values(attempts));
}

void write_samples(std::ostream& out, const RunResult& run, std::int64_t end_ns) {
  const auto time = [](std::int64_t ns) { return ns == kNever ? "" : std::to_string(ns); };
  for (const Sample& s : run.samples) {
    out << run.run << ',' << run.strategy << ',' << run.repetition << ',' << s.client << ','
        << s.lock << ',' << s.asked_ns << ',' << time(s.granted_ns) << ',' << time(s.released_ns)
        << ',' << (s.granted_ns >= end_ns ? 1 : 0) << ',' << (s.reads ? 1 : 0) << '\n';
  }
}

void write_run(std::ostream& out, const RunResult& run) {
  out << run.run << ',' << run.strategy << ',' << run.repetition << ',' << run.seed << ',';
  if (run.wire.counted) {
    std::int64_t all_attempts = 0;
    for (const auto& [second, count] : run.wire.attempts) all_attempts += count;
    out << run.wire.writes << ',' << run.wire.reads << ',' << all_attempts << ','
        << run.wire.most_attempts_per_s();
  } else {
    out << ",,,";
  }
  out << ',' << run.write_ms << ',';
  if (run.server_cpu_s >= 0) out << run.server_cpu_s;
  out << ',';
  if (run.machine_idle >= 0) out << run.machine_idle;
  out << ',' << run.arrivals_per_s << '\n';
}

}  // namespace leasehold::bench

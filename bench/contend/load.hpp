#pragma once

#include <chrono>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sim/plan/random.hpp"

/// The requests of clients: the options of `leasehold-bench contend` that both worlds share.
namespace leasehold::bench {

using sim::Random;

/// Uniform in (0, 1].
[[nodiscard]] double draw_share(Random& random);

/// How long a lock is held. Every `parse` here throws cli::UsageError that names option and rule.
class Holding {
 public:
  /// "constant:5ms", "uniform:1ms:9ms", "exponential:5ms", "pareto:5ms" or "pareto:5ms:1.5" (mean
  /// and exponent; cut at a hundred times the mean, or a single one could fill a run).
  [[nodiscard]] static Holding parse(const std::string& text);

  [[nodiscard]] std::int64_t draw_ns(Random& random) const;
  [[nodiscard]] double mean_ns() const;  ///< exact, the cut included

 private:
  enum class Kind { constant, uniform, exponential, pareto };
  Kind kind_ = Kind::constant;
  double a_ns_ = 0;  ///< the least of a uniform one, else the mean
  double b_ns_ = 0;  ///< the most of a uniform one
  double exponent_ = 0;
};

/// When clients ask.
struct Arrivals {
  enum class Kind {
    closed,  ///< each client asks again after a pause that begins with its release
    open,    ///< requests come at random times, whether or not earlier ones are served
    once     ///< every client asks at time 0, and never again
  };
  Kind kind = Kind::closed;
  std::int64_t pause_ns = 100'000'000;  ///< closed: uniform from 0
  double share_of_ideal = 0;            ///< open: how much of the ideal rate is asked for

  /// "closed", "closed:100ms", "open:80" (percent) or "once".
  [[nodiscard]] static Arrivals parse(const std::string& text);
};

/// Which lock a request is for.
class Locks {
 public:
  /// "one", "many:100" (each equally often), "zipf:100" or "zipf:100:1.2" (the k-th with a weight
  /// of 1 / k^s; s is 1 if not given).
  [[nodiscard]] static Locks parse(const std::string& text);

  [[nodiscard]] int draw(Random& random) const;
  [[nodiscard]] int count() const { return static_cast<int>(up_to_.size()); }
  [[nodiscard]] double share_of(int lock) const;
  /// The share of the most requested lock: it is the first that a load saturates.
  [[nodiscard]] double hottest_share() const { return share_of(0); }

 private:
  std::vector<double> up_to_;  ///< sums of the shares up to this lock; the last is 1
};

/// One strategy's run. Distributions stay text, so that a program in any language can be a client.
struct Load {
  std::string strategy = "uniform";
  std::string beside;  ///< of one more client, the last: a strategy or lock; empty: there is none
  int clients = 16;    ///< apart from each other: each has a provider of its own
  int callers = 1;     ///< threads of each client, which queue inside it
  std::string hold = "constant:5ms";
  std::string arrivals = "closed:100ms";
  std::string locks = "one";
  std::uint64_t seed = 1;
  double arrivals_per_s = 0;  ///< of all processes together; of the open loop
  std::int64_t warm_up_ms = 3'000, measured_ms = 10'000, drain_ms = 60'000;

  [[nodiscard]] int all_clients() const { return clients + (beside.empty() ? 0 : 1); }
  [[nodiscard]] std::int64_t end_ns() const { return measured_ms * 1'000'000; }
  [[nodiscard]] std::int64_t given_up_ns() const { return (measured_ms + drain_ms) * 1'000'000; }
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Load, strategy, beside, clients, callers, hold, arrivals, locks,
                                   seed, arrivals_per_s, warm_up_ms, measured_ms, drain_ms)

/// The most acquisitions a second that any lock could serve: the hottest lock is never idle, and an
/// acquisition takes a holding and one majority write.
[[nodiscard]] double ideal_per_s(const Load& load, double write_ms);

}  // namespace leasehold::bench

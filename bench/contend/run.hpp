#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <leasehold/waiting.hpp>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "sim/plan/random.hpp"

/// A run of one strategy in either world: what its clients ask for, and what is measured.
namespace leasehold::bench {

using sim::Random;

using Strategy = std::shared_ptr<const WaitingStrategy>;
/// What `--strategy` knows, in the order of tables: the one table of strategies of the benches.
[[nodiscard]] const std::vector<std::pair<std::string, Strategy>>& strategies();
/// Throws cli::UsageError.
[[nodiscard]] Strategy strategy_named(const std::string& name);

/// The default, but calls that read take the lock alone: what sharing is compared with.
inline constexpr std::string_view kExclusive = "exclusive";
/// A strategy that begins so is none, but the lock of a worker (`--worker`): its command follows.
inline constexpr std::string_view kWorker = "worker:";

/// Whether this is no strategy but a published lock of `impl/published` that another software uses
/// in the same collection: it polls, and knows of no queue. For `--beside` in the virtual world.
[[nodiscard]] inline bool is_lock(const std::string& name) { return name == "distributed-lock"; }

[[nodiscard]] std::vector<std::string> split(const std::string& list, char between);

/// How long a lock is held. Every `parse` here throws cli::UsageError that names option and rule.
struct Holding {
  std::function<double(double share)> ns_at;  ///< at this share of all, above 0 and at most 1
  double mean_ns = 0;                         ///< exact, the cut included

  /// "constant:5ms", "uniform:1ms:9ms", "exponential:5ms", "pareto:5ms" or "pareto:5ms:1.5" (mean
  /// and exponent; cut at a hundred times the mean, or a single one could fill a run).
  [[nodiscard]] static Holding parse(const std::string& text);

  [[nodiscard]] std::int64_t draw_ns(Random& random) const;
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
struct Locks {
  std::vector<double> up_to;  ///< sums of the shares up to this lock; the last is 1

  /// "one", "many:100" (each equally often), "zipf:100" or "zipf:100:1.2" (the k-th with a weight
  /// of 1 / k^s; s is 1 if not given).
  [[nodiscard]] static Locks parse(const std::string& text);

  [[nodiscard]] int draw(Random& random) const;
  /// The share of the most requested lock: it is the first that a load saturates.
  [[nodiscard]] double hottest_share() const { return up_to.front(); }
};

/// One strategy's run. Distributions stay text, as its clients get them.
struct Load {
  std::string strategy = "uniform";
  std::string beside;  ///< of one more client, the last: a strategy or lock; empty: there is none
  int clients = 16;    ///< apart from each other: each has a provider of its own
  int callers = 1;     ///< threads of each client, which queue inside it
  int reads = 0;       ///< percent of the calls; those of the one beside all write
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
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Load, strategy, beside, clients, callers, reads, hold, arrivals,
                                   locks, seed, arrivals_per_s, warm_up_ms, measured_ms, drain_ms)

/// The most acquisitions a second that any lock could serve: the hottest lock is never idle, and an
/// acquisition takes a holding and one majority write.
[[nodiscard]] double ideal_per_s(const Load& load, double write_ms);

struct Request {
  std::int64_t at_ns = 0;  ///< when it is made, from the beginning of what is measured
  int lock = 0;
  std::int64_t hold_ns = 0;
  bool reads = false;
};

/// The times and locks of callers' requests. The same seed gives every strategy the same requests:
/// in the closed loop to each caller, in the open loop to any idle caller. An open loop's times
/// never depend on when a caller was served. Not thread-safe.
class Requests {
 public:
  /// For `callers` of one process, numbered from `first_caller`; `arrivals_per_s` is this process's
  /// share of an open loop.
  Requests(const Load& load, int first_caller, int callers, double arrivals_per_s);

  /// The next request for an idle caller (counted from the first); none: the time is over. In an
  /// open loop it may lie in the past, and has waited since then.
  [[nodiscard]] std::optional<Request> next(int caller, std::int64_t now_ns);

 private:
  Request drawn(Random& random, std::int64_t at_ns, bool may_read) const;

  Arrivals arrivals_;
  Holding holding_;
  Locks locks_;
  std::int64_t end_ns_;
  int reads_, beside_;           ///< percent; the first caller that only writes
  double apart_ns_;              ///< between two arrivals, on average
  Random open_;                  ///< of the open loop
  double last_ns_;               ///< the last arrival of the open loop
  std::vector<Random> closed_;   ///< by caller
  std::vector<bool> has_asked_;  ///< by caller
};

constexpr std::int64_t kNever = INT64_MAX;

/// One request and its result; times in ns from the beginning of the measured time.
struct Sample {
  int client = 0, lock = 0;
  std::int64_t asked_ns = 0;
  std::int64_t granted_ns = kNever;   ///< kNever: not even after the measured time
  std::int64_t released_ns = kNever;  ///< when the release was called
  bool reads = false;
  bool operator==(const Sample&) const = default;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Sample, client, lock, asked_ns, granted_ns, released_ns, reads)

/// Commands on the wire, in the measured time.
struct WireCounts {
  std::int64_t writes = 0, reads = 0;
  std::map<std::int64_t, std::int64_t> attempts;  ///< by second, from 0: findAndModify
  bool counted = true;  ///< false: a worker's commands cannot be seen

  /// `command` is its name; it counts if `at_ns` is before `end_ns`.
  void count(const std::string& command, std::int64_t at_ns, std::int64_t end_ns);
  void add(const WireCounts& other);
  [[nodiscard]] std::int64_t most_attempts_per_s() const;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(WireCounts, writes, reads, attempts)

/// What one run of one strategy measured.
struct RunResult {
  int run = 0;
  std::string strategy;
  int repetition = 0;
  std::uint64_t seed = 0;
  std::vector<Sample> samples;
  WireCounts wire;
  double write_ms = 0;        ///< one majority write of the bare driver, on average
  double server_cpu_s = -1;   ///< of all members, in the measured time; -1: not ours
  double machine_idle = -1;   ///< share of all cores; -1: virtual
  double arrivals_per_s = 0;  ///< of an open loop
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(RunResult, samples, wire)

/// One run in virtual time: the production core and the simulated replica set, without faults, so
/// that thousands of waiters cost no machine. The same seed gives the same samples on every
/// machine. REQUIRES: one caller a client, and no worker as strategy.
[[nodiscard]] RunResult run_virtual(const Load& load);
/// One majority write there, alone, on average.
[[nodiscard]] double virtual_write_ms();

inline constexpr const char* kSamplesHeader =
    "run,strategy,repetition,client,lock,asked_ns,granted_ns,released_ns,censored,reader\n";
inline constexpr const char* kRunsHeader =
    "run,strategy,repetition,seed,writes,reads,attempts,most_attempts_per_s,write_ms,server_cpu_s,"
    "machine_idle,arrivals_per_s\n";
/// A row for each request: one that still waited at the end of the measured time has `censored` 1.
void write_samples(std::ostream& out, const RunResult& run, std::int64_t end_ns);
/// A row for each run, with figures that no single request has.
void write_run(std::ostream& out, const RunResult& run);

}  // namespace leasehold::bench

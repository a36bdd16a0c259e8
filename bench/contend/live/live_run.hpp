#pragma once

#include <functional>
#include <leasehold/lock_provider.hpp>
#include <optional>
#include <string>

#include "bench/contend/run.hpp"
#include "runtime/threads/clock.hpp"
#include "sim/live/servers/replica_set.hpp"

namespace leasehold::bench {

/// The clock that all processes of a benchmark share, in ns.
[[nodiscard]] inline std::int64_t boot_ns() {
  static const auto clock = runtime::boottime_clock();
  return clock->now().time_since_epoch().count();
}

/// A provider that reports each command on the wire. Aborts for a bad URI.
[[nodiscard]] LockProvider told_provider(const std::string& uri, const std::string& database,
                                         int workers,
                                         std::function<void(const std::string&)> on_wire);

/// The servers of live runs: the user's, or three members of its own.
class Servers {
 public:
  /// An empty `uri`: its own. Throws NoMongod, or cli::UsageError: no server answers there.
  explicit Servers(const std::string& uri);

  [[nodiscard]] const std::string& uri() const { return uri_; }
  /// Processor time of all members so far; -1: they are the user's.
  [[nodiscard]] double cpu_s();
  /// How long one majority write of the bare driver takes, on average over about a second.
  [[nodiscard]] double write_ms(const std::string& database) const;
  void drop(const std::string& database) const;

 private:
  std::optional<sim::live::ReplicaSet> own_;
  std::string uri_;
};

/// One run of one strategy: the clients' processes, and what they measured. Throws
/// std::runtime_error if a client could not do its part.
[[nodiscard]] RunResult run_live(const Load& load, bool processes, Servers& servers,
                                 const std::string& database);

/// The order of one OS process with some of the clients, as JSON on its command line. The process
/// connects, acquires a lock of its own per client, says "ready", reads when the measured time
/// begins (CLOCK_BOOTTIME, ns), runs, and says its samples and counts. All that it says is JSON, a
/// line each; an `error` instead says why the run is worth nothing.
struct WorkerOrder {
  Load load;
  int first_client = 0, clients = 1;
  double arrivals_per_s = 0;  ///< of this process, in an open loop
  std::string uri, database;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(WorkerOrder, load, first_client, clients, arrivals_per_s, uri,
                                   database)

/// Does what `order` says. Returns the exit code.
int run_worker(const std::string& order);

}  // namespace leasehold::bench

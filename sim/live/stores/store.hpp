#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "model/history/history.hpp"
#include "model/workers/promises.hpp"
#include "sim/faults/cluster_control.hpp"
#include "sim/live/run/resource.hpp"

namespace leasehold::sim::live {

class FaultProxy;
class ReplicaSet;
class ScriptedServers;
class UserSet;

/// What one run does with its store.
struct StoreUse {
  std::string database;  ///< no other run's
  std::string locks;     ///< the collection with the locks, if the store has some
  /// An administrator leaves the documents and indexes of a lock that is not ours alone: no author
  /// promises to do without them.
  bool foreign = false;
  std::optional<model::DocumentMapping> document = {};  ///< of such a lock, if its author gave it
  std::vector<std::string> resources = {};  ///< names of locks, each with a fenced resource
  bool first_leads = false;  ///< member 0 is to be primary at the beginning
};

/// The servers under a live run, as the run uses them from its beginning to its end: what faults do
/// to them, which of them died, and, if the store can show it, the truth of what was written.
///
/// What has a default here is what a store cannot do, or need not.
///
/// Thread safety: `resource` from any thread, all else from the harness's.
class Store {
 public:
  Store() = default;
  virtual ~Store() = default;
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  /// How long after a fault, or a pause, its servers may still be busy with it.
  [[nodiscard]] virtual std::int64_t fault_echo_ms() const { return 3'000; }
  /// For faults; nothing: they are of processes alone.
  [[nodiscard]] virtual std::optional<ServerControl> control() { return std::nullopt; }
  /// For a process of this name: it leads through the proxies, if there are any.
  [[nodiscard]] virtual std::string uri_for(const std::string& process) = 0;
  /// The fenced resource, for one writer that was given this URI.
  [[nodiscard]] virtual std::shared_ptr<FencedResource> resource(const std::string& uri) = 0;
  /// A process of the run began, and knows no URI yet.
  virtual void began(const std::string& /*process*/, pid_t /*pid*/) {}

  /// A URI of each member that a ping reaches, by its number.
  [[nodiscard]] virtual std::vector<std::string> watched_members() { return {}; }
  /// `exit` events of members that ended since the last call and that no fault killed.
  [[nodiscard]] virtual model::History exits() { return {}; }
  /// Starts members that are dead.
  virtual void restart_members() {}
  /// Those of these processes that no fault of a link reaches. To be asked while they run.
  [[nodiscard]] virtual std::set<std::string> past_proxies(const std::vector<std::string>&) {
    return {};
  }

  /// What was written since the last call, as far as that is known.
  [[nodiscard]] virtual model::History truth() = 0;
  /// The rest, once, at the end, with what a second reading shows.
  [[nodiscard]] virtual model::History rest_of_truth() { return truth(); }
  /// Whether a majority has what the primary wrote.
  [[nodiscard]] virtual bool has_majority() { return true; }
  /// `no-majority` events of all spans so far, and `slow` events since the last call.
  [[nodiscard]] virtual model::History take_spans() { return {}; }
};

/// Where the store of a run is, for any number of runs. Servers that are given have to outlive it.
struct StoreAt {
  // Implicit, because each of these is such a place.
  StoreAt(ReplicaSet& servers);       // NOLINT: ours, with faults
  StoreAt(UserSet& servers);          // NOLINT: the user's, with faults of links
  StoreAt(const std::string& uri);    // NOLINT: a replica set that is left alone
  StoreAt(ScriptedServers& servers);  // NOLINT: no MongoDB, with faults

  std::function<std::unique_ptr<Store>(const StoreUse&)> open;
  std::vector<std::string> log_files = {};  ///< of servers that we started
  FaultProxy* proxy = nullptr;  ///< before the members of another set or store; null: none
};

}  // namespace leasehold::sim::live

#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <leasehold/leasehold.hpp>
#include <memory>
#include <thread>

#include "api/access.hpp"
#include "core/provider_core.hpp"
#include "mongo/client/mongo_transport.hpp"
#include "sim/live/processes/worker.hpp"
#include "sim/live/servers/replica_set.hpp"

namespace leasehold::sim::live {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// The replica set that all tests of a program share; started with the first use.
inline ReplicaSet& shared_set() {
  static ReplicaSet set;
  return set;
}

/// Another, whose links and elections its program disturbs.
inline ReplicaSet& faulty_set() {
  static ReplicaSet set({.faulty = true});
  return set;
}

/// Below a provider, for the collection of locks.
inline std::shared_ptr<core::Transport> transport_to(
    const std::string& uri, const std::string& database, seconds selection,
    std::function<void(const std::string&)> on_wire = {}) {
  return mongo::make_transport({.uri = uri,
                                .database = database,
                                .collection = kLockCollection,
                                .server_selection_timeout = selection,
                                .on_wire = std::move(on_wire)})
      .value();
}

/// Gives a set of one what the primary of a cluster's shard has.
inline void make_a_shard(ReplicaSet& set) {
  const Json identity{{"_id", "shardIdentity"},
                      {"shardName", "one"},
                      {"clusterId", {{"$oid", "0123456789abcdef01234567"}}},
                      {"configsvrConnectionString", "configuration/127.0.0.1:1"}};
  set.member(0).must("admin",
                     {{"insert", "system.version"}, {"documents", Json::array({identity})}});
}

/// A database that no other test uses.
inline std::string fresh_database() {
  static std::atomic<int> last = 0;
  return "live_test_" + std::to_string(++last);
}

/// What the server has in one collection.
class Documents {
 public:
  explicit Documents(std::string database, std::string collection = kLockCollection)
      : database_(std::move(database)),
        collection_(std::move(collection)),
        client_(shared_set().uri()) {}

  Json find(const Json& filter = Json::object()) {
    return client_.must(database_,
                        {{"find", collection_}, {"filter", filter}})["cursor"]["firstBatch"];
  }
  /// Null: there is none.
  Json one(const Json& filter) {
    const Json found = find(filter);
    return found.empty() ? Json() : found[0];
  }
  std::int64_t count() {
    return integer(client_.must(database_, {{"count", collection_}})["n"]);
  }
  void insert(const Json& document) {
    client_.must(database_, {{"insert", collection_},
                             {"documents", Json::array({document})},
                             {"writeConcern", {{"w", "majority"}}}});
  }
  void remove(const Json& filter) {
    client_.must(database_, {{"delete", collection_},
                             {"deletes", Json::array({{{"q", filter}, {"limit", 0}}})},
                             {"writeConcern", {{"w", "majority"}}}});
  }

 protected:
  const std::string database_, collection_;
  MongoClient client_;
};

/// A provider that counts its commands on the wire, and keeps its warnings.
class CountedProvider {
 public:
  explicit CountedProvider(const std::string& database, const std::string& application = "test",
                           const std::string& uri = shared_set().uri())
      : provider(start(database, application, uri)) {}

  [[nodiscard]] Lock lock(const std::string& name, milliseconds expiry,
                          milliseconds margin = milliseconds(500)) const {
    LockOptions options{.expiry = expiry,
                        .waiting = uniform_waiting(milliseconds(5), milliseconds(40)),
                        .clock_margin = margin};
    return std::move(provider.create_lock(name, options)).value();
  }

  [[nodiscard]] int sent(const std::string& command) const {
    const std::lock_guard lock(counts_->mutex);
    const auto found = counts_->wire.find(command);
    return found == counts_->wire.end() ? 0 : found->second;
  }
  [[nodiscard]] std::string warnings() const {
    const std::lock_guard lock(counts_->mutex);
    return counts_->warnings;
  }

 private:
  struct Counts {
    std::mutex mutex;
    std::map<std::string, int> wire;
    std::string warnings;
  };

  LockProvider start(const std::string& database, const std::string& application,
                     const std::string& uri) {
    auto transport = transport_to(with_option(uri, "appName=" + application), database, seconds(2),
                                  [counts = counts_](const std::string& name) {
                                    const std::lock_guard lock(counts->mutex);
                                    ++counts->wire[name];
                                  });
    auto parts = runtime::production_parts(std::move(transport),
                                           std::make_unique<core::ProviderCore>("test", 4));
    parts.on_warning = [counts = counts_](const std::string& warning) {
      const std::lock_guard lock(counts->mutex);
      counts->warnings += warning + '\n';
    };
    return detail::Access::provider(runtime::Driver::make(std::move(parts)));
  }

  std::shared_ptr<Counts> counts_ = std::make_shared<Counts>();

 public:
  LockProvider provider;
};

/// Waits, with a limit, for an effect of another process or thread. A slow machine may take long.
template <typename Condition>
bool eventually(Condition condition, milliseconds limit = std::chrono::minutes(1)) {
  const auto until = std::chrono::steady_clock::now() + limit;
  while (std::chrono::steady_clock::now() < until) {
    if (condition()) return true;
    std::this_thread::sleep_for(milliseconds(5));
  }
  return condition();
}

class Stopwatch {
 public:
  [[nodiscard]] milliseconds elapsed() const {
    return std::chrono::duration_cast<milliseconds>(std::chrono::steady_clock::now() - began_);
  }

 private:
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
};

}  // namespace leasehold::sim::live

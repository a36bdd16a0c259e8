#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/virtual/servers/replica_set.hpp"

namespace leasehold::sim::simulated {

/// The servers of a run, for clients and faults: a replica set, or two shards of a cluster behind
/// three routers. Machine i has member i of each shard and router i. What befalls a machine befalls
/// its members; its router goes on.
///
/// ```
///   process ──> router ──┬──> shard 0: ReplicaSet
///                        └──> shard 1: ReplicaSet     the locks' database is on one of them
/// ```
/// A router, as measured on 7.0.11, reads its own clock for $$NOW, and answers with the newest
/// operationTime of the shards' replies to this command and the newest $clusterTime of all that it
/// has received from any client. It sends that along, so that a shard's next write is later. It
/// sends to the shard that it takes for the right one until that one says otherwise.
///
/// REQUIRES: it outlives the queue's events; all of them refer to it.
class Shards {
 public:
  /// `listener` is notified of the writes to the locks' database alone, each once, in their order.
  /// `cluster`: there are two shards, and this is the seed of what the first one does not draw.
  Shards(EventQueue& queue, Random& random, const ServerSettings& settings,
         Replication::Listener listener, std::optional<std::uint64_t> cluster = {});

  /// To that member; of a cluster by any router, to that member if it takes itself for the primary
  /// of the right shard, else to the one that does.
  void command(int member, Request request, ServerReply reply);
  void fenced_write(int member, std::shared_ptr<const FencedWrite> write, ServerReply reply);
  [[nodiscard]] bool is_sharded() const { return sets_.size() > 1; }

  /// As movePrimary: commands on the locks' database wait for this long and until a majority of the
  /// other shard has it. Then that shard serves it, or the old one goes on because the primary of
  /// one of them changed. False: it cannot begin. REQUIRES: two shards.
  bool move(std::int64_t span_ns, std::function<void(bool moved)> over);

  /// The shard that has the locks' database.
  [[nodiscard]] ReplicaSet& serving() { return sets_[owner_]; }
  [[nodiscard]] const ReplicaSet& serving() const { return sets_[owner_]; }
  [[nodiscard]] int primary() const { return serving().primary(); }
  /// An administrator changes no locks meanwhile.
  [[nodiscard]] bool moves() const { return moving_.has_value(); }
  /// A machine runs a member of each shard.
  void all(auto act, auto... of) {
    for (auto& set : sets_) (set.*act)(of...);
  }
  void fail_next(int count, int code, bool executed);
  [[nodiscard]] bool copies() const;

  /// A number of them all, such as `&ReplicaSet::elections`.
  [[nodiscard]] std::int64_t sum(auto number) const {
    std::int64_t total = 0;
    for (const auto& set : sets_) total += std::invoke(number, set);
    return total;
  }
  [[nodiscard]] std::int64_t injected_errors() const {
    return sum([](const ReplicaSet& set) { return set.errors.count(); });
  }
  /// How often a shard answered a router that the database has moved.
  [[nodiscard]] std::int64_t stale_routers() const { return stale_routers_; }

 private:
  struct Router {
    std::size_t shard = 0;  ///< that it takes for the right one
    Timestamp heard;        ///< the newest cluster time
  };
  /// A command at a router.
  struct Routed {
    int router = 0, member = 0;  ///< by choice of its client; -1: of the router
    Request request;
    ServerReply reply;
    std::int64_t until_ns = 0;  ///< by its maxTimeMS
    Timestamp newest = {};      ///< of the operation times that it was answered with
  };
  /// A move that is under way: terms are those of the primaries when it began.
  struct Move {
    std::int64_t giver_term, taker_term, until_ns;
    Residence before;
    std::function<void(bool)> over;
    bool copied = false;
  };

  [[nodiscard]] ReplicaSet& other() { return sets_[1 - owner_]; }
  [[nodiscard]] bool may_move() const;
  [[nodiscard]] int primary_by(int router, std::size_t shard, int member) const;
  static void hear(Router& router, Timestamp time) { router.heard = std::max(router.heard, time); }
  void route(const std::shared_ptr<Routed>& command);
  void route_again(const std::shared_ptr<Routed>& command);
  void answered(const std::shared_ptr<Routed>& command, ServerAnswer kind, Object answer);
  void go_on_moving();
  void end_move(bool moved);

  EventQueue& queue_;
  Random drawn_;  ///< its own, so that the first shard's numbers stay as they are
  std::size_t owner_ = 0;  ///< the shard that has the database, as the config servers know it
  std::deque<ReplicaSet> sets_;  ///< never moved
  PerMember<Router> routers_;
  std::optional<Move> moving_;
  std::int64_t stale_routers_ = 0;
};

}  // namespace leasehold::sim::simulated

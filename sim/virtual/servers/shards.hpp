#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

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
         Replication::Listener listener, std::optional<std::uint64_t> cluster = {})
      : queue_(queue), drawn_(cluster.value_or(0)) {
    const std::size_t shards = cluster ? 2 : 1;
    for (std::size_t i = 0; i < shards; ++i) {
      Replication::Listener of_owner;
      of_owner.on_committed = [this, i, on_committed = listener.on_committed](const Entry& entry) {
        if (i == owner_) on_committed(entry);
      };
      of_owner.on_followed = [this, i, on_followed = listener.on_followed](std::int64_t since_ns) {
        if (i == owner_) on_followed(since_ns);
      };
      sets_.emplace_back(queue, i == 0 ? random : drawn_, settings, std::move(of_owner));
    }
    if (!cluster) return;
    other().residence = {Residence::Is::elsewhere};
    // On another machine, so that the shards' clocks differ.
    other().step_up(1);
  }

  /// To that member; of a cluster by any router, to that member if it takes itself for the primary
  /// of the right shard, else to the one that does.
  void command(int member, Request request, ServerReply reply) {
    if (!is_sharded()) return serving().command(member, std::move(request), std::move(reply));
    const int router = static_cast<int>(drawn_.between(0, kMembers - 1));
    if (drawn_.chance(kElsewherePercent)) {
      const auto time = other().write_elsewhere(drawn_.between(1, 20));
      if (time) hear(routers_[router], *time);
    }
    request.now = Date{serving().clock_ms(router)};
    const Value* limit = request.command->find("maxTimeMS"_key);
    const auto span = limit == nullptr ? kRoutesFor : limit->integer() * kMs;
    route(std::make_shared<Routed>(
        Routed{router, member, std::move(request), std::move(reply), queue_.now() + span}));
  }

  void fenced_write(int member, std::shared_ptr<const FencedWrite> write, ServerReply reply) {
    if (!is_sharded()) {
      return serving().fenced_write(member, std::move(write), std::move(reply));
    }
    const int primary = primary_by(member, owner_, member);
    if (primary < 0) return reply(ServerAnswer::refused, {});
    serving().fenced_write(primary, write, [this, member, write, reply](auto kind, Object answer) {
      if (!is_stale(answer)) return reply(kind, std::move(answer));
      queue_.after(kRoutesAgain,
                   [this, member, write, reply] { fenced_write(member, write, reply); });
    });
  }

  [[nodiscard]] bool is_sharded() const { return sets_.size() > 1; }

  /// As movePrimary: commands on the locks' database wait for this long and until a majority of the
  /// other shard has it. Then that shard serves it, or the old one goes on because the primary of
  /// one of them changed. False: it cannot begin. REQUIRES: two shards.
  bool move(std::int64_t span_ns, std::function<void(bool moved)> over) {
    if (!may_move()) return false;
    const auto giver_term = serving().term(), taker_term = other().term();
    moving_ = Move{giver_term,           taker_term,      queue_.now() + span_ns + kMoveLimit,
                   serving().residence, std::move(over)};
    serving().residence = {Residence::Is::leaving, giver_term};
    serving().note();
    queue_.after(span_ns, [this] { go_on_moving(); });
    return true;
  }

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
  /// What is left of an earlier one stays with the shard that it hit.
  void fail_next(int count, int code, bool executed) {
    for (auto& set : sets_) set.errors.fail_next(0, 0, false);
    serving().errors.fail_next(count, code, executed);
  }
  [[nodiscard]] bool copies() const {
    return std::ranges::any_of(sets_, [](const auto& set) { return set.copies(); });
  }

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
  static constexpr std::int64_t kRoutesAgain = 5 * kMs;
  static constexpr std::int64_t kRoutesFor = 10'000 * kMs;  ///< what has no maxTimeMS
  static constexpr std::int64_t kMoveLooks = 5 * kMs;
  /// A majority has a write by then, undisturbed.
  static constexpr std::int64_t kFollows = 50 * kMs;
  static constexpr std::int64_t kMoveLimit = 300 * kMs;  ///< beyond its span, for majorities
  /// So many of a router's commands find that another client wrote to the other shard since.
  static constexpr int kElsewherePercent = 25;

  static bool is_stale(const Object& reply) {
    const Value* code = reply.find("code"_key);
    return code != nullptr && code->integer() == kStaleConfig;
  }

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
  /// A real one copies before commands have to wait, and does not come so far without majorities.
  [[nodiscard]] bool may_move() const {
    return !moving_ && std::ranges::none_of(sets_, [this](const ReplicaSet& set) {
      const auto since = set.behind_since();
      return set.term() == 0 || (since != 0 && queue_.now() - since > kFollows);
    });
  }

  /// By this router, -1: none.
  [[nodiscard]] int primary_by(int router, std::size_t shard, int member) const {
    PerMember<bool> reached{};
    if (member >= 0) reached[member] = true;
    if (member >= 0 && sets_[shard].primary_for(reached) == member) return member;
    for (int i = 0; i < kMembers; ++i) reached[i] = sets_[shard].reaches(router, i);
    return sets_[shard].primary_for(reached);
  }

  static void hear(Router& router, Timestamp time) { router.heard = std::max(router.heard, time); }
  void route(const std::shared_ptr<Routed>& command) {
    const Router& router = routers_[command->router];
    const int primary = primary_by(command->router, router.shard, command->member);
    if (primary < 0) return route_again(command);
    command->request.heard = router.heard;
    const auto answer_it = [this, command](ServerAnswer kind, Object answer) {
      answered(command, kind, std::move(answer));
    };
    sets_[router.shard].command(primary, command->request, answer_it);
  }

  /// It asks the config servers where the database is.
  void route_again(const std::shared_ptr<Routed>& command) {
    queue_.after(kRoutesAgain, [this, command] {
      routers_[command->router].shard = owner_;
      if (queue_.now() < command->until_ns) return route(command);
      command->reply(ServerAnswer::reply, error_reply(kMaxTimeExpired, "no primary of the shard"));
    });
  }

  void answered(const std::shared_ptr<Routed>& command, ServerAnswer kind, Object answer) {
    if (kind != ServerAnswer::reply) return command->reply(kind, std::move(answer));
    Router& router = routers_[command->router];
    const auto operation = *answer.find("operationTime"_key)->as<Timestamp>();
    const auto* known = answer.find("$clusterTime"_key)->as<Object>();
    hear(router, *known->find("clusterTime"_key)->as<Timestamp>());
    command->newest = std::max(command->newest, operation);
    if (is_stale(answer)) {
      ++stale_routers_;
      command->member = -1;
      return route_again(command);
    }
    answer.set("operationTime"_key, command->newest);
    answer.set("$clusterTime"_key, make({{"clusterTime"_key, router.heard}}));
    command->reply(kind, std::move(answer));
  }

  /// As a real one it waits for a majority of the giver, copies, and waits for one of the taker.
  void go_on_moving() {
    const bool same =
        serving().term() == moving_->giver_term && other().term() == moving_->taker_term;
    if (!same || queue_.now() > moving_->until_ns) return end_move(false);
    if (serving().is_confirmed()) {
      if (moving_->copied && other().is_confirmed()) return end_move(true);
      if (!std::exchange(moving_->copied, true)) other().receive(serving());
    }
    queue_.after(kMoveLooks, [this] { go_on_moving(); });
  }

  void end_move(bool moved) {
    const Move move = *std::exchange(moving_, std::nullopt);
    if (moved) {
      // An administrator may have changed it meanwhile.
      other().set_ttl_index(serving().ttl_index());
      serving().residence = {Residence::Is::elsewhere, move.giver_term};
      other().residence = {Residence::Is::here, move.taker_term};
      owner_ = 1 - owner_;
    } else {
      serving().residence = move.before;
    }
    move.over(moved);
  }

  EventQueue& queue_;
  Random drawn_;  ///< its own, so that the first shard's numbers stay as they are
  std::size_t owner_ = 0;  ///< the shard that has the database, as the config servers know it
  std::deque<ReplicaSet> sets_;  ///< never moved
  PerMember<Router> routers_;
  std::optional<Move> moving_;
  std::int64_t stale_routers_ = 0;
};

}  // namespace leasehold::sim::simulated

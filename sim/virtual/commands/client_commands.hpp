#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "sim/virtual/servers/elections.hpp"

namespace leasehold::sim::simulated {

/// The effect of the fault `errors` on commands: decides which of the next ones fail and how, and
/// knows nothing of members.
///
/// As the server's fail point failCommand: an error before the execution, an error or a write
/// concern error after it. Two more replies are given although no real set sends them to these
/// commands (sim/README.md), because the lock has answers to them: one that a driver's retry
/// brought, and a duplicate key for an upsert that was raced.
///
/// The ways take turns and are not drawn: the fault has each effect in each run, and adds no
/// randomness to what a seed means.
class InjectedErrors {
 public:
  /// The next `count` commands of any client; 0 ends it. `executed`: they are executed all the
  /// same.
  void fail_next(int count, int code, bool executed) {
    left_ = count;
    code_ = code;
    executed_ = executed;
  }
  [[nodiscard]] std::int64_t count() const { return count_; }

  /// Whether this command fails. It is counted, and the next calls are about it.
  bool strikes() {
    if (left_ <= 0) return false;
    --left_;
    ++count_;
    return true;
  }

  /// Its answer, if that comes instead of an execution.
  /// One acquire in three of a lock that is taken: any other command has no unique key to break.
  [[nodiscard]] std::optional<Object> instead_of(const Object& command,
                                                 const Collection& locks) const {
    if (count_ % 3 == 0 && finds_a_lock(locks, command)) return duplicate_id();
    // A stream's command writes nothing that could be executed and yet fail.
    if (executed_ && !ChangeStreams::serves(command)) return std::nullopt;
    return error_reply(code_, "injected");
  }
  /// Whether it is as if the driver had sent it twice: the second reply tells of the first
  /// execution, with a time that is not its write's.
  /// Only writes that wait for a majority are repeated: another has no time that could be mistaken
  /// for a token.
  [[nodiscard]] bool repeats(const Object& command, const Executed& executed) const {
    return count_ % 4 == 3 && is_acquire(command) && !executed.changes.empty() &&
           executed.for_majority;
  }
  /// Executed, but the reply does not say so: it is an error, or a write concern's.
  /// Either leaves open whether a majority has the write. By turns, so that both are met.
  [[nodiscard]] Object after(const Object& reply) const {
    if (count_ % 2 == 0) return error_reply(code_, "injected after the execution");
    return write_concern_error(reply, code_, "injected");
  }

 private:
  /// Only these insert: a hand-over or a pass-on changes what is there.
  static bool is_acquire(const Object& command) {
    const Value* upsert = command.find("upsert"_key);
    return command.fields.at(0).first == "findAndModify"_key && upsert != nullptr &&
           upsert->truth();
  }

  /// Whether this is an acquire of a lock that is held: as if another's upsert had raced it.
  static bool finds_a_lock(const Collection& locks, const Object& command) {
    if (!is_acquire(command)) return false;
    const Value* id = command.find("query"_key)->as<Object>()->find("_id"_key);
    return locks.find(*id->as<std::string>()) != nullptr;
  }

  int left_ = 0, code_ = 0;
  bool executed_ = false;
  std::int64_t count_ = 0;
};

/// A command that a client sends. It arrives, and then waits this long inside the server before it
/// executes, with the clock as it was on arrival. Such a wait is for a lock of the storage, for
/// example: the command has been read, and $$NOW and maxTimeMS count from its arrival.
struct Request {
  std::shared_ptr<const Object> command;
  std::string tag = {};  ///< goes into the oplog's entry, for the harness
  std::int64_t waits_ns = 0;
  // A router has read its clock for $$NOW, and sends along the newest time it knows.
  std::optional<Date> now = {};
  Timestamp heard = {};
};

/// What a member does with a client's command: when it reads it, whether it executes it, what it
/// answers and when. `Collection` executes, `Replication` waits for majorities; what lies between
/// is here, and gives clients their unknown outcomes.
///
/// INVARIANT: a reply is called once: at once, later, or never if the member is stopped for ever.
class ClientCommands : public Elections {
 public:
  using Elections::Elections;

  void command(int member, Request request, ServerReply reply) {
    Member& m = at(member);
    if (!m.alive) return reply(ServerAnswer::refused, {});
    if (m.running) return arrive(member, std::move(request), m.is_primary, std::move(reply));
    // The kernel of a stopped process still takes connections and bytes: nothing is refused, and
    // nothing is answered.
    // It arrives, for the server, when the server reads it.
    auto later = [this, member, request, was = m.is_primary, reply] {
      // Drawn when it goes on. It was primary when the client sent this; whether it reads its
      // peers' notice of another election before the command is a race.
      arrive(member, request, was && random_.chance(50), reply);
    };
    m.held_back.push_back({std::move(later), reply});
  }

  /// Equal tokens are taken: one holder writes several times. Refused writes wait for a majority
  /// too.
  /// As an update with the query {fence: {$lte: token}} would do it, of a read {wrote: ...}: a
  /// refused write matched nothing.
  void fenced_write(int member, std::shared_ptr<const FencedWrite> write, ServerReply reply) {
    Member& m = at(member);
    if (!m.alive) return reply(ServerAnswer::refused, {});
    if (!m.running) {
      m.held_back.push_back(
          {[this, member, write, reply] { fenced_write(member, write, reply); }, reply});
      return;
    }
    if (!m.is_primary) return answer(m, error_reply(kNotWritablePrimary, "not primary"), reply);
    const Serves serving = serves(member);
    if (serving == Serves::never) return answer(m, stale_config(), reply);
    if (serving == Serves::later) {
      return queue.after(kMoveEndsSoon,
                         [this, member, write, reply] { fenced_write(member, write, reply); });
    }
    // Compared and written in one event, as in one update of one document by a mongod.
    const Document there = m.data.fences().find(write->name);
    Fence fence;
    if (there) {
      fence = {there->find("fence"_key)->integer(), there->find("wrote"_key)->integer()};
    }
    const bool taken = fence.take(*write);
    if (taken) {
      auto after = make(
          {{"_id"_key, write->name}, {"fence"_key, fence.seen}, {"wrote"_key, fence.wrote}});
      Replication::write(
          member, {write->name, std::make_shared<const Object>(std::move(after))}, write);
      send_news(member);
    }
    // Below the 3 s after which the writer gives up, so that it gets "unknown" from the server.
    constexpr std::int64_t kWtimeout = 2'500 * kMs;
    wait_for_majority(member, make({{"n"_key, taken ? 1 : 0}, {"ok"_key, 1.0}}),
                      {wall_ns(member) + kWtimeout, kWriteConcernFailed}, std::move(reply));
  }

  /// Hits the next commands at any primary.
  InjectedErrors errors;
  /// How often a wait for a majority ended without one.
  std::int64_t wtimeouts = 0;

 private:
  /// How often a command that waits for the end of a move looks for it.
  static constexpr std::int64_t kMoveEndsSoon = 5 * kMs;

  static Object stale_config() {
    return error_reply(kStaleConfig, "the database is on another shard");
  }
  /// Reads are refused by another code than writes.
  static Object not_primary(const Object& command) {
    const std::string& name = command.fields.at(0).first;
    const bool reads = name == "find" || name == "aggregate";
    return reads ? error_reply(kNotPrimaryNoSecondaryOk, "not primary and secondaryOk=false")
                 : error_reply(kNotWritablePrimary, "not primary");
  }

  /// A time of a member's wall clock, and the error when it comes first. This is no time of the
  /// queue, because a wall clock may be moved while a client waits for it.
  struct Deadline {
    std::int64_t wall_ns = 0;
    int code = 0;
  };
  /// A command that the member has read. The last two are fixed then, and kept while it waits
  /// inside.
  struct Arrived {
    int member;
    Request request;
    ServerReply reply;
    Date now;           ///< $$NOW of the command, unless a router says it
    Deadline max_time;  ///< by its maxTimeMS
  };
  using Command = std::shared_ptr<const Arrived>;

  // `as_primary`: the member took itself for the primary when it read the command.
  void arrive(int member, Request request, bool as_primary, ServerReply reply) {
    Member& m = at(member);
    m.logical = std::max(m.logical, request.heard);
    const Date now = request.now.value_or(Date{clock_ms(member)});
    Deadline max_time{kNever, kMaxTimeExpired};
    const Value* limit = request.command->find("maxTimeMS"_key);
    // A getMore's maxTimeMS is how long it waits for events.
    if (limit != nullptr && !ChangeStreams::serves(*request.command)) {
      max_time.wall_ns = wall_ns(member) + limit->integer() * kMs;
    }
    const auto waits_ns = request.waits_ns;
    const auto arrived = std::make_shared<const Arrived>(
        Arrived{member, std::move(request), std::move(reply), now, max_time});
    waits_ns != 0 ? wait_inside(waits_ns, as_primary, arrived) : serve(as_primary, arrived);
  }

  void wait_inside(std::int64_t span_ns, bool as_primary, const Command& arrived) {
    const int member = arrived->member;
    // It waits for the time of the queue, as a wait for a storage lock does not look at the wall
    // clock; only its maxTimeMS does.
    const auto left = arrived->max_time.wall_ns - wall_ns(member);
    queue.after(std::min(span_ns, left), [this, as_primary, arrived, life = at(member).life] {
      // It died and its connections with it; that it runs again by now does not help.
      if (at(arrived->member).life != life) return arrived->reply(ServerAnswer::broken, {});
      when_running(arrived->member, life, [=, this] { serve(as_primary, arrived); });
    });
  }

  /// What a primary has taken in goes on inside even if it loses its office, which shows only now;
  /// a secondary refuses at once.
  void serve(bool as_primary, const Command& arrived) {
    const auto& [member, request, reply, now, max_time] = *arrived;
    Member& m = at(member);
    const Object& command = *request.command;
    if (as_primary && wall_ns(member) >= max_time.wall_ns) {
      return answer(m, error_reply(kMaxTimeExpired, "operation exceeded time limit"), reply);
    }
    const bool streams = ChangeStreams::serves(command);
    // A cursor stays with its member: getMore and killCursors need no primary. To open one does,
    // since the driver asks for the primary.
    const bool opens = streams && command.fields.at(0).first == "aggregate"_key;
    if (!m.is_primary && (as_primary || !streams || opens)) {
      Object error = not_primary(command);
      // A command that has a write concern reports both: ok: 0, and that the concern was
      // interrupted.
      if (as_primary && command.find("writeConcern"_key) != nullptr) {
        error = write_concern_error(std::move(error), kPrimarySteppedDown, "stepped down");
      }
      return answer(m, std::move(error), reply);
    }
    const Serves serving = serves(member);
    if (serving == Serves::never) return answer(m, stale_config(), reply);
    if (serving == Serves::later) return wait_inside(kMoveEndsSoon, true, arrived);
    // Refusals above are not counted as injected: the command would have failed anyway.
    // Once for each command that is executed, so the count is what the fault asked for.
    const bool fails = errors.strikes();
    if (fails) {
      auto instead = errors.instead_of(command, m.data.locks());
      if (instead) return answer(m, std::move(*instead), reply);
    }
    if (streams) return serve_stream(member, command, reply);
    const Start start{now, m.logical};
    const Collection& locks = m.data.locks();
    Executed executed = in_transaction(command) ? m.transactions.execute(command, locks, start)
                                                : execute(command, locks, start);
    // By the manual the options of an index change by collMod, not by making it again.
    if (executed.ttl && m.ttl_index && m.ttl_index->after_s != executed.ttl->after_s) {
      return answer(m, error_reply(kIndexOptionsConflict, "an index of other options"), reply);
    }
    if (executed.ttl) m.ttl_index = executed.ttl;
    for (Change& change : executed.changes) write(member, std::move(change), nullptr, request.tag);
    // At once rather than with the next beat: secondaries of a real set wait at the oplog's end.
    if (!executed.changes.empty()) send_news(member);
    if (fails && errors.repeats(command, executed)) {
      executed.reply.set("retriedStmtId"_key, std::int32_t{0});
      write(member, note_in_oplog());
      send_news(member);
    } else if (fails) {
      return answer(m, errors.after(executed.reply), reply);
    }
    const bool waits = executed.for_majority && executed.reply.find("ok"_key)->truth();
    if (!waits) return answer(m, std::move(executed.reply), reply);
    // By the manual on write concerns wtimeout counts from here, maxTimeMS from the arrival;
    // whichever is first ends the wait, with its own code.
    Deadline deadline = max_time;
    const auto wtimeout = wall_ns(member) + executed.wtimeout_ms * kMs;
    if (executed.wtimeout_ms > 0 && wtimeout < deadline.wall_ns) {
      deadline = {wtimeout, kWriteConcernFailed};
    }
    wait_for_majority(member, std::move(executed.reply), deadline, reply);
  }

  /// What a stream tells is of the time up to which a majority has everything.
  /// Not the newest write's time: one that is not a majority's may be rolled back, and a client
  /// that took its time for seen would miss what took its place.
  void serve_stream(int member, const Object& command, ServerReply reply) {
    const auto answer_stream = [this, member, reply](Object news) {
      const Member& m = at(member);
      const auto committed = m.data.committed();
      set_times(news, committed == 0 ? m.logical : m.data.log()[committed - 1].time);
      reply(ServerAnswer::reply, std::move(news));
    };
    Member& m = at(member);
    const auto past = [&m](Timestamp since, const auto& tell) {
      const auto& log = m.data.log();
      const auto first = std::ranges::lower_bound(log, since, {}, &Entry::time);
      tell_of_locks(m.data, static_cast<std::size_t>(first - log.begin()), tell);
    };
    m.streams.execute(
        command, queue, past,
        [this, member, life = m.life, reply, answer_stream](const Object& news) {
          // A cursor's timer may outlive the member that it was asked of.
          if (at(member).life != life) return reply(ServerAnswer::broken, {});
          when_running(member, life, [answer_stream, news] { answer_stream(news); });
        });
  }

  void wait_for_majority(int member, Object answer, const Deadline& deadline, ServerReply reply) {
    Member& m = at(member);
    const auto length = m.data.log().size();
    // The time is its own write's if it made one: no other event came in between. The answer keeps
    // it while it waits, though others write meanwhile.
    set_times(answer, m.operation_time());
    // By the manual `writeConcernMajorityJournalDefault` is on: what a majority has is journaled.
    m.data.journal();
    // A command that changed nothing waits as well, for whatever it may have read. If all is a
    // majority's already there is nothing to wait for, and it is answered at once; also by a
    // primary that is cut off and does not know it yet.
    if (m.data.committed() >= length) return reply(ServerAnswer::reply, std::move(answer));
    const auto id = ++last_waiter_;
    m.waiters.push_back({length, id, std::move(answer), std::move(reply)});
    at_wall(member, deadline.wall_ns,
            [this, member, id, code = deadline.code] { end_waiting(member, id, code); });
  }

  /// By the manual on write concerns an error of `wtimeout` undoes nothing.
  void end_waiting(int member, std::uint64_t waiter, int code) {
    auto& waiters = at(member).waiters;
    const auto found = std::ranges::find(waiters, waiter, &Waiter::id);
    // Answered in time, or the member lost its office: this event cannot be withdrawn.
    if (found == waiters.end()) return;
    Waiter late = std::move(*found);
    waiters.erase(found);
    // The write stays. A majority may have it later, but no reply will say so.
    ++wtimeouts;
    late.reply(ServerAnswer::reply, write_concern_error(std::move(late.answer), code,
                                                        "waiting for replication timed out"));
  }

  /// Every reply carries the time of the newest write, of any client.
  void answer(const Member& m, Object reply, const ServerReply& to) {
    set_times(reply, m.operation_time());
    to(ServerAnswer::reply, std::move(reply));
  }
  /// By the manual `$clusterTime` is the newest time that the member knows of, from whichever of
  /// its clients: the time of no write here.
  void set_times(Object& reply, Timestamp operation) {
    Timestamp known = operation;
    known.increment += static_cast<std::uint32_t>(others_.between(0, 9));
    reply.set("operationTime"_key, operation);
    reply.set("$clusterTime"_key, make({{"clusterTime"_key, known}}));
  }

  Random others_{1};  ///< its own, so that the others' numbers stay as they are
  std::uint64_t last_waiter_ = 0;
};

}  // namespace leasehold::sim::simulated

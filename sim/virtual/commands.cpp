#include <algorithm>
#include <utility>

#include "sim/virtual/replica_set.hpp"
#include "sim/virtual/server_errors.hpp"

// Commands of clients: their arrival, their execution, and how they wait for a majority.
namespace leasehold::sim::simulated {
namespace {

/// Reads are refused by another code than writes.
Object not_primary(const Object& command) {
  const std::string& name = command.fields.at(0).first;
  const bool reads = name == "find" || name == "aggregate";
  return reads ? error_reply(kNotPrimaryNoSecondaryOk, "not primary and secondaryOk=false")
               : error_reply(kNotWritablePrimary, "not primary");
}

bool is_acquire(const Object& command) {
  const Value* upsert = command.find("upsert");
  return command.fields.at(0).first == "findAndModify" && upsert != nullptr && upsert->truth();
}

/// Whether this is an acquire of a lock that somebody has: as if another's upsert had raced it.
bool finds_a_lock(const Collection& locks, const Object& command) {
  if (!is_acquire(command)) return false;
  const Value* id = command.find("query")->as<Object>()->find("_id");
  return locks.find(*id->as<std::string>()) != nullptr;
}

}  // namespace

/// A getMore's maxTimeMS is how long it waits for news.
ReplicaSet::Deadline ReplicaSet::max_time_of(int member, const Object& command) const {
  const Value* limit = command.find("maxTimeMS");
  if (limit == nullptr || ChangeStreams::serves(command))
    return {Deadline::kNever, kMaxTimeExpired};
  return {wall_ns(member) + limit->integer() * kMs, kMaxTimeExpired};
}

void ReplicaSet::command(int member, Request request, Reply reply) {
  Member& m = members_[at(member)];
  if (!m.alive) return reply(Answer::refused, {});
  if (m.running) return arrive(member, std::move(request), m.is_primary, std::move(reply));
  // The kernel of a stopped process still takes connections and bytes: nothing is refused, and
  // nothing is answered.
  // It arrives, for the server, when the server reads it.
  auto later = [this, member, request, was = m.is_primary, reply] {
    // Drawn when it goes on. It was primary when the client sent this; whether it reads its peers'
    // news of another election before the command is a race.
    arrive(member, request, was && random_.chance(50), reply);
  };
  m.held_back.push_back({std::move(later), reply});
}

/// `as_primary`: the member takes itself for the primary when it reads the command.
void ReplicaSet::arrive(int member, Request request, bool as_primary, Reply reply) {
  const Arrival arrival{Date{clock_ms(member)}, max_time_of(member, *request.command)};
  // What a primary has taken in goes on inside even if it loses its office; a secondary refuses
  // at once.
  const auto serve = as_primary ? &ReplicaSet::go_on_inside : &ReplicaSet::execute_command;
  if (request.waits_ns == 0) {
    return (this->*serve)(member, request, arrival, std::move(reply));
  }
  // It waits for the time of the queue, as a wait for a storage lock does not look at the wall
  // clock; only its maxTimeMS does.
  const auto left = arrival.max_time.wall_ns - wall_ns(member);
  queue_.after(std::min(request.waits_ns, left),
               [this, member, life = members_[at(member)].life, serve, request, arrival, reply] {
                 // It died and its connections with it; that it runs again by now does not help.
                 if (members_[at(member)].life != life) return reply(Answer::broken, {});
                 when_running(member, life, [this, member, serve, request, arrival, reply] {
                   (this->*serve)(member, request, arrival, reply);
                 });
               });
}

/// What a primary took in. One that has left its office in the meantime finds out only now.
void ReplicaSet::go_on_inside(int member, const Request& request, const Arrival& arrival,
                              Reply reply) {
  Member& m = members_[at(member)];
  if (wall_ns(member) >= arrival.max_time.wall_ns) {
    return answer(m, error_reply(kMaxTimeExpired, "operation exceeded time limit"), reply);
  }
  if (m.is_primary) return execute_command(member, request, arrival, std::move(reply));
  // A command that has a write concern reports both: ok: 0, and that the concern was interrupted.
  Object error = not_primary(*request.command);
  if (request.command->find("writeConcern") != nullptr) {
    error = write_concern_error(std::move(error), kPrimarySteppedDown, "stepped down");
  }
  answer(m, std::move(error), reply);
}

void ReplicaSet::execute_command(int member, const Request& request, const Arrival& arrival,
                                 Reply reply) {
  Member& m = members_[at(member)];
  const Object& command = *request.command;
  const bool streams = ChangeStreams::serves(command);
  // A cursor stays with its member: getMore and killCursors need no primary. To open one does,
  // since the driver asks for the primary.
  const bool opens = streams && command.fields.at(0).first == "aggregate";
  if (!m.is_primary && (!streams || opens)) return answer(m, not_primary(command), reply);
  // Refusals above are not counted as injected: the command would have failed anyway.
  const bool fails = failing_ > 0;
  if (fails) {
    --failing_;
    ++injected_errors_;
    if (injected_errors_ % 3 == 0 && finds_a_lock(m.locks, command)) {
      return answer(m, duplicate_id(), reply);
    }
    if (!failing_after_ || streams) return answer(m, error_reply(failing_code_, "injected"), reply);
  }
  if (streams) return serve_stream(member, command, std::move(reply));
  const Start start{arrival.now, m.logical};
  Executed executed = in_transaction(command) ? m.transactions.execute(command, m.locks, start)
                                              : execute(command, m.locks, start);
  // The manual: the options of an index change by collMod, not by making it again.
  if (executed.ttl && m.ttl_index && m.ttl_index->after_s != executed.ttl->after_s) {
    return answer(m, error_reply(kIndexOptionsConflict, "an index of other options"), reply);
  }
  if (executed.ttl) m.ttl_index = executed.ttl;
  for (Change& change : executed.changes) {
    write(member, std::move(change), nullptr, request.tag);
  }
  // At once rather than with the next beat: secondaries of a real set wait at the oplog's end.
  if (!executed.changes.empty()) replicate(member);
  // As if the driver had sent it twice: the second reply tells of the first execution, in a time
  // that is not its write's.
  const bool repeated = fails && injected_errors_ % 4 == 3 && is_acquire(command) &&
                        !executed.changes.empty() && executed.for_majority;
  if (repeated) {
    executed.reply.set("retriedStmtId", std::int32_t{0});
    write(member, note_in_oplog(), nullptr);
    replicate(member);
  } else if (fails) {  // executed, and nobody will say so: by an error, or by a write concern's
    // In turn and not by a draw: the fault has both effects in each run, and adds no randomness.
    if (injected_errors_ % 2 == 0) {
      return answer(m, error_reply(failing_code_, "injected after the execution"), reply);
    }
    return answer(m, write_concern_error(executed.reply, failing_code_, "injected"), reply);
  }
  const bool waits = executed.for_majority && executed.reply.find("ok")->truth();
  if (!waits) return answer(m, std::move(executed.reply), reply);
  // wtimeout counts from here, maxTimeMS from the arrival; whichever is first ends the wait, with
  // its own code.
  Deadline deadline = arrival.max_time;
  const auto wtimeout = wall_ns(member) + executed.wtimeout_ms * kMs;
  if (executed.wtimeout_ms > 0 && wtimeout < deadline.wall_ns) {
    deadline = {wtimeout, kWriteConcernFailed};
  }
  wait_for_majority(member, std::move(executed.reply), deadline, std::move(reply));
}

/// What a stream tells is of the time up to which a majority has everything.
/// Not the newest write's time: one that is not a majority's may be rolled back, and a client that
/// took its time for seen would miss what took its place.
void ReplicaSet::serve_stream(int member, const Object& command, Reply reply) {
  const auto answer_stream = [this, member, reply](Object news) {
    const Member& m = members_[at(member)];
    news.set("operationTime", m.committed == 0 ? m.logical : m.log[m.committed - 1].time);
    reply(Answer::reply, std::move(news));
  };
  Member& m = members_[at(member)];
  m.streams.execute(command, queue_,
                    [this, member, life = m.life, reply, answer_stream](const Object& news) {
                      // A cursor's timer may outlive the member that it was asked of.
                      if (members_[at(member)].life != life) return reply(Answer::broken, {});
                      when_running(member, life, [answer_stream, news] { answer_stream(news); });
                    });
}

void ReplicaSet::fenced_write(int member, const FencedWrite& write_, Reply reply) {
  Member& m = members_[at(member)];
  if (!m.alive) return reply(Answer::refused, {});
  if (!m.running) {
    m.held_back.push_back(
        {[this, member, write_, reply] { fenced_write(member, write_, reply); }, reply});
    return;
  }
  if (!m.is_primary) return answer(m, error_reply(kNotWritablePrimary, "not primary"), reply);
  // Compared and written in one event, as in one update of one document by a mongod.
  const Document fence = m.fences.find(write_.name);
  const bool taken = !fence || fence->find("fence")->integer() <= write_.token;
  if (taken) {
    Object after;
    after.set("_id", write_.name);
    after.set("fence", write_.token);
    write(member, {write_.name, std::make_shared<const Object>(after)},
          std::make_shared<const FencedWrite>(write_));
    replicate(member);
  }
  Object out;
  out.set("n", std::int32_t{taken ? 1 : 0});
  out.set("ok", 1.0);
  // Below the 3 s after which the writer gives up, so that it hears "unknown" from the server.
  constexpr std::int64_t kWtimeout = 2'500 * kMs;
  wait_for_majority(member, std::move(out), {wall_ns(member) + kWtimeout, kWriteConcernFailed},
                    std::move(reply));
}

/// Every reply carries the time of the newest write, whoever made it.
void ReplicaSet::answer(Member& m, Object reply, const Reply& to) const {
  reply.set("operationTime", m.log.empty() ? m.logical : m.log.back().time);
  to(Answer::reply, std::move(reply));
}

void ReplicaSet::wait_for_majority(int member, Object answer_, const Deadline& deadline,
                                   Reply reply) {
  Member& m = members_[at(member)];
  // Of its own write if it made one: no other event came in between. The answer keeps this time
  // while it waits, though others write meanwhile.
  answer_.set("operationTime", m.log.empty() ? m.logical : m.log.back().time);
  m.journaled = m.log.size();  // a majority has what a majority's journals have
  // A command that changed nothing waits as well, for whatever it may have read. If all is a
  // majority's already there is nothing to wait for, and it is answered at once; also by a primary
  // that is cut off and does not know it yet.
  if (m.committed >= m.log.size()) return reply(Answer::reply, std::move(answer_));
  const auto id = ++last_waiter_;
  m.waiters.push_back({m.log.size(), id, std::move(answer_), std::move(reply)});
  at_wall(member, deadline.wall_ns,
          [this, member, id, code = deadline.code] { end_waiting(member, id, code); });
}

void ReplicaSet::end_waiting(int member, std::uint64_t waiter, int code) {
  auto& waiters = members_[at(member)].waiters;
  const auto found = std::find_if(waiters.begin(), waiters.end(),
                                  [waiter](const Waiter& w) { return w.id == waiter; });
  // Answered in time, or the member lost its office: this event cannot be withdrawn.
  if (found == waiters.end()) return;
  Waiter late = std::move(*found);
  waiters.erase(found);
  // The write stays. It may be a majority's later, and nobody will say so.
  ++wtimeouts_;
  late.reply(Answer::reply,
             write_concern_error(std::move(late.answer), code, "waiting for replication timed out"));
}

void ReplicaSet::fail_next(int count, int code, bool after_execution) {
  failing_ = count;
  failing_code_ = code;
  failing_after_ = after_execution;
}

}  // namespace leasehold::sim::simulated

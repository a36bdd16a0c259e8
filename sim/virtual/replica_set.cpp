#include "sim/virtual/replica_set.hpp"

#include <algorithm>
#include <leasehold/fencing_token.hpp>
#include <limits>
#include <utility>

namespace leasehold::sim::simulated {
namespace {

// mongod's codes; the adapter's table of outcomes is by them.
constexpr int kNotWritablePrimary = 10107, kNotPrimaryNoSecondaryOk = 13435,
              kPrimarySteppedDown = 189, kWriteConcernFailed = 64, kMaxTimeExpired = 50,
              kInterruptedByStateChange = 11602, kQueryPlanKilled = 175, kIndexOptionsConflict = 85;
constexpr int kStandsAfterAStop = 20;  ///< percent: 2 of 8 were seen to
constexpr std::int64_t kJournalPeriod = 100 * kMs;
constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

/// Beside ok: 1 and the whole result: the write is applied on the primary and may yet reach a
/// majority. To a lock that is an unknown outcome, not a refusal.
Object write_concern_error(Object reply, int code, const std::string& message) {
  Object error;
  error.set("code", std::int32_t{code});
  error.set("errmsg", message);
  reply.set("writeConcernError", error);
  return reply;
}

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

/// Whether `a` has at least what `b` has: the later term wins, then the longer log.
/// Raft's rule and that of mongod's votes: the newest entry decides. Clocks do not matter, though
/// entries have times.
bool up_to_date(const std::vector<Entry>& a, const std::vector<Entry>& b) {
  const std::int64_t term_a = a.empty() ? 0 : a.back().term;
  const std::int64_t term_b = b.empty() ? 0 : b.back().term;
  return term_a != term_b ? term_a > term_b : a.size() >= b.size();
}

}  // namespace

std::int64_t Entry::order() const {
  return FencingToken::from_timestamp(time.seconds, time.increment).value();
}

ReplicaSet::ReplicaSet(EventQueue& queue, Random& random, const Settings& settings,
                       std::function<void(const Entry&)> on_committed)
    : queue_(queue), random_(random), settings_(settings), on_committed_(std::move(on_committed)) {
  for (auto& row : links_) row.fill(true);
  members_[0].is_primary = true;
  // Each monitor has a phase of its own: one that is elected does not go on with the sleep of the
  // primary before. A draw for each member, in their order.
  for (int m = 0; m < kMembers; ++m) {
    ttl_sleep(m, random_.between(1, settings_.ttl_period_ns / kGrain) * kGrain);
  }
  queue_.after(settings_.heartbeat_ns, [this] { beat(); });
}

std::int64_t ReplicaSet::wall_ns(int member) const {
  const Member& m = members_[at(member)];
  // In whole ms, so that the clock stays on the grain; multiplied before it is divided.
  const auto drifted = (queue_.now() - m.clock_set_ns) / kMs * m.clock_rate_ppm / 1'000'000;
  return queue_.now() + (m.clock_offset_ms + drifted) * kMs;
}

std::int64_t ReplicaSet::clock_ms(int member) const {
  return (settings_.epoch_ms * kMs + wall_ns(member)) / kMs;
}

void ReplicaSet::when_running(int member, std::uint64_t life, std::function<void()> run) {
  Member& m = members_[at(member)];
  if (m.life != life) return;
  if (m.running) return run();
  // When it goes on, these run in the order in which they came due.
  m.held_back.push_back({std::move(run)});
}

void ReplicaSet::at_wall(int member, std::int64_t wall, std::function<void()> run) {
  if (wall == kNever) return;
  const auto left = wall - wall_ns(member);
  if (left <= 0) return run();
  // Nothing is withdrawn or moved when the clock is set: the event comes when the time that was
  // left then is over, and looks again. So a step ahead makes a wait no shorter, a step back longer
  // (measured: wtimeout, maxTimeMS and the TTL monitor's sleep alike).
  const auto life = members_[at(member)].life;
  queue_.after(left, [this, member, life, wall, run = std::move(run)] {
    when_running(member, life, [this, member, wall, run] { at_wall(member, wall, run); });
  });
}

/// The next time of the oplog: the member's clock, or just after all that it has heard of.
/// A clock that goes back leaves only the counter to rise; measured on a mongod, an hour long. So
/// operationTime orders writes across every jump and failover, where $$NOW does not.
Timestamp ReplicaSet::tick(Member& m, int index) {
  const auto wall = static_cast<std::uint32_t>(clock_ms(index) / 1'000);
  if (wall > m.logical.seconds) {
    m.logical = {wall, 1};
  } else {
    ++m.logical.increment;
  }
  return m.logical;
}

void ReplicaSet::apply(Member& m, const Entry& entry) {
  (entry.fenced ? m.fences : m.locks).apply(entry.change);
}

/// A rollback is rare and logs are short: to begin again is simpler than to undo, and it cannot
/// leave a trace of what was undone.
void ReplicaSet::rebuild(Member& m) {
  m.locks = m.fences = {};
  for (const Entry& entry : m.log) apply(m, entry);
}

/// The journal is written once in a period, besides for whoever asks for it.
void ReplicaSet::journal_by_time(Member& m) const {
  // Without an event for each period: nobody can tell the difference but a SIGKILL, before which
  // this is called too. What was in the log before this write is older than the period's beginning.
  const auto period = queue_.now() / kJournalPeriod;
  if (period == m.journal_period) return;
  m.journal_period = period;
  m.journaled = m.log.size();
}

void ReplicaSet::write(int member, Change change, std::shared_ptr<const FencedWrite> fenced,
                       const std::string& tag) {
  Member& m = members_[at(member)];
  journal_by_time(m);
  m.log.push_back({tick(m, member), m.term, std::move(change), std::move(fenced), tag});
  apply(m, m.log.back());
  m.match[at(member)] = m.log.size();
}

/// A getMore's maxTimeMS is how long it waits for news.
ReplicaSet::Deadline ReplicaSet::max_time_of(int member, const Object& command) const {
  const Value* limit = command.find("maxTimeMS");
  if (limit == nullptr || ChangeStreams::serves(command)) return {kNever, kMaxTimeExpired};
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
  if (request.waits_ns == 0) return (this->*serve)(member, request, arrival, reply);
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
                              const Reply& reply) {
  Member& m = members_[at(member)];
  if (wall_ns(member) >= arrival.max_time.wall_ns) {
    return answer(m, error_reply(kMaxTimeExpired, "operation exceeded time limit"), reply);
  }
  if (m.is_primary) return execute_command(member, request, arrival, reply);
  // A command that has a write concern reports both: ok: 0, and that the concern was interrupted.
  Object error = not_primary(*request.command);
  if (request.command->find("writeConcern") != nullptr) {
    error = write_concern_error(std::move(error), kPrimarySteppedDown, "stepped down");
  }
  answer(m, std::move(error), reply);
}

void ReplicaSet::execute_command(int member, const Request& request, const Arrival& arrival,
                                 const Reply& reply) {
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
  if (streams) return serve_stream(member, command, reply);
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
  wait_for_majority(member, std::move(executed.reply), deadline, reply);
}

/// What a stream tells is of the time up to which a majority has everything.
/// Not the newest write's time: one that is not a majority's may be rolled back, and a client that
/// took its time for seen would miss what took its place.
void ReplicaSet::serve_stream(int member, const Object& command, Reply reply) {
  const auto answer_stream = [this, member, reply](Object news) {
    const Member& m = members_[at(member)];
    news.set("operationTime", m.committed == 0 ? m.logical : m.log[m.committed - 1].time);
    reply(Answer::reply, news);
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
  to(Answer::reply, reply);
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
  if (m.committed >= m.log.size()) return reply(Answer::reply, answer_);
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
  const Waiter late = std::move(*found);
  waiters.erase(found);
  // The write stays. It may be a majority's later, and nobody will say so.
  ++wtimeouts_;
  late.reply(Answer::reply,
             write_concern_error(late.answer, code, "waiting for replication timed out"));
}

/// Sends what is new to each secondary; while a message is on its way the next one waits for it.
void ReplicaSet::replicate(int from) {
  Member& p = members_[at(from)];
  for (int to = 0; to < kMembers; ++to) {
    const bool fetches = members_[at(to)].fetches && reaches(from, to);
    if (to == from || p.sending[at(to)] || !fetches) continue;
    p.sending[at(to)] = true;
    // What is written while this is on its way goes with the next, which the answer to this sends
    // off. If the link swallows it, the next beat tries again.
    const auto upto = p.log.size();
    const auto delay = settings_.replication_ns + members_[at(to)].delay_ns;
    queue_.after(delay, [this, from, to, upto] { receive(from, to, upto); });
  }
}

void ReplicaSet::receive(int from, int to, std::size_t upto) {
  Member& p = members_[at(from)];
  Member& s = members_[at(to)];
  // The primary may have changed, stopped or been cut off meanwhile; then the message was lost. An
  // old primary's is refused by its term.
  p.sending[at(to)] = false;
  if (!works(from) || !works(to) || !reaches(from, to) || !p.is_primary || p.term < s.term) return;
  if (!s.fetches) return;
  // Two of one term cannot be: each has a majority's votes. So the sender's is the later term.
  if (s.is_primary) become_secondary(to);
  s.term = p.term;
  s.heard_primary = wall_ns(to);
  upto = std::min(upto, p.log.size());
  // From the end, since logs mostly part there if at all. Equal entries have equal beginnings.
  std::size_t common = std::min(upto, s.log.size());
  while (common > 0 && !s.log[common - 1].same(p.log[common - 1])) --common;
  // A log that is merely shorter than the primary's has not parted from it. One that is longer has,
  // when it agrees up to the end of the primary's.
  const bool diverged = s.log.size() > common && (common < upto || s.log.size() > p.log.size());
  if (diverged) {
    rolled_back_ += static_cast<std::int64_t>(s.log.size() - common);
    s.log.resize(common);
    rebuild(s);
    s.streams.end(error_reply(kInterruptedByStateChange, "rolled back"));
  }
  for (std::size_t i = s.log.size(); i < upto; ++i) {
    s.log.push_back(p.log[i]);
    apply(s, s.log.back());
  }
  s.journaled = s.log.size();  // before it says that it has them
  // It has all that the primary had when this was sent, in one message: how long a copy takes is
  // left out.
  s.copies = false;
  s.logical = std::max(s.logical, p.logical);
  // The index is no entry of the oplog here. Nobody reads it but who is primary, so late is enough.
  if (p.ttl_index) s.ttl_index = p.ttl_index;
  // What a majority has travels with the entries, so a secondary learns it one message late. That
  // is when its change streams report it.
  const auto before =
      std::exchange(s.committed, std::max(s.committed, std::min(p.committed, s.log.size())));
  tell_streams(s, before);
  const auto has = s.log.size();
  const auto term = p.term;
  queue_.after(settings_.replication_ns,
               [this, from, to, has, term] { acknowledge(from, to, has, term); });
}

void ReplicaSet::acknowledge(int from, int to, std::size_t has, std::int64_t term) {
  Member& p = members_[at(from)];
  if (!works(from) || !p.is_primary || p.term != term || !reaches(to, from)) return;
  // Never back, for answers of two messages may be of a different order than the messages; the log
  // may have become shorter only if the office was another, which the term rules out.
  p.match[at(to)] = std::max(p.match[at(to)], std::min(has, p.log.size()));
  p.heard_majority = wall_ns(from);
  advance(from);
  if (p.match[at(to)] < p.log.size()) replicate(from);
}

/// A majority has what two of three have, once the primary's own term is among it.
/// An entry of an earlier term that two of three have can still be rolled back, by one that was
/// elected in between without it (Raft, section 5.4.2). An entry of the own term ends that.
void ReplicaSet::advance(int primary) {
  Member& p = members_[at(primary)];
  auto match = p.match;
  match[at(primary)] = p.log.size();
  std::sort(match.begin(), match.end());
  const std::size_t majority = match[kMembers / 2];
  if (majority <= p.committed || p.log[majority - 1].term != p.term) return;
  const auto before = std::exchange(p.committed, majority);
  tell_streams(p, before);
  // By time, for after a loss of data the log may be another, and shorter.
  for (auto i = before; i < majority; ++i) {
    if (p.log[i].time <= announced_) continue;
    announced_ = p.log[i].time;
    on_committed_(p.log[i]);
  }
  // Taken out before anybody is answered: whoever hears may send the next command at once. In the
  // order in which they began to wait.
  std::vector<Waiter> done;
  const auto rest = std::stable_partition(p.waiters.begin(), p.waiters.end(),
                                          [&](const Waiter& w) { return w.index > majority; });
  std::move(rest, p.waiters.end(), std::back_inserter(done));
  p.waiters.erase(rest, p.waiters.end());
  for (const Waiter& w : done) w.reply(Answer::reply, w.answer);
}

/// A change stream hears of a write when a majority has it.
void ReplicaSet::tell_streams(Member& m, std::size_t from) {
  for (std::size_t i = from; i < m.committed; ++i) {
    const Entry& entry = m.log[i];
    const bool deletes = entry.change.after == nullptr;
    const bool of_a_lock = !entry.fenced && !entry.change.id.empty();
    if (of_a_lock && deletes) m.streams.tell(entry.change.id, entry.time);
  }
  // After all of them: one commit, one batch.
  m.streams.answer();
}

void ReplicaSet::beat() {
  // First all hear, then all decide: who decides does so on the same news as the others.
  for (int a = 0; a < kMembers; ++a) {
    for (int b = 0; b < kMembers; ++b) {
      if (a != b) heartbeat(a, b);
    }
  }
  for (int i = 0; i < kMembers; ++i) {
    Member& m = members_[at(i)];
    if (!works(i)) continue;
    const auto now = wall_ns(i);
    if (m.is_primary) {
      // As mongod: a primary that hears from no majority for an election timeout steps down. Until
      // then there may be two.
      if (now - m.heard_majority > settings_.election_timeout_ns) become_secondary(i);
      if (m.is_primary) replicate(i);
    } else if (now - m.heard_primary >
               // A random extra, so that the two others do not always stand together; mongod has it
               // too, a share of the timeout.
               settings_.election_timeout_ns + random_.between(0, 100) * kMs) {
      stand(i);
    }
  }
  queue_.after(settings_.heartbeat_ns, [this] { beat(); });
}

/// `from` hears that `to` is there, and what it is.
void ReplicaSet::heartbeat(int from, int to) {
  if (!works(from) || !works(to) || !reaches(from, to)) return;
  Member& m = members_[at(from)];
  const Member& other = members_[at(to)];
  // Cluster time travels with every message, so no member's next write is earlier than what it
  // could have heard of, whatever its clock shows.
  m.logical = std::max(m.logical, other.logical);
  if (other.term > m.term) {
    m.term = other.term;
    if (m.is_primary) become_secondary(from);
  }
  if (other.is_primary && other.term == m.term) m.heard_primary = wall_ns(from);
  // Any other that is heard makes two of three.
  if (m.is_primary) m.heard_majority = wall_ns(from);
}

/// Stands for election: those who can be asked and have no more than it has vote for it.
bool ReplicaSet::stand(int member) {
  Member& m = members_[at(member)];
  // It could win only the votes of other empty members, and as primary would have all data rolled
  // back.
  if (m.copies) return false;
  int votes = 1;
  for (int v = 0; v < kMembers; ++v) {
    if (v == member || !works(v) || !reaches(member, v)) continue;
    // By the manual those that copy vote too. All votes are cast in this one event, so nobody votes
    // for two in one term.
    if (up_to_date(m.log, members_[at(v)].log) && members_[at(v)].term <= m.term) ++votes;
  }
  // Its election timer begins again, elected or not.
  m.heard_primary = wall_ns(member);
  if (votes <= kMembers / 2) return false;
  ++m.term;
  ++elections_;
  for (int v = 0; v < kMembers; ++v) {
    if (v == member || !works(v) || !reaches(member, v)) continue;
    members_[at(v)].term = m.term;
    members_[at(v)].heard_primary = wall_ns(v);
    m.logical = std::max(m.logical, members_[at(v)].logical);
    if (members_[at(v)].is_primary) become_secondary(v);
  }
  m.is_primary = true;
  m.heard_majority = wall_ns(member);
  // A message of an earlier office may still arrive; it frees a place in `sending` too early, which
  // costs one message more and nothing else.
  m.match.fill(0);
  m.sending.fill(false);
  // The first entry of its term, by which what came before is a majority's too.
  write(member, note_in_oplog(), nullptr);
  replicate(member);
  return true;
}

/// The log stays as it is. If another goes on without its end, `receive` rolls that back.
void ReplicaSet::become_secondary(int member) {
  Member& m = members_[at(member)];
  m.is_primary = false;
  // They are in no log, so no successor has them.
  m.transactions = {};
  m.heard_primary = wall_ns(member);
  // ok: 1, and 11602: interrupted by the change of state. The successor may have the write, or not.
  auto waiters = std::move(m.waiters);
  m.waiters.clear();
  for (const Waiter& w : waiters) {
    w.reply(Answer::reply,
            write_concern_error(w.answer, kInterruptedByStateChange, "stepped down"));
  }
}

/// All at once, as if the way took no time: what a real candidate fetches before it stands.
void ReplicaSet::catch_up(int member, const Member& from) {
  Member& m = members_[at(member)];
  if (up_to_date(m.log, from.log)) return;
  m.log = from.log;
  m.journaled = m.log.size();
  rebuild(m);
}

void ReplicaSet::step_up(int member) {
  const int old = primary();
  if (old == member || !works(member) || members_[at(member)].copies) return;
  // It first fetches what the old primary still has, if that answers in time.
  if (old >= 0 && reaches(member, old) && random_.chance(50)) catch_up(member, members_[at(old)]);
  // Without that it is behind and nobody votes for it. A real harness asks again until it works;
  // here the second time does.
  if (!stand(member) && old >= 0 && reaches(member, old)) {
    catch_up(member, members_[at(old)]);
    stand(member);
  }
}

void ReplicaSet::step_down_primary() {
  const int old = primary();
  if (old >= 0) become_secondary(old);
}

void ReplicaSet::stop(int member) { members_[at(member)].running = false; }

void ReplicaSet::go_on(int member) {
  Member& m = members_[at(member)];
  if (m.running || !m.alive) return;
  m.running = true;
  // Before the times of hearing are set anew below, which is what it reads.
  if (random_.chance(kStandsAfterAStop)) stand_if_overdue(member);
  m.heard_primary = wall_ns(member);
  // It does not step down for the time in which it was stopped: it was not awake to miss anybody.
  m.heard_majority = wall_ns(member);
  // Whether it reads first what its peers say, or what clients sent.
  if (m.is_primary && random_.chance(50)) {
    for (int other = 0; other < kMembers; ++other) {
      if (other != member) heartbeat(member, other);
    }
  }
  const auto held_back = std::exchange(m.held_back, {});
  // Taken out first: what runs may be held back again, if it stops the member.
  for (const HeldBack& held : held_back) held.run();
}

/// An election timer that is due when a member looks at the clock again is acted upon at once,
/// before the primary is heard again: always after a jump of the clock, seldom after a stop.
void ReplicaSet::stand_if_overdue(int member) {
  const Member& m = members_[at(member)];
  if (m.is_primary || wall_ns(member) - m.heard_primary <= settings_.election_timeout_ns) return;
  // How soon the timer's thread looks: measured as "at once", so somewhere in 20 ms.
  constexpr std::int64_t kNoticed = 20 * kMs;
  queue_.after(random_.between(1, kNoticed / kGrain) * kGrain, [this, member, life = m.life] {
    when_running(member, life, [this, member] {
      // It may have been elected meanwhile, by another's doing.
      if (!members_[at(member)].is_primary) stand(member);
    });
  });
}

void ReplicaSet::kill(int member) {
  Member& m = members_[at(member)];
  m.alive = m.is_primary = false;
  // From here on no timer, sleep or wait of the process does anything.
  ++m.life;
  journal_by_time(m);
  // What a majority has, a majority's journals have. Measured: of all members killed at once, w: 1
  // writes since the last flush are gone (8 of 8), acknowledged majority writes never.
  if (const auto left = std::max(m.journaled, m.committed); m.log.size() > left) {
    m.log.resize(left);
    rebuild(m);
  }
  // Out of the member first: who hears of a broken connection may send elsewhere at once.
  const auto waiters = std::exchange(m.waiters, {});
  const auto held_back = std::exchange(m.held_back, {});
  for (const Waiter& w : waiters) w.reply(Answer::broken, {});
  for (const HeldBack& held : held_back) {
    // What the member itself was to do has nobody to be answered.
    if (held.client) held.client(Answer::broken, {});
  }
  m.streams.end(error_reply(kInterruptedByStateChange, "killed"));
}

void ReplicaSet::restart(int member) {
  Member& m = members_[at(member)];
  if (m.alive) return;
  m.alive = m.running = true;
  // It gives a primary a whole election timeout to be heard.
  m.heard_primary = wall_ns(member);
  ttl_sleep(member, settings_.ttl_period_ns);
}

void ReplicaSet::wipe(int member) {
  Member& m = members_[at(member)];
  m.log.clear();
  m.journaled = m.committed = 0;
  // Votes were in the data too; that it may vote twice in a term cannot happen here, for an
  // election is one event.
  m.term = 0;
  m.logical = {};
  m.ttl_index.reset();
  m.copies = true;
  rebuild(m);
  // Or a primary would go on counting, for a majority, what this one had.
  for (Member& other : members_) other.match[at(member)] = 0;
}

bool ReplicaSet::copies() const {
  return std::any_of(members_.begin(), members_.end(), [](const Member& m) { return m.copies; });
}

std::optional<TtlIndex> ReplicaSet::ttl_index() const {
  const int p = primary();
  return p < 0 ? std::nullopt : members_[at(p)].ttl_index;
}

void ReplicaSet::set_ttl_index(const std::optional<TtlIndex>& index) {
  // At once on all: a real one replicates, in much less time than anything here depends on.
  for (Member& m : members_) m.ttl_index = index;
}

/// The change streams of a collection end with it.
bool ReplicaSet::drop_locks() {
  const int p = primary();
  if (p < 0) return false;
  Member& m = members_[at(p)];
  const auto locks = m.locks.documents();
  // As deletions one by one, which is what the harness reads as the truth. The primary's streams
  // end before a majority has them, by the error that mongod answers.
  for (const auto& [id, document] : locks) write(p, {id, nullptr}, nullptr);
  set_ttl_index(std::nullopt);
  m.streams.end(error_reply(kQueryPlanKilled, "the collection was dropped"));
  replicate(p);
  return true;
}

std::string ReplicaSet::delete_lock(std::int64_t pick) {
  const int p = primary();
  const auto& locks = members_[at(std::max(p, 0))].locks.documents();
  if (p < 0 || locks.empty()) return "";
  // By place in the order of names, so the plan's number means the same in each run.
  const auto found = std::next(locks.begin(), pick % static_cast<std::int64_t>(locks.size()));
  const auto name = found->first;
  write(p, {name, nullptr}, nullptr);
  replicate(p);
  return name;
}

void ReplicaSet::set_link(int a, int b, bool up) {
  links_[at(a)][at(b)] = links_[at(b)][at(a)] = up;
  if (!up) return;
  // What waited for the link goes on at once, and not with the next beat.
  for (const int m : {a, b}) {
    if (works(m) && members_[at(m)].is_primary) replicate(m);
  }
}

void ReplicaSet::set_replication_delay(int member, std::int64_t delay_ns) {
  members_[at(member)].delay_ns = delay_ns;
}
void ReplicaSet::set_clock(int member, std::int64_t offset_ms, std::int64_t rate_ppm) {
  Member& m = members_[at(member)];
  m.clock_offset_ms = offset_ms;
  m.clock_rate_ppm = rate_ppm;
  // The rate counts from here; what it added before is replaced by the new offset.
  m.clock_set_ns = queue_.now();
  // Measured, 12 of 12: a secondary whose clock jumps by more than the election timeout stands at
  // once. Nothing else that waits for this clock is notified (`at_wall`).
  if (works(member)) stand_if_overdue(member);
}
void ReplicaSet::set_ttl(int member, bool on) { members_[at(member)].ttl = on; }
void ReplicaSet::set_fetching(int member, bool on) { members_[at(member)].fetches = on; }
void ReplicaSet::fail_next(int count, int code, bool after_execution) {
  failing_ = count;
  failing_code_ = code;
  failing_after_ = after_execution;
}

int ReplicaSet::latest_primary(const std::function<bool(int)>& counts) const {
  int best = -1;
  for (int i = 0; i < kMembers; ++i) {
    const Member& m = members_[at(i)];
    if (!m.alive || !m.is_primary || !counts(i)) continue;
    if (best < 0 || m.term > members_[at(best)].term) best = i;
  }
  return best;
}

int ReplicaSet::primary() const {
  return latest_primary([this](int i) { return works(i); });
}

int ReplicaSet::primary_for(const std::array<bool, kMembers>& reachable) const {
  return latest_primary([&reachable](int i) { return reachable[at(i)]; });
}

void ReplicaSet::ttl_sleep(int member, std::int64_t span_ns) {
  at_wall(member, wall_ns(member) + span_ns, [this, member] { ttl_pass(member); });
}

void ReplicaSet::ttl_pass(int member) {
  Member& m = members_[at(member)];
  // By the manual a secondary deletes nothing of its own: it gets the primary's deletions. Its
  // monitor runs all the same, and keeps its phase.
  if (m.is_primary && m.ttl && m.ttl_index) {
    // By the primary's clock alone: one that is an hour ahead deletes what has an hour to go.
    const auto gone = expired(m.locks, *m.ttl_index, Date{clock_ms(member)});
    for (const auto& id : gone) write(member, {id, nullptr}, nullptr);
    ttl_deletions_ += static_cast<std::int64_t>(gone.size());
    if (!gone.empty()) replicate(member);
  }
  // From the end of a pass, by the wall clock: set back by two hours, it sleeps for two hours more.
  ttl_sleep(member, settings_.ttl_period_ns);
}

}  // namespace leasehold::sim::simulated

#include "sim/virtual/replica_set.hpp"

#include <algorithm>
#include <leasehold/fencing_token.hpp>
#include <limits>
#include <utility>

namespace leasehold::sim::simulated {
namespace {

constexpr int kNotWritablePrimary = 10107, kNotPrimaryNoSecondaryOk = 13435,
              kPrimarySteppedDown = 189, kWriteConcernFailed = 64, kMaxTimeExpired = 50,
              kInterruptedByStateChange = 11602, kQueryPlanKilled = 175, kIndexOptionsConflict = 85;
constexpr int kStandsAfterAStop = 20;  ///< percent: 2 of 8 were seen to
constexpr std::int64_t kJournalPeriod = 100 * kMs;
constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

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

/// Whether `a` has at least what `b` has: the later term wins, then the longer log.
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
  for (int m = 0; m < kMembers; ++m) {
    ttl_sleep(m, random_.between(1, settings_.ttl_period_ns / kGrain) * kGrain);
  }
  queue_.after(settings_.heartbeat_ns, [this] { beat(); });
}

std::int64_t ReplicaSet::wall_ns(int member) const {
  const Member& m = members_[at(member)];
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
  m.held_back.push_back({std::move(run)});
}

void ReplicaSet::at_wall(int member, std::int64_t wall, std::function<void()> run) {
  if (wall == kNever) return;
  const auto left = wall - wall_ns(member);
  if (left <= 0) return run();
  const auto life = members_[at(member)].life;
  queue_.after(left, [this, member, life, wall, run = std::move(run)] {
    when_running(member, life, [this, member, wall, run] { at_wall(member, wall, run); });
  });
}

/// The next time of the oplog: the member's clock, or just after all that it has heard of.
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

void ReplicaSet::rebuild(Member& m) {
  m.locks = m.fences = {};
  for (const Entry& entry : m.log) apply(m, entry);
}

/// The journal is written once in a period, besides for whoever asks for it.
void ReplicaSet::journal_by_time(Member& m) const {
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
  // It arrives, for the server, when the server reads it.
  auto later = [this, member, request, was = m.is_primary, reply] {
    arrive(member, request, was && random_.chance(50), reply);
  };
  m.held_back.push_back({std::move(later), reply});
}

/// `as_primary`: the member takes itself for the primary when it reads the command.
void ReplicaSet::arrive(int member, Request request, bool as_primary, Reply reply) {
  const Arrival arrival{Date{clock_ms(member)}, max_time_of(member, *request.command)};
  const auto serve = as_primary ? &ReplicaSet::go_on_inside : &ReplicaSet::execute_command;
  if (request.waits_ns == 0) return (this->*serve)(member, request, arrival, reply);
  const auto left = arrival.max_time.wall_ns - wall_ns(member);
  queue_.after(std::min(request.waits_ns, left),
               [this, member, life = members_[at(member)].life, serve, request, arrival, reply] {
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
  const bool opens = streams && command.fields.at(0).first == "aggregate";
  if (!m.is_primary && (!streams || opens)) return answer(m, not_primary(command), reply);
  const bool fails = failing_ > 0;
  if (fails) {
    --failing_;
    ++injected_errors_;
    if (!failing_after_ || streams) return answer(m, error_reply(failing_code_, "injected"), reply);
  }
  if (streams) return serve_stream(member, command, reply);
  const Start start{arrival.now, m.logical};
  Executed executed = in_transaction(command) ? m.transactions.execute(command, m.locks, start)
                                              : execute(command, m.locks, start);
  if (executed.ttl && m.ttl_index && m.ttl_index->after_s != executed.ttl->after_s) {
    return answer(m, error_reply(kIndexOptionsConflict, "an index of other options"), reply);
  }
  if (executed.ttl) m.ttl_index = executed.ttl;
  for (Change& change : executed.changes) {
    write(member, std::move(change), nullptr, request.tag);
  }
  if (!executed.changes.empty()) replicate(member);
  if (fails) {  // executed, and nobody will say so: by a plain error, or by a write concern's
    if (injected_errors_ % 2 == 0) {
      return answer(m, error_reply(failing_code_, "injected after the execution"), reply);
    }
    return answer(m, write_concern_error(executed.reply, failing_code_, "injected"), reply);
  }
  const bool waits = executed.for_majority && executed.reply.find("ok")->truth();
  if (!waits) return answer(m, std::move(executed.reply), reply);
  Deadline deadline = arrival.max_time;
  const auto wtimeout = wall_ns(member) + executed.wtimeout_ms * kMs;
  if (executed.wtimeout_ms > 0 && wtimeout < deadline.wall_ns) {
    deadline = {wtimeout, kWriteConcernFailed};
  }
  wait_for_majority(member, std::move(executed.reply), deadline, reply);
}

/// What a stream tells is of the time up to which a majority has everything.
void ReplicaSet::serve_stream(int member, const Object& command, Reply reply) {
  const auto answer_stream = [this, member, reply](Object news) {
    const Member& m = members_[at(member)];
    news.set("operationTime", m.committed == 0 ? m.logical : m.log[m.committed - 1].time);
    reply(Answer::reply, news);
  };
  Member& m = members_[at(member)];
  m.streams.execute(command, queue_,
                    [this, member, life = m.life, reply, answer_stream](const Object& news) {
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
  answer_.set("operationTime", m.log.empty() ? m.logical : m.log.back().time);
  m.journaled = m.log.size();  // a majority has what a majority's journals have
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
  if (found == waiters.end()) return;
  const Waiter late = std::move(*found);
  waiters.erase(found);
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
    const auto upto = p.log.size();
    const auto delay = settings_.replication_ns + members_[at(to)].delay_ns;
    queue_.after(delay, [this, from, to, upto] { receive(from, to, upto); });
  }
}

void ReplicaSet::receive(int from, int to, std::size_t upto) {
  Member& p = members_[at(from)];
  Member& s = members_[at(to)];
  p.sending[at(to)] = false;
  if (!works(from) || !works(to) || !reaches(from, to) || !p.is_primary || p.term < s.term) return;
  if (!s.fetches) return;
  if (s.is_primary) become_secondary(to);
  s.term = p.term;
  s.heard_primary = wall_ns(to);
  upto = std::min(upto, p.log.size());
  std::size_t common = std::min(upto, s.log.size());
  while (common > 0 && !s.log[common - 1].same(p.log[common - 1])) --common;
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
  s.copies = false;
  s.logical = std::max(s.logical, p.logical);
  if (p.ttl_index) s.ttl_index = p.ttl_index;
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
  p.match[at(to)] = std::max(p.match[at(to)], std::min(has, p.log.size()));
  p.heard_majority = wall_ns(from);
  advance(from);
  if (p.match[at(to)] < p.log.size()) replicate(from);
}

/// A majority has what two of three have, once the primary's own term is among it.
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
  m.streams.answer();
}

void ReplicaSet::beat() {
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
      if (now - m.heard_majority > settings_.election_timeout_ns) become_secondary(i);
      if (m.is_primary) replicate(i);
    } else if (now - m.heard_primary >
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
  m.logical = std::max(m.logical, other.logical);
  if (other.term > m.term) {
    m.term = other.term;
    if (m.is_primary) become_secondary(from);
  }
  if (other.is_primary && other.term == m.term) m.heard_primary = wall_ns(from);
  if (m.is_primary) m.heard_majority = wall_ns(from);
}

/// Stands for election: those who can be asked and have no more than it has vote for it.
bool ReplicaSet::stand(int member) {
  Member& m = members_[at(member)];
  if (m.copies) return false;
  int votes = 1;
  for (int v = 0; v < kMembers; ++v) {
    if (v == member || !works(v) || !reaches(member, v)) continue;
    if (up_to_date(m.log, members_[at(v)].log) && members_[at(v)].term <= m.term) ++votes;
  }
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
  m.match.fill(0);
  m.sending.fill(false);
  // The first entry of its term, by which what came before is a majority's too.
  write(member, note_in_oplog(), nullptr);
  replicate(member);
  return true;
}

void ReplicaSet::become_secondary(int member) {
  Member& m = members_[at(member)];
  m.is_primary = false;
  m.transactions = {};
  m.heard_primary = wall_ns(member);
  auto waiters = std::move(m.waiters);
  m.waiters.clear();
  for (const Waiter& w : waiters) {
    w.reply(Answer::reply,
            write_concern_error(w.answer, kInterruptedByStateChange, "stepped down"));
  }
}

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
  if (random_.chance(kStandsAfterAStop)) stand_if_overdue(member);
  m.heard_primary = wall_ns(member);
  m.heard_majority = wall_ns(member);
  // Whether it reads first what its peers say, or what clients sent.
  if (m.is_primary && random_.chance(50)) {
    for (int other = 0; other < kMembers; ++other) {
      if (other != member) heartbeat(member, other);
    }
  }
  const auto held_back = std::exchange(m.held_back, {});
  for (const HeldBack& held : held_back) held.run();
}

/// An election timer that is due when a member looks at the clock again is acted upon at once,
/// before the primary is heard again: always after a jump of the clock, seldom after a stop.
void ReplicaSet::stand_if_overdue(int member) {
  const Member& m = members_[at(member)];
  if (m.is_primary || wall_ns(member) - m.heard_primary <= settings_.election_timeout_ns) return;
  constexpr std::int64_t kNoticed = 20 * kMs;
  queue_.after(random_.between(1, kNoticed / kGrain) * kGrain, [this, member, life = m.life] {
    when_running(member, life, [this, member] {
      if (!members_[at(member)].is_primary) stand(member);
    });
  });
}

void ReplicaSet::kill(int member) {
  Member& m = members_[at(member)];
  m.alive = m.is_primary = false;
  ++m.life;
  journal_by_time(m);
  if (const auto left = std::max(m.journaled, m.committed); m.log.size() > left) {
    m.log.resize(left);
    rebuild(m);
  }
  const auto waiters = std::exchange(m.waiters, {});
  const auto held_back = std::exchange(m.held_back, {});
  for (const Waiter& w : waiters) w.reply(Answer::broken, {});
  for (const HeldBack& held : held_back) {
    if (held.client) held.client(Answer::broken, {});
  }
  m.streams.end(error_reply(kInterruptedByStateChange, "killed"));
}

void ReplicaSet::restart(int member) {
  Member& m = members_[at(member)];
  if (m.alive) return;
  m.alive = m.running = true;
  m.heard_primary = wall_ns(member);
  ttl_sleep(member, settings_.ttl_period_ns);
}

void ReplicaSet::wipe(int member) {
  Member& m = members_[at(member)];
  m.log.clear();
  m.journaled = m.committed = 0;
  m.term = 0;
  m.logical = {};
  m.ttl_index.reset();
  m.copies = true;
  rebuild(m);
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
  for (Member& m : members_) m.ttl_index = index;
}

/// The change streams of a collection end with it.
bool ReplicaSet::drop_locks() {
  const int p = primary();
  if (p < 0) return false;
  Member& m = members_[at(p)];
  const auto locks = m.locks.documents();
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
  const auto found = std::next(locks.begin(), pick % static_cast<std::int64_t>(locks.size()));
  const auto name = found->first;
  write(p, {name, nullptr}, nullptr);
  replicate(p);
  return name;
}

void ReplicaSet::set_link(int a, int b, bool up) {
  links_[at(a)][at(b)] = links_[at(b)][at(a)] = up;
  if (!up) return;
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
  m.clock_set_ns = queue_.now();
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
  if (m.is_primary && m.ttl && m.ttl_index) {
    const auto gone = expired(m.locks, *m.ttl_index, Date{clock_ms(member)});
    for (const auto& id : gone) write(member, {id, nullptr}, nullptr);
    ttl_deletions_ += static_cast<std::int64_t>(gone.size());
    if (!gone.empty()) replicate(member);
  }
  ttl_sleep(member, settings_.ttl_period_ns);
}

}  // namespace leasehold::sim::simulated

#include "sim/virtual/replica_set.hpp"

#include <algorithm>
#include <leasehold/fencing_token.hpp>
#include <utility>

namespace leasehold::sim::virt {
namespace {

constexpr int kNotWritablePrimary = 10107, kPrimarySteppedDown = 189, kWriteConcernFailed = 64,
              kInterruptedByStateChange = 11602;

Object write_concern_error(Object reply, int code, const std::string& message) {
  Object error;
  error.set("code", std::int32_t{code});
  error.set("errmsg", message);
  reply.set("writeConcernError", error);
  return reply;
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
    queue_.after(random_.between(1, settings_.ttl_period_ns / kGrain) * kGrain,
                 [this, m] { ttl_pass(m); });
  }
  queue_.after(settings_.heartbeat_ns, [this] { beat(); });
}

std::int64_t ReplicaSet::clock_ms(int member) const {
  const Member& m = members_[at(member)];
  const auto drifted = (queue_.now() - m.clock_set_ns) / kMs * m.clock_rate_ppm / 1'000'000;
  return settings_.epoch_ms + queue_.now() / kMs + m.clock_offset_ms + drifted;
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

void ReplicaSet::write(int member, Change change, std::shared_ptr<const FencedWrite> fenced,
                       const std::string& tag) {
  Member& m = members_[at(member)];
  m.log.push_back({tick(m, member), m.term, std::move(change), std::move(fenced), tag});
  apply(m, m.log.back());
  m.match[at(member)] = m.log.size();
}

void ReplicaSet::command(int member, Request request, Reply reply) {
  Member& m = members_[at(member)];
  if (!m.alive) return reply(Answer::refused, {});
  if (!m.running) {
    m.held_back.push_back(
        [this, member, request = std::move(request), reply = std::move(reply)]() mutable {
          command(member, std::move(request), std::move(reply));
        });
    return;
  }
  if (!m.is_primary) {
    return answer(m, error_reply(kNotWritablePrimary, "not primary"), reply);
  }
  const bool fails = failing_ > 0;
  const bool streams = ChangeStreams::serves(*request.command);
  if (fails) {
    --failing_;
    ++injected_errors_;
    if (!failing_after_ || streams) return answer(m, error_reply(failing_code_, "injected"), reply);
  }
  if (streams) {
    return m.streams.execute(*request.command, queue_,
                             [this, member, reply = std::move(reply)](const Object& object) {
                               Member& me = members_[at(member)];
                               if (!me.alive) return reply(Answer::broken, {});
                               if (me.running)
                                 answer(me, object, reply);  // else nobody hears of it in time
                             });
  }
  const Start start{Date{clock_ms(member) - request.waited_ns / kMs}, m.logical};
  Executed executed = in_transaction(*request.command)
                          ? m.transactions.execute(*request.command, m.locks, start)
                          : execute(*request.command, m.locks, start);
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
  wait_for_majority(member, std::move(executed.reply), executed.wtimeout_ms, std::move(reply));
}

void ReplicaSet::fenced_write(int member, const FencedWrite& write_, Reply reply) {
  Member& m = members_[at(member)];
  if (!m.alive) return reply(Answer::refused, {});
  if (!m.running) {
    m.held_back.push_back([this, member, write_, reply = std::move(reply)]() mutable {
      fenced_write(member, write_, std::move(reply));
    });
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
  wait_for_majority(member, std::move(out), 2'500, std::move(reply));
}

/// Every reply carries the time of the newest write, whoever made it.
void ReplicaSet::answer(Member& m, Object reply, const Reply& to) const {
  reply.set("operationTime", m.log.empty() ? m.logical : m.log.back().time);
  to(Answer::reply, reply);
}

void ReplicaSet::wait_for_majority(int member, Object answer_, std::int64_t wtimeout_ms,
                                   Reply reply) {
  Member& m = members_[at(member)];
  answer_.set("operationTime", m.log.empty() ? m.logical : m.log.back().time);
  if (m.committed >= m.log.size()) return reply(Answer::reply, answer_);
  const auto id = ++last_waiter_;
  m.waiters.push_back({m.log.size(), id, std::move(answer_), std::move(reply)});
  queue_.after(wtimeout_ms * kMs, [this, member, id] {
    auto& waiters = members_[at(member)].waiters;
    const auto found =
        std::find_if(waiters.begin(), waiters.end(), [id](const Waiter& w) { return w.id == id; });
    if (found == waiters.end()) return;
    const Waiter late = std::move(*found);
    waiters.erase(found);
    ++wtimeouts_;
    late.reply(Answer::reply, write_concern_error(late.answer, kWriteConcernFailed,
                                                  "waiting for replication timed out"));
  });
}

/// Sends what is new to each secondary; while a message is on its way the next one waits for it.
void ReplicaSet::replicate(int from) {
  Member& p = members_[at(from)];
  for (int to = 0; to < kMembers; ++to) {
    if (to == from || p.sending[at(to)] || !reaches(from, to)) continue;
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
  if (s.is_primary) become_secondary(to);
  s.term = p.term;
  s.heard_primary = queue_.now();
  upto = std::min(upto, p.log.size());
  std::size_t common = std::min(upto, s.log.size());
  while (common > 0 && !s.log[common - 1].same(p.log[common - 1])) --common;
  const bool diverged = s.log.size() > common && (common < upto || s.log.size() > p.log.size());
  if (diverged) {
    rolled_back_ += static_cast<std::int64_t>(s.log.size() - common);
    s.log.resize(common);
    rebuild(s);
  }
  for (std::size_t i = s.log.size(); i < upto; ++i) {
    s.log.push_back(p.log[i]);
    apply(s, s.log.back());
  }
  s.logical = std::max(s.logical, p.logical);
  if (p.ttl_index) s.ttl_index = p.ttl_index;
  s.committed = std::max(s.committed, std::min(p.committed, s.log.size()));
  const auto has = s.log.size();
  const auto term = p.term;
  queue_.after(settings_.replication_ns,
               [this, from, to, has, term] { acknowledge(from, to, has, term); });
}

void ReplicaSet::acknowledge(int from, int to, std::size_t has, std::int64_t term) {
  Member& p = members_[at(from)];
  if (!works(from) || !p.is_primary || p.term != term || !reaches(to, from)) return;
  p.match[at(to)] = std::max(p.match[at(to)], std::min(has, p.log.size()));
  p.heard_majority = queue_.now();
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
  for (; announced_ < majority; ++announced_) on_committed_(p.log[announced_]);
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
  const auto now = queue_.now();
  for (int i = 0; i < kMembers; ++i) {
    Member& m = members_[at(i)];
    if (!works(i)) continue;
    if (m.is_primary) {
      if (now - m.heard_majority > settings_.election_timeout_ns && now > 0) become_secondary(i);
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
  if (other.is_primary && other.term == m.term) m.heard_primary = queue_.now();
  if (m.is_primary) m.heard_majority = queue_.now();
}

/// Stands for election: those who can be asked and have no more than it has vote for it.
bool ReplicaSet::stand(int member) {
  Member& m = members_[at(member)];
  int votes = 1;
  for (int v = 0; v < kMembers; ++v) {
    if (v == member || !works(v) || !reaches(member, v)) continue;
    if (up_to_date(m.log, members_[at(v)].log) && members_[at(v)].term <= m.term) ++votes;
  }
  m.heard_primary = queue_.now();
  if (votes <= kMembers / 2) return false;
  ++m.term;
  ++elections_;
  for (int v = 0; v < kMembers; ++v) {
    if (v == member || !works(v) || !reaches(member, v)) continue;
    members_[at(v)].term = m.term;
    members_[at(v)].heard_primary = queue_.now();
    m.logical = std::max(m.logical, members_[at(v)].logical);
    if (members_[at(v)].is_primary) become_secondary(v);
  }
  m.is_primary = true;
  m.heard_majority = queue_.now();
  m.match.fill(0);
  m.sending.fill(false);
  // The first entry of its term, by which what came before is a majority's too.
  Object note;
  note.set("_id", "term");
  write(member, {"", std::make_shared<const Object>(note)}, nullptr);
  replicate(member);
  return true;
}

void ReplicaSet::become_secondary(int member) {
  Member& m = members_[at(member)];
  m.is_primary = false;
  m.transactions = {};
  m.streams.end(error_reply(kInterruptedByStateChange, "stepped down"));
  m.heard_primary = queue_.now();
  auto waiters = std::move(m.waiters);
  m.waiters.clear();
  for (const Waiter& w : waiters) {
    w.reply(Answer::reply, write_concern_error(w.answer, kPrimarySteppedDown, "stepped down"));
  }
}

void ReplicaSet::catch_up(int member, const Member& from) {
  Member& m = members_[at(member)];
  if (up_to_date(m.log, from.log)) return;
  m.log = from.log;
  rebuild(m);
}

void ReplicaSet::step_up(int member) {
  const int old = primary();
  if (old == member || !works(member)) return;
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
  if (m.running) return;
  m.running = true;
  m.heard_primary = queue_.now();
  m.heard_majority = queue_.now();
  auto held_back = std::move(m.held_back);
  m.held_back.clear();
  for (const auto& run : held_back) run();
}

void ReplicaSet::kill(int member) {
  Member& m = members_[at(member)];
  m.alive = m.is_primary = false;
  auto waiters = std::move(m.waiters);
  m.waiters.clear();
  m.held_back.clear();
  for (const Waiter& w : waiters) w.reply(Answer::broken, {});
  m.streams.end(error_reply(kInterruptedByStateChange, "killed"));
}

void ReplicaSet::restart(int member) {
  Member& m = members_[at(member)];
  m.alive = m.running = true;
  m.heard_primary = queue_.now();
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
}
void ReplicaSet::set_ttl(int member, bool on) { members_[at(member)].ttl = on; }
void ReplicaSet::fail_next(int count, int code, bool after_execution) {
  failing_ = count;
  failing_code_ = code;
  failing_after_ = after_execution;
}

int ReplicaSet::primary() const {
  std::array<bool, kMembers> all{};
  all.fill(true);
  return primary_for(all);
}

int ReplicaSet::primary_for(const std::array<bool, kMembers>& reachable) const {
  int best = -1;
  for (int i = 0; i < kMembers; ++i) {
    const Member& m = members_[at(i)];
    if (!reachable[at(i)] || !works(i) || !m.is_primary) continue;
    if (best < 0 || m.term > members_[at(best)].term) best = i;
  }
  return best;
}

void ReplicaSet::ttl_pass(int member) {
  Member& m = members_[at(member)];
  if (works(member) && m.is_primary && m.ttl && m.ttl_index) {
    const auto gone = expired(m.locks, *m.ttl_index, Date{clock_ms(member)});
    for (const auto& id : gone) write(member, {id, nullptr}, nullptr);
    ttl_deletions_ += static_cast<std::int64_t>(gone.size());
    if (!gone.empty()) replicate(member);
  }
  queue_.after(settings_.ttl_period_ns, [this, member] { ttl_pass(member); });
}

}  // namespace leasehold::sim::virt

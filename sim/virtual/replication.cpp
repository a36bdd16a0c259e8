#include <algorithm>
#include <leasehold/fencing_token.hpp>
#include <utility>

#include "sim/virtual/replica_set.hpp"
#include "sim/virtual/server_errors.hpp"
#include "sim/virtual/stream_events.hpp"

// The oplog: writes, their way to the other members, majorities, rollbacks.
namespace leasehold::sim::simulated {
namespace {

constexpr std::int64_t kJournalPeriod = 100 * kMs;

}  // namespace

std::int64_t Entry::order() const {
  return FencingToken::from_timestamp(time.seconds, time.increment).value();
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
  for (Waiter& w : done) w.reply(Answer::reply, std::move(w.answer));
}

/// What an entry's document was before it, by the log: the write before is seldom far.
Document ReplicaSet::before_entry(const Member& m, std::size_t index) {
  for (std::size_t i = index; i-- > 0;) {
    const Entry& entry = m.log[i];
    if (!entry.fenced && entry.change.id == m.log[index].change.id) return entry.change.after;
  }
  return nullptr;
}

/// A change stream hears of a write when a majority has it.
void ReplicaSet::tell_streams(Member& m, std::size_t from) {
  for (std::size_t i = from; m.streams.any() && i < m.committed; ++i) {
    const Entry& entry = m.log[i];
    const bool of_a_lock = !entry.fenced && !entry.change.id.empty();
    if (of_a_lock) m.streams.tell(stream_event(entry.change, before_entry(m, i), entry.time));
  }
  // After all of them: one commit, one batch.
  m.streams.answer();
}

/// Raft's rule and that of mongod's votes: the newest entry decides. Clocks do not matter, though
/// entries have times.
bool ReplicaSet::up_to_date(const std::vector<Entry>& a, const std::vector<Entry>& b) {
  const std::int64_t term_a = a.empty() ? 0 : a.back().term;
  const std::int64_t term_b = b.empty() ? 0 : b.back().term;
  return term_a != term_b ? term_a > term_b : a.size() >= b.size();
}

/// All at once, as if the way took no time: what a real candidate fetches before it stands.
void ReplicaSet::catch_up(int member, const Member& from) {
  Member& m = members_[at(member)];
  if (up_to_date(m.log, from.log)) return;
  m.log = from.log;
  m.journaled = m.log.size();
  rebuild(m);
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

void ReplicaSet::set_fetching(int member, bool on) { members_[at(member)].fetches = on; }

}  // namespace leasehold::sim::simulated

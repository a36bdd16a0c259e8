#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sim/virtual/servers/members.hpp"

namespace leasehold::sim::simulated {

/// The oplog's way through the set: decides the time of each write, what each secondary gets, when
/// a majority has it, and what is rolled back. It does not decide which member is primary: it
/// carries what a primary writes, and ignores messages of an office that is over.
///
/// As in the manual on the replica set oplog: secondaries copy the primary's log and apply it. Here
/// the primary sends, and an answer says how much there is; a real secondary fetches, and reports
/// its progress. Clients cannot tell these apart.
class Replication : public Members {
 public:
  struct Listener {
    /// Called once for each write, in the oplog's order, when a majority has it.
    std::function<void(const Entry&)> on_committed = [](const Entry&) {};
    /// Called before: since when the newest primary had a write that no majority had.
    std::function<void(std::int64_t since_ns)> on_followed = [](std::int64_t) {};
  };
  /// `listener` is called within the event in which the primary learns of it, and must send no
  /// command.
  Replication(EventQueue& queue_, const ServerSettings& settings_, Listener listener)
      : Members(queue_, settings_), listener_(std::move(listener)) {}

  /// REQUIRES: the member is primary. Sends nothing.
  /// Takes the time at once, so that no time is used twice.
  void write(int member, Change change, std::shared_ptr<const FencedWrite> fenced = nullptr,
             const std::string& tag = {}) {
    append(member, next_time(member), std::move(change), std::move(fenced), tag);
  }

  /// The same at a time of `next_time`; those of one time are replicated together.
  void append(int member, Timestamp time, Change change,
              std::shared_ptr<const FencedWrite> fenced = nullptr, const std::string& tag = {}) {
    Member& m = at(member);
    const auto now = queue.now();
    const bool newest = std::ranges::none_of(all_, [&](auto& one) { return one.term > m.term; });
    if (newest && behind_since_ == 0) behind_since_ = now;
    m.data.append({time, m.term, std::move(change), std::move(fenced), tag, now}, now);
    m.match[member] = m.data.log().size();
  }
  /// The time of a write of another collection, whose entry is left out here. REQUIRES: as `write`.
  /// The next time of the oplog: the member's clock, or just after all that it knows of.
  /// A clock that goes back leaves only the counter to rise; measured on a mongod, an hour long. So
  /// operationTime orders writes across every jump and failover, where $$NOW does not.
  Timestamp next_time(int member) {
    Member& m = at(member);
    const auto wall_s = static_cast<std::uint32_t>(clock_ms(member) / 1'000);
    if (wall_s > m.logical.seconds) {
      m.logical = {wall_s, 1};
    } else {
      ++m.logical.increment;
    }
    return m.logical;
  }

  /// Sends what is new to each secondary; while a message is on its way the next one waits for it.
  void send_news(int from) {
    Member& p = at(from);
    for (int to = 0; to < kMembers; ++to) {
      const Member& s = at(to);
      const bool fetches = s.fetches && reaches(from, to) && s.shuns_until[from] <= queue.now();
      if (to == from || p.sending[to] || !fetches) continue;
      p.sending[to] = true;
      // What is written while this is on its way goes with the next, which the answer to this sends
      // off. If the link swallows it, the next beat tries again.
      const auto upto = p.data.log().size();
      const auto delay = settings.replication_ns + s.delay_ns;
      queue.after(delay, [this, from, to, upto] { take_news(from, to, upto); });
    }
  }

  /// What a candidate fetches before it stands, if the other has more: all at once, without the
  /// time of a message.
  void catch_up(int member, int from) {
    Member& m = at(member);
    if (!m.data.up_to_date_with(at(from).data)) m.data.copy(at(from).data);
  }
  /// The member fails to fetch from this source, and does not ask it again for ten seconds.
  void fail_fetch(int member, int source) {
    at(member).shuns_until[source] = queue.now() + kShuns;
  }

  /// Since when the newest primary has a write that no majority has; 0: there is none.
  [[nodiscard]] std::int64_t behind_since() const { return behind_since_; }

  /// The events of what a majority has of these data, from this length of their log on.
  static void tell_of_locks(const MemberData& data, std::size_t from,
                            const std::function<void(const Object&)>& tell) {
    for (std::size_t i = from; i < data.committed(); ++i) {
      const Entry& entry = data.log()[i];
      const bool of_a_lock = !entry.fenced && !entry.change.id.empty();
      if (of_a_lock) tell(stream_event(entry.change, data.before(i), entry.time));
    }
  }

  std::int64_t rolled_back = 0;  ///< writes, so far

 private:
  /// As `kFetcherErrorDenylistDuration` of mongod's SyncSourceResolver.
  static constexpr std::int64_t kShuns = 10'000 * kMs;

  void take_news(int from, int to, std::size_t upto) {
    Member& p = at(from);
    Member& s = at(to);
    // The primary may have changed, stopped or been cut off meanwhile; then the message was lost.
    // An old primary's is refused by its term.
    p.sending[to] = false;
    if (!p.works() || !s.works() || !reaches(from, to) || !p.is_primary || p.term < s.term) {
      return;
    }
    if (!s.fetches) return;
    // Two of one term cannot be: each has a majority's votes. So the sender's is the later term.
    if (s.is_primary) leave_office(to);
    s.term = p.term;
    s.heard_primary = wall_ns(to);
    upto = std::min(upto, p.data.log().size());
    const std::size_t common = s.data.common_with(p.data, upto);
    const std::size_t length = s.data.log().size();
    // A log that is merely shorter than the primary's has not parted from it. One that is longer
    // has, when it agrees up to the end of the primary's.
    const bool diverged = length > common && (common < upto || length > p.data.log().size());
    if (diverged) roll_back(s, common);
    s.data.fetch(p.data, upto);
    // It has all that the primary had when this was sent, in one message: how long a copy takes is
    // left out.
    s.copies = false;
    s.logical = std::max(s.logical, p.logical);
    // The index is no entry of the oplog here. Only a primary reads it, so late is enough.
    if (p.ttl_index) s.ttl_index = p.ttl_index;
    // What a majority has travels with the entries, so a secondary learns it one message late. That
    // is when its change streams report it.
    const auto has = s.data.log().size();
    notify_streams(s, s.data.commit(std::min(p.data.committed(), has)));
    queue.after(
        settings.replication_ns,
        [this, from, to, has, term = p.term] { acknowledge(from, to, has, term); });
  }

  /// By the manual on rollbacks: a former primary reverts what it had written and its successor
  /// does not have. Its change streams end, as what they may have reported is no more.
  void roll_back(Member& secondary, std::size_t common) {
    rolled_back += static_cast<std::int64_t>(secondary.data.log().size() - common);
    secondary.data.roll_back_to(common);
    secondary.streams.end(error_reply(kInterruptedByStateChange, "rolled back"));
  }
  void acknowledge(int from, int to, std::size_t has, std::int64_t term) {
    Member& p = at(from);
    if (!p.works() || !p.is_primary || p.term != term || !reaches(to, from)) return;
    const std::size_t length = p.data.log().size();
    // Never back, for answers of two messages may be of a different order than the messages; the
    // log may have become shorter only if the office was another, which the term rules out.
    p.match[to] = std::max(p.match[to], std::min(has, length));
    p.heard_majority = wall_ns(from);
    advance(from);
    if (p.match[to] < p.data.log().size()) send_news(from);
  }

  /// Moves what a majority has, and notifies all waiting clients.
  /// A majority has what two of three have, once the primary's own term is among it.
  /// An entry of an earlier term that two of three have can still be rolled back, by one that was
  /// elected in between without it (Raft, section 5.4.2). An entry of the own term ends that.
  void advance(int primary) {
    Member& p = at(primary);
    auto match = p.match;
    match[primary] = p.data.log().size();
    std::ranges::sort(match);
    const std::size_t majority = match[kMembers / 2];
    if (majority <= p.data.committed() || p.data.log()[majority - 1].term != p.term) return;
    const auto before = p.data.commit(majority);
    if (behind_since_ != 0) listener_.on_followed(behind_since_);
    const bool all = majority == p.data.log().size();
    behind_since_ = all ? 0 : p.data.log()[majority].written_ns;
    notify_streams(p, before);
    announce(p.data, before, majority);
    answer_waiters(p);
  }

  /// By time, for after a loss of data the log may be another, and shorter. What was deleted at
  /// once has one time, and is announced at once.
  void announce(const MemberData& data, std::size_t from, std::size_t upto) {
    const auto before = announced_;
    for (auto i = from; i < upto; ++i) {
      const Entry& entry = data.log()[i];
      if (entry.time <= before || entry.time < announced_) continue;
      announced_ = entry.time;
      listener_.on_committed(entry);
    }
  }

  /// In the order in which they began to wait.
  static void answer_waiters(Member& primary) {
    auto& waiters = primary.waiters;
    const auto committed = primary.data.committed();
    // Taken out before any is answered, because a client may send the next command at once.
    std::vector<Waiter> done;
    const auto rest = std::stable_partition(
        waiters.begin(), waiters.end(), [&](const Waiter& w) { return w.index > committed; });
    std::move(rest, waiters.end(), std::back_inserter(done));
    waiters.erase(rest, waiters.end());
    for (Waiter& w : done) w.reply(ServerAnswer::reply, std::move(w.answer));
  }

  /// A change stream reports a write when a majority has it (the manual on change streams), and of
  /// locks alone: it is open on their collection.
  static void notify_streams(Member& m, std::size_t from) {
    if (m.streams.any()) tell_of_locks(m.data, from, [&m](const Object& e) { m.streams.tell(e); });
    // After all of them: one commit, one batch.
    m.streams.answer();
  }

  const Listener listener_;
  // INVARIANT: never goes back, so the listener gets each write once, whichever primary finds out.
  Timestamp announced_;  ///< of the last write that a majority was seen to have
  std::int64_t behind_since_ = 0;
};

}  // namespace leasehold::sim::simulated

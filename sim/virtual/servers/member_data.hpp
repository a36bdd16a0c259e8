#pragma once

#include <algorithm>
#include <cstdint>
#include <leasehold/fencing_token.hpp>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sim/record/lock_truth.hpp"
#include "sim/virtual/commands/collection.hpp"
#include "sim/virtual/event_queue.hpp"

/// The disk of one member: its oplog, and the collections that the oplog makes.
namespace leasehold::sim::simulated {

/// One write in the oplog.
///
/// INVARIANT: time and term name an entry and all before it: two logs with the same entry at a
/// place are equal up to there (Raft's log matching). By it a rollback finds where two logs part.
struct Entry {
  Timestamp time;
  std::int64_t term = 0;
  Change change;
  /// Set: the change is the fence's, which is a collection of the same set, so that its writes are
  /// in the same oplog as the locks', and the truth about both is in one order.
  std::shared_ptr<const FencedWrite> fenced;
  std::string tag = {};         ///< of the command that wrote it
  std::int64_t written_ns = 0;  ///< when, by the queue
  /// The time, packed as a fencing token.
  [[nodiscard]] std::int64_t order() const {
    return FencingToken::from_timestamp(time.seconds, time.increment).value();
  }
  [[nodiscard]] bool same(const Entry& other) const {
    return time == other.time && term == other.term;
  }
};

/// The log and what it leaves behind change together, in here alone. `Replication` decides which
/// member may write, and when a majority has something.
///
/// INVARIANT: `locks` and `fences` are the log, applied from the beginning.
/// INVARIANT: `journaled` and `committed` are lengths of the log; only after a loss of data may a
/// rollback leave `committed` beyond its end.
/// INVARIANT: entries up to `committed` are in the logs of a majority, so no primary elected
/// later lacks them, unless a majority's data were lost.
class MemberData {
 public:
  [[nodiscard]] const std::vector<Entry>& log() const { return log_; }
  [[nodiscard]] std::size_t committed() const { return committed_; }
  [[nodiscard]] const Collection& locks() const { return locks_; }
  [[nodiscard]] const Collection& fences() const { return fences_; }

  /// As the primary: the newest entry. REQUIRES: its time is after all before it.
  void append(Entry entry, std::int64_t now_ns) {
    // Before the entry is there: what was in the log before it is older than this period.
    journal_by_time(now_ns);
    log_.push_back(std::move(entry));
    apply(log_.back());
  }

  /// As a secondary: what `from` has after this log, up to that length.
  /// REQUIRES: this log is a beginning of the other.
  /// By the manual on the oplog secondaries apply the same entries; each leaves the same document,
  /// however often it is applied.
  void fetch(const MemberData& from, std::size_t upto) {
    for (std::size_t i = log_.size(); i < upto; ++i) {
      log_.push_back(from.log_[i]);
      apply(log_.back());
    }
    journal();  // before it says that it has them
  }

  /// Copies all of it at once, but keeps its knowledge of what a majority has.
  /// Journaled at once: a candidate must not lose what it is elected for.
  void copy(const MemberData& from) {
    log_ = from.log_;
    journal();
    rebuild();
  }
  /// Undoes all but the beginning.
  /// `committed` stays: after a loss of data it says what was once acknowledged.
  void roll_back_to(std::size_t length) {
    log_.resize(length);
    rebuild();
  }
  /// A new disk.
  void clear() {
    log_.clear();
    journaled_ = committed_ = 0;
    rebuild();
  }

  /// To the journal, at once: for writes that wait for a majority, or when asked what it has.
  void journal() { journaled_ = log_.size(); }
  /// As SIGKILL: an entry that was neither journaled in time nor is a majority's is gone.
  /// Measured: of all members killed at once, w: 1 writes since the last flush are gone (8 of 8),
  /// acknowledged majority writes never. What a majority has, a majority's journals have.
  void lose_what_is_not_journaled(std::int64_t now_ns) {
    journal_by_time(now_ns);
    const auto left = std::max(journaled_, committed_);
    if (log_.size() > left) roll_back_to(left);
  }

  /// A majority has this length, as far as this member knows. Returns what it knew before. A
  /// smaller length changes nothing.
  std::size_t commit(std::size_t length) {
    return std::exchange(committed_, std::max(committed_, length));
  }

  /// The length up to which the logs are equal, looking at `upto` entries of the other at most.
  /// From the end, since logs mostly part there if at all. Equal entries have equal beginnings.
  [[nodiscard]] std::size_t common_with(const MemberData& other, std::size_t upto) const {
    std::size_t common = std::min(upto, log_.size());
    while (common > 0 && !log_[common - 1].same(other.log_[common - 1])) --common;
    return common;
  }
  /// Whether it has at least what the other has: the later term wins, then the longer log.
  /// Raft's rule and that of mongod's votes: the newest entry decides. Clocks do not matter, though
  /// entries have times.
  [[nodiscard]] bool up_to_date_with(const MemberData& other) const {
    const std::int64_t mine = log_.empty() ? 0 : log_.back().term;
    const std::int64_t theirs = other.log_.empty() ? 0 : other.log_.back().term;
    return mine != theirs ? mine > theirs : log_.size() >= other.log_.size();
  }
  /// What the document of this entry was before it; null: there was none.
  /// By the log, which says what each write left behind: the write before is seldom far.
  [[nodiscard]] Document before(std::size_t index) const {
    for (std::size_t i = index; i-- > 0;) {
      const Entry& entry = log_[i];
      if (!entry.fenced && entry.change.id == log_[index].change.id) return entry.change.after;
    }
    return nullptr;
  }

 private:
  /// The manual's default of `storage.journal.commitIntervalMs`.
  static constexpr std::int64_t kJournalPeriod = 100 * kMs;

  /// The journal is written once in a period, and besides when a caller asks for it.
  void journal_by_time(std::int64_t now_ns) {
    // There is no event for each period, because only a SIGKILL can tell the difference, and this
    // is called before it too.
    const auto period = now_ns / kJournalPeriod;
    if (period == journal_period_) return;
    journal_period_ = period;
    journal();
  }

  void apply(const Entry& entry) {
    (entry.fenced ? fences_ : locks_).apply(entry.change);
  }
  /// A rollback is rare and logs are short: to begin again is simpler than to undo, and it cannot
  /// leave a trace of what was undone.
  void rebuild() {
    locks_ = fences_ = {};
    for (const Entry& entry : log_) apply(entry);
  }

  std::vector<Entry> log_;
  std::size_t journaled_ = 0;        ///< what a SIGKILL leaves at least
  std::int64_t journal_period_ = 0;  ///< in which the last write was
  std::size_t committed_ = 0;
  Collection locks_, fences_;
};

}  // namespace leasehold::sim::simulated

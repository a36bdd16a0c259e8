#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sim/record/lock_truth.hpp"
#include "sim/virtual/commands/collection.hpp"

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
  std::string tag = {};                       ///< of the command that wrote it
  std::int64_t written_ns = 0;                ///< when, by the queue
  [[nodiscard]] std::int64_t order() const;   ///< the time, packed as a fencing token
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
  void append(Entry entry, std::int64_t now_ns);
  /// As a secondary: what `from` has after this log, up to that length.
  /// REQUIRES: this log is a beginning of the other.
  void fetch(const MemberData& from, std::size_t upto);
  /// Copies all of it at once, but keeps its knowledge of what a majority has.
  void copy(const MemberData& from);
  /// Undoes all but the beginning.
  void roll_back_to(std::size_t length);
  /// A new disk.
  void clear();

  /// To the journal, at once: for writes that wait for a majority, or when asked what it has.
  void journal() { journaled_ = log_.size(); }
  /// As SIGKILL: an entry that was neither journaled in time nor is a majority's is gone.
  void lose_what_is_not_journaled(std::int64_t now_ns);

  /// A majority has this length, as far as this member knows. Returns what it knew before. A
  /// smaller length changes nothing.
  std::size_t commit(std::size_t length);

  /// The length up to which the logs are equal, looking at `upto` entries of the other at most.
  [[nodiscard]] std::size_t common_with(const MemberData& other, std::size_t upto) const;
  /// Whether it has at least what the other has: the later term wins, then the longer log.
  [[nodiscard]] bool up_to_date_with(const MemberData& other) const;
  /// What the document of this entry was before it; null: there was none.
  [[nodiscard]] Document before(std::size_t index) const;

 private:
  void journal_by_time(std::int64_t now_ns);
  void apply(const Entry& entry);
  void rebuild();

  std::vector<Entry> log_;
  std::size_t journaled_ = 0;        ///< what a SIGKILL leaves at least
  std::int64_t journal_period_ = 0;  ///< in which the last write was
  std::size_t committed_ = 0;
  Collection locks_, fences_;
};

}  // namespace leasehold::sim::simulated

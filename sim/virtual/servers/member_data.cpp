#include "sim/virtual/servers/member_data.hpp"

#include <algorithm>
#include <leasehold/fencing_token.hpp>
#include <utility>

#include "sim/virtual/event_queue.hpp"

namespace leasehold::sim::simulated {
namespace {

/// The manual's default of `storage.journal.commitIntervalMs`.
constexpr std::int64_t kJournalPeriod = 100 * kMs;

}  // namespace

std::int64_t Entry::order() const {
  return FencingToken::from_timestamp(time.seconds, time.increment).value();
}

void MemberData::append(Entry entry, std::int64_t now_ns) {
  // Before the entry is there: what was in the log before it is older than this period.
  journal_by_time(now_ns);
  log_.push_back(std::move(entry));
  apply(log_.back());
}

/// By the manual on the oplog secondaries apply the same entries; each leaves the same document,
/// however often it is applied.
void MemberData::fetch(const MemberData& from, std::size_t upto) {
  for (std::size_t i = log_.size(); i < upto; ++i) {
    log_.push_back(from.log_[i]);
    apply(log_.back());
  }
  journal();  // before it says that it has them
}

/// Journaled at once: a candidate must not lose what it is elected for.
void MemberData::copy(const MemberData& from) {
  log_ = from.log_;
  journal();
  rebuild();
}

/// `committed` stays: after a loss of data it says what was once acknowledged.
void MemberData::roll_back_to(std::size_t length) {
  log_.resize(length);
  rebuild();
}

void MemberData::clear() {
  log_.clear();
  journaled_ = committed_ = 0;
  rebuild();
}

/// Measured: of all members killed at once, w: 1 writes since the last flush are gone (8 of 8),
/// acknowledged majority writes never. What a majority has, a majority's journals have.
void MemberData::lose_what_is_not_journaled(std::int64_t now_ns) {
  journal_by_time(now_ns);
  const auto left = std::max(journaled_, committed_);
  if (log_.size() > left) roll_back_to(left);
}

std::size_t MemberData::commit(std::size_t length) {
  return std::exchange(committed_, std::max(committed_, length));
}

/// From the end, since logs mostly part there if at all. Equal entries have equal beginnings.
std::size_t MemberData::common_with(const MemberData& other, std::size_t upto) const {
  std::size_t common = std::min(upto, log_.size());
  while (common > 0 && !log_[common - 1].same(other.log_[common - 1])) --common;
  return common;
}

/// Raft's rule and that of mongod's votes: the newest entry decides. Clocks do not matter, though
/// entries have times.
bool MemberData::up_to_date_with(const MemberData& other) const {
  const std::int64_t mine = log_.empty() ? 0 : log_.back().term;
  const std::int64_t theirs = other.log_.empty() ? 0 : other.log_.back().term;
  return mine != theirs ? mine > theirs : log_.size() >= other.log_.size();
}

/// By the log, which says what each write left behind: the write before is seldom far.
Document MemberData::before(std::size_t index) const {
  for (std::size_t i = index; i-- > 0;) {
    const Entry& entry = log_[i];
    if (!entry.fenced && entry.change.id == log_[index].change.id) return entry.change.after;
  }
  return nullptr;
}

/// The journal is written once in a period, and besides when a caller asks for it.
void MemberData::journal_by_time(std::int64_t now_ns) {
  // There is no event for each period, because only a SIGKILL can tell the difference, and this is
  // called before it too.
  const auto period = now_ns / kJournalPeriod;
  if (period == journal_period_) return;
  journal_period_ = period;
  journal();
}

void MemberData::apply(const Entry& entry) {
  (entry.fenced ? fences_ : locks_).apply(entry.change);
}

/// A rollback is rare and logs are short: to begin again is simpler than to undo, and it cannot
/// leave a trace of what was undone.
void MemberData::rebuild() {
  locks_ = fences_ = {};
  for (const Entry& entry : log_) apply(entry);
}

}  // namespace leasehold::sim::simulated

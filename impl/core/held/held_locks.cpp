#include "core/held/held_locks.hpp"

#include <algorithm>

#include "core/check.hpp"
#include "core/document/lock_readers.hpp"
#include "core/limits.hpp"

namespace leasehold::core {
namespace {

/// How soon to try again after an extension that failed: often within one lease, but not a storm.
Duration retry_pause(const LockOptions& options) {
  return std::clamp<Duration>(options.expiry / 20, std::chrono::milliseconds(10),
                              std::chrono::seconds(1));
}

/// A lock with a final deadline is left alone.
bool wants_extension(const HeldLock& lock) {
  return !lock.lost && lock.command == 0 && lock.deadline < lock.ends_at;
}

/// Never, if it wants none.
LocalInstant next_extension(const HeldLock& lock) {
  return wants_extension(lock) ? lock.extend_at : LocalInstant::max();
}

bool travels_alone(const HeldLock& lock) { return lock.options.expiry < kAloneBelow; }

}  // namespace

/// A grant that came after its own deadline never gets here: it was given back (win_too_late).
void HeldLocks::add(SessionId id, HeldLock lock, Step step) {
  LEASEHOLD_CHECK(step.now < lock.deadline);
  set_timer(Timer::Kind::lease_end, id, lock.deadline, step);
  arm_round_at(lock.extend_at, step);
  lock.won_by = id;
  lock.sessions = {id};
  const bool is_new = locks_.emplace(id, std::move(lock)).second;
  LEASEHOLD_CHECK(is_new && of_session_.emplace(id, id).second);
}

/// No command: it is the same reader for servers.
void HeldLocks::share(SessionId id, SessionId session, Step step) {
  HeldLock& lock = locks_.at(id);
  LEASEHOLD_CHECK(lock.room == kReaders && !lock.lost && step.now < lock.deadline);
  LEASEHOLD_CHECK(of_session_.emplace(session, id).second);
  lock.sessions.insert(session);
  step.out.push_back(Granted{session, lock.name, lock.token, lock.owner, lock.lock_id, 0,
                             Granted::By::share, lock.sent, lock.deadline, kReaders});
}

SessionId HeldLocks::lock_of(SessionId session) const {
  const auto found = of_session_.find(session);
  return found == of_session_.end() ? 0 : found->second;
}

/// Takes a lost lock too, with its timer cleared already: to clear it twice does no harm.
std::optional<HeldLock> HeldLocks::take(SessionId session, Step step) {
  const SessionId id = lock_of(session);
  if (id == 0) return std::nullopt;
  HeldLock& lock = locks_.at(id);
  of_session_.erase(session);
  lock.sessions.erase(session);
  if (!lock.sessions.empty()) {
    const auto result = lock.lost ? ReleaseResult::not_owner : ReleaseResult::released;
    step.out.push_back(Released{session, lock.name, lock.token, result});
    return std::nullopt;
  }
  auto node = locks_.extract(id);
  clear_timer(Timer::Kind::lease_end, id, step);
  return std::move(node.mapped());
}

/// Final: no later answer finds it as a lock that may be extended (`answered`).
void HeldLocks::lose(SessionId id, LostReason reason, Step step) {
  HeldLock& lock = locks_.at(id);
  LEASEHOLD_CHECK(!lock.lost);
  lock.lost = true;
  for (const auto session : lock.sessions) {
    step.out.push_back(Lost{session, lock.name, lock.token, reason});
  }
  clear_timer(Timer::Kind::lease_end, id, step);
}

/// The timer is not moved with each extension: an early one costs less than two effects each.
bool HeldLocks::lease_ends(SessionId id, Step step) {
  const HeldLock* lock = find(id);
  if (lock == nullptr || lock->lost) return false;
  if (step.now >= lock->deadline) return true;
  set_timer(Timer::Kind::lease_end, id, lock->deadline, step);
  return false;
}

/// Finds a lost lock too: its release is still to come, and has a document to look for.
HeldLock* HeldLocks::find(SessionId id) {
  const auto found = locks_.find(id);
  return found == locks_.end() ? nullptr : &found->second;
}

bool HeldLocks::make_due(SessionId id, LocalInstant now) {
  HeldLock* lock = find(id);
  if (lock == nullptr || !wants_extension(*lock)) return false;
  lock->extend_at = std::min(lock->extend_at, now);
  return true;
}

/// A timer for an earlier round replaces that for a later one. One for a later round is not set:
/// the earlier round arms the next.
void HeldLocks::arm_round_at(LocalInstant at, Step step) {
  if (at == LocalInstant::max() || (round_at_ && *round_at_ <= at)) return;
  round_at_ = at;
  set_timer(Timer::Kind::extension_round, 0, at, step);
}

/// Linear in the locks held: once a round.
void HeldLocks::arm_round(Step step) {
  if (is_behind()) return;  // the next free slot is the round's
  auto earliest = LocalInstant::max();
  for (const auto& [id, lock] : locks_) earliest = std::min(earliest, next_extension(lock));
  arm_round_at(earliest, step);
}

/// The next extension of every other lock is armed already, or behind.
void HeldLocks::arm_round_of(const std::vector<SessionId>& ids, Step step) {
  if (is_behind()) return;
  auto earliest = LocalInstant::max();
  for (const auto id : ids) {
    if (const HeldLock* lock = find(id)) earliest = std::min(earliest, next_extension(*lock));
  }
  arm_round_at(earliest, step);
}

/// Forgets the round before anything is sent, so that what an answer arms counts as new.
bool HeldLocks::round_begins(LocalInstant now) {
  if (!round_at_ || now < *round_at_) return false;
  round_at_.reset();
  return true;
}

/// Compares the deadline, not the timer: both are due at one time, in any order.
std::vector<SessionId> HeldLocks::over(LocalInstant now) const {
  std::vector<SessionId> ids;
  for (const auto& [id, lock] : locks_) {
    if (!lock.lost && now >= lock.deadline) ids.push_back(id);
  }
  return ids;
}

/// What a round before has left is sent first: it is more urgent than what came due since.
void HeldLocks::run_round(SendingStep step) {
  if (round_.empty()) plan_round(step.now);
  while (!round_.empty() && step.pending.may_send()) {
    const auto batch = next_batch(step.now);
    if (!batch.empty()) send_extension(batch, step);
  }
  arm_round(step);
}

/// Those with short leases first, then the rest, of each the most urgent: in case the next command
/// is late, or finds no slot.
void HeldLocks::plan_round(LocalInstant now) {
  const bool any_due = std::ranges::any_of(locks_, [&](const auto& entry) {
    return wants_extension(entry.second) && entry.second.extend_at <= now;
  });
  // A round armed for a lock that has gone since extends no other early.
  if (!any_due) return;
  for (const auto& [id, lock] : locks_) {
    if (!wants_extension(lock)) continue;
    // Half a cadence early: locks that were taken at different times fall into step, and from then
    // on travel together.
    const Duration early = travels_alone(lock) ? Duration(0) : lock.options.effective_cadence() / 2;
    if (lock.extend_at <= now + early) round_.push_back(id);
  }
  std::ranges::stable_sort(round_, [this](SessionId a, SessionId b) {
    const HeldLock &one = locks_.at(a), &other = locks_.at(b);
    if (travels_alone(one) != travels_alone(other)) return travels_alone(one);
    return one.deadline < other.deadline;
  });
}

/// The next of the round that one command may carry, without those that have gone since. A short
/// lease in a batch of 500 would wait behind the others' writes, and be lost with them.
std::vector<SessionId> HeldLocks::next_batch(LocalInstant now) {
  std::vector<SessionId> batch;
  while (!round_.empty() && batch.size() < largest_batch_) {
    const HeldLock* lock = find(round_.front());
    const bool wanted = lock != nullptr && wants_extension(*lock) && now < lock->deadline;
    const bool alone = wanted && travels_alone(*lock);
    if (wanted) batch.push_back(round_.front());
    round_.pop_front();
    if (alone) break;
  }
  return batch;
}

/// One beat for the whole batch: it tells this execution from every other, and each statement names
/// its own document. The batch waits no longer than its most impatient lock.
void HeldLocks::send_extension(const std::vector<SessionId>& ids, SendingStep step) {
  const std::uint64_t beat = step.pending.next_beat();
  ExtendCommand command;
  command.statements.reserve(ids.size());
  auto timeout = std::chrono::milliseconds::max();
  for (const auto id : ids) {
    const HeldLock& lock = locks_.at(id);
    timeout = std::min(timeout, lock.options.effective_operation_timeout());
    command.statements.push_back(
        {*lock.sessions.begin(), lock.name, lock.owner, lock.acquired_at,
         written_lock_id(lock.owner, lock.options.expiry, beat, holder_, lock.room),
         lock.options.expiry, lock.options.clock_margin, lock.token, lock.room, lock.slot});
  }
  const auto sent =
      step.pending.send({.kind = PendingCommand::Kind::extension, .sessions = ids, .beat = beat},
                        timeout, std::move(command), step);
  for (const auto id : ids) locks_.at(id).command = sent;
}

/// The lock after an answer for it, if it is still held; no command is under way for it then.
HeldLock* HeldLocks::answered(SessionId id) {
  HeldLock* lock = find(id);
  if (lock == nullptr) return nullptr;
  lock->command = 0;
  return lock->lost ? nullptr : lock;
}

/// A batch without an answer may have been too much for the servers: repeated unchanged, it would
/// time out until all its leases are over. Each answer in time lets batches grow again.
void HeldLocks::adapt_batches(std::size_t statements, Outcome outcome) {
  if (outcome == Outcome::unknown && statements > kSmallBatch) {
    largest_batch_ = std::max(statements / 2, kSmallBatch);
  } else if (outcome == Outcome::done && statements == largest_batch_) {
    largest_batch_ = std::min(2 * largest_batch_, kMaxBatch);
  }
}

/// INVARIANT: a lock is extended only by an answer that certainly is about its own statement: all
/// matched, or the document itself was read. A doubt costs a retry, never a wrong yes.
std::vector<HeldLocks::Loss> HeldLocks::extension_answered(const PendingCommand& extension,
                                                           const Reply& reply, SendingStep step) {
  adapt_batches(extension.sessions.size(), reply.outcome);
  std::vector<SessionId> executed;
  for (std::size_t i = 0; i < extension.sessions.size(); ++i) {
    const bool failed = reply.outcome != Outcome::done || std::ranges::count(reply.failed, i) > 0;
    if (failed) {
      retry(extension.sessions[i], step);
    } else {
      executed.push_back(extension.sessions[i]);
    }
  }
  std::vector<Loss> losses;
  const auto matched = static_cast<std::size_t>(std::max<std::int64_t>(reply.matched, 0));
  if (matched == executed.size()) {
    // The lease counts from the sending, because the server may have executed it at once.
    for (const auto id : executed) extended(id, extension, losses, step);
  } else if (matched == 0) {
    // No statement matched, so a read has nothing to tell apart.
    for (const auto id : executed) not_there(id, reply, losses, step);
  } else {
    read_holders(executed, extension, step);
  }
  return losses;
}

/// An extension returns only totals: a read tells which statements matched nothing.
void HeldLocks::read_holders(const std::vector<SessionId>& ids, const PendingCommand& extension,
                             SendingStep step) {
  ReadHoldersCommand command;
  auto timeout = std::chrono::milliseconds::max();
  std::vector<SessionId> asked;
  for (const auto id : ids) {
    const HeldLock* lock = answered(id);
    if (lock == nullptr) continue;
    timeout = std::min(timeout, lock->options.effective_operation_timeout());
    command.names.push_back(lock->name);
    asked.push_back(id);
  }
  // All were released or lost meanwhile: no lock needs the answer.
  if (asked.empty()) return;
  const auto sent = step.pending.send(
      {.kind = PendingCommand::Kind::read_holders, .sessions = asked, .beat = extension.beat},
      timeout, std::move(command), step);
  // The read confirms the extension: the lease counts from when that was sent.
  step.pending.at(sent).sent = extension.sent;
  for (const auto id : asked) locks_.at(id).command = sent;
}

/// Extended only if the document shows the lockId of the extension before this read: the lease
/// counts from when that was sent, and another beat may be of an earlier one.
std::vector<HeldLocks::Loss> HeldLocks::read_holders_answered(const PendingCommand& read,
                                                              const Reply& reply, Step step) {
  std::map<std::string, const LockDocument*> found;
  for (const auto& document : reply.documents) found[document.name] = &document;
  std::vector<Loss> losses;
  for (const auto id : read.sessions) {
    if (reply.outcome != Outcome::done) {
      retry(id, step);
      continue;
    }
    const HeldLock* lock = answered(id);
    if (lock == nullptr) continue;
    const auto document = found.find(lock->name);
    const LockDocument own = document == found.end() ? LockDocument()
                                                     : holding_of(*document->second, lock->owner);
    const auto parts = parse_lock_id(own.lock_id);
    // The owner alone would not do: after a loss unnoticed here it may be another grant's.
    const bool ours = parts && parts->owner == lock->owner && own.acquired_at == lock->acquired_at;
    if (!ours) {
      not_there(id, reply, losses, step);
    } else if (parts->beat == read.beat) {
      extended(id, read, losses, step);
    } else {
      retry(id, step);
    }
  }
  return losses;
}

/// The holder's document is not there, says this reply; one from before the win means nothing.
void HeldLocks::not_there(SessionId id, const Reply& reply, std::vector<Loss>& losses, Step step) {
  const HeldLock* lock = answered(id);
  if (lock == nullptr) return;
  if (reply.is_before(lock->token)) return retry(id, step);
  losses.push_back({id, LostReason::not_owner});
}

/// A lock at or past its deadline is lost, whatever the server says now: held() may have answered
/// no, and that answer is final.
void HeldLocks::extended(SessionId id, const PendingCommand& extension, std::vector<Loss>& losses,
                         Step step) {
  HeldLock* lock = answered(id);
  if (lock == nullptr) return;
  if (step.now >= lock->deadline) return losses.push_back({id, LostReason::deadline});
  // Answers may overtake each other: an older one must not take away what a newer one gave.
  const auto deadline = std::min(
      lease_deadline(extension.sent, lock->options.expiry, lock->options.max_drift), lock->ends_at);
  const auto lock_id = written_lock_id(lock->owner, lock->options.expiry, extension.beat, holder_,
                                       lock->room);
  if (deadline > lock->deadline) {
    lock->deadline = deadline;
    lock->sent = extension.sent;
    lock->lock_id = lock_id;
  }
  lock->extend_at = std::max(lock->extend_at, extension.sent + lock->cadence());
  for (const auto session : lock->sessions) {
    step.out.push_back(Extended{session, lock->name, lock->token, lock_id, extension.id,
                                extension.sent, lock->deadline});
  }
}

/// The outcome of the extension is unknown, or it was not executed. Until the deadline there is
/// nothing to tell the holder: it still has its lease.
void HeldLocks::retry(SessionId id, Step step) {
  HeldLock* lock = answered(id);
  if (lock != nullptr) lock->extend_at = step.now + retry_pause(lock->options);
}

}  // namespace leasehold::core

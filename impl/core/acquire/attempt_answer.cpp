#include "core/acquire/attempt_answer.hpp"

#include "core/document/lock_readers.hpp"

namespace leasehold::core {
namespace {

/// The document that the command left, if the reply shows it. With an unknown outcome it is what
/// this primary had: enough to see another's lock, not enough to call the lock ours (MongoDB
/// manual, "Replica Set Rollbacks").
const LockDocument* shown(const Reply& reply) {
  const bool executed = reply.outcome == Outcome::done || reply.outcome == Outcome::unknown;
  return executed && !reply.documents.empty() ? &reply.documents.front() : nullptr;
}

}  // namespace

/// A duplicate key is a refusal too: another client inserted the name between match and insert
/// (MongoDB manual, "findAndModify", upsert with a unique index). Any beat of this owner is ours:
/// the document may show an earlier attempt that won unanswered.
bool refuses(const Reply& reply, Owner owner) {
  const LockDocument* document = shown(reply);
  return reply.outcome == Outcome::duplicate_key ||
         (document != nullptr && !names_owner(document->lock_id, owner));
}

/// The order of the questions matters: a refusal is certain whatever else the reply says; only then
/// comes what cannot succeed, what was not executed, and last whether this very execution won.
AttemptAnswer read_answer(const AcquireCall& call, std::uint64_t beat, const std::string& holder,
                          const Reply& reply) {
  if (refuses(reply, call.owner)) return AttemptAnswer::refused;
  if (reply.outcome == Outcome::configuration) return AttemptAnswer::cannot_succeed;
  if (reply.outcome == Outcome::not_executed) return AttemptAnswer::not_executed;
  // The beat in the lockId names this execution. A document of an earlier beat is ours too, but its
  // time is not in this reply: the next attempt, sent at once, gets a token of its own.
  const LockDocument* document = shown(reply);
  const bool ours_now = reply.outcome == Outcome::done && document != nullptr && !reply.retried &&
                        document->lock_id == call.lock_id(beat, holder);
  if (ours_now) return AttemptAnswer::won;
  return reply.permanent ? AttemptAnswer::permanent : AttemptAnswer::unanswered;
}

std::string held_by(const LockDocument& document, Room asked) {
  if (!document.corruption.empty()) return "corrupt lock document: " + document.corruption;
  const Room room = room_of(document.lock_id);
  const auto holder = "held by " + holder_for_people(document.lock_id);
  if (room == 0) return holder;
  const auto readers = readers_in(document.lock_id).size();
  if (readers < most_in(room)) {
    if (room != asked) return holder;
    return holder + (room == kReaders ? ", and a call that writes waits" : ", and others wait");
  }
  if (room > 0) return "all " + std::to_string(room) + " permits are taken";
  return "shared by " + std::to_string(readers) + " readers, no more have room";
}

}  // namespace leasehold::core

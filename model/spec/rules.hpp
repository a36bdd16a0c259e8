#pragma once

#include <cstdint>

#include "model/history/room.hpp"

/// The rules of the lock, each once, as pure functions of a document, a command and clocks. The
/// monitors, the refinement and the abstract lock call them; the proof writes its terms by them,
/// with a term for a number or a truth. They share no code with the lock.
///
/// Times and spans are of any unit, the same one in a call.
///
///     // held() is true before
///     rules::deadline(sent_ns, rules::holder_span(lease_ns, drift_ns));
namespace leasehold::model::rules {

/// How much a clock may be off within a lease: ms times millionths are ns.
constexpr std::int64_t drift_ns(std::int64_t lease_ms, std::int64_t max_drift_ppm) {
  return lease_ms * max_drift_ppm;
}

/// How long a holder may count on its lease, by its own clock, which may be slow.
template <typename Span>
constexpr Span holder_span(Span lease, Span drift) {
  return lease - drift;
}

/// How long an observer waits until a holder's lease is certainly over, by its own clock, which may
/// be fast.
template <typename Span>
constexpr Span observer_span(Span lease, Span drift) {
  return lease + drift;
}

/// From when on a holder says that it does not hold. It counts from the sending of the command,
/// because the server may have executed it at once.
template <typename Time, typename Span>
constexpr Time deadline(Time sent, Span span) {
  return sent + span;
}

/// Whether the holder with the lockId that an observer first saw at `seen`, and ever since, is
/// presumed dead.
template <typename Time, typename Span>
constexpr auto is_presumed_dead(Time seen, Span span, Time now) {
  return seen + span <= now;
}

/// Whether a server whose clock shows `now` gives the lock of this document away.
template <typename Time>
constexpr auto is_expired(Time expires_at, Time now) {
  return expires_at <= now;
}

/// Whether an acquire may write over the lock of another owner that did not give it away:
/// `observed`, the document has the lockId whose holder the command presumes dead.
constexpr bool may_take(bool observed, bool expired) { return observed || expired; }

/// Whether a command that names these owners may delete, extend or pass on the lock of `owner`.
template <typename Owner, typename... Named>
constexpr bool is_its_own(const Owner& owner, const Named&... named) {
  return ((owner == named) || ...);
}

/// Whether a holder keeps another out, by whether they read, or else by their rooms and however
/// many there are.
template <typename Truth>
constexpr Truth excludes(Truth reads, Truth other_reads) {
  return !reads || !other_reads;
}
constexpr bool excludes(Room room, Room other) { return room == 0 || room != other; }

/// Whether a call becomes one more of those that share the lock: `passes_another`, the queue has
/// one before its own place that it may not pass, or anywhere if it has none.
constexpr bool may_join(bool passes_another, bool has_room) { return !passes_another && has_room; }

/// Whether a release admits this call of the queue, as far as there is room. The first call
/// decides: one that shares the lock with nobody is granted it alone, another together with all
/// that share it.
constexpr bool admits(bool is_first, Room first, Room room) {
  return is_first || !excludes(first, room);
}

/// Whether a resource accepts a read: `wrote` is the highest token of the writes that it accepted.
template <typename Token>
constexpr auto accepts_read(Token token, Token wrote) {
  return wrote <= token;
}

/// Whether a resource accepts a write: `seen` is the highest token of all that it accepted.
template <typename Token>
constexpr auto accepts_write(Token token, Token seen) {
  return seen <= token;
}

}  // namespace leasehold::model::rules

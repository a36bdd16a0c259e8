#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/document/lock_id.hpp"

/// The queue of a lock, between processes: it is in the `lockId` of the lock's document, behind
/// the holder's own. So the document has no other fields than that of the .NET package, which
/// refuses unknown ones, and software without queues sees one long lockId.
///
///     <lockId of the holder>~<entry>~<entry>...~<tickets>
///     <entry> = <until, 13 digits>.<stands, 9 digits>.<lasts, 9 digits>.<lockId of the waiter>
///     <tickets> = +.<taken>.<admitted>; only if a call found no room
///
/// `until`, in ms since 1970 on the server's clock, is when the entry is void; it was dated
/// `stands` ms before that. `lasts` is for how long the document of a grant by it is in force: the
/// lease and the clock margin, in ms. Servers compare `until` as text.
namespace leasehold::core {

inline constexpr char kQueueMark = '~';
/// Before the tickets. It is less than a digit, so that they count as an entry that is over.
inline constexpr std::string_view kTicketsMark = "+.";
/// No entry is good for longer. One that a member dated by a clock years ahead is dropped, and so
/// is text that only looks like an entry.
inline constexpr std::chrono::milliseconds kLongestEntry = std::chrono::hours(48);
/// Digits of `until` and of both spans, and where the parts of an entry begin.
inline constexpr int kUntilDigits = 13, kSpanDigits = 9;
inline constexpr int kStandsAt = kUntilDigits + 1, kLastsAt = kStandsAt + kSpanDigits + 1;
inline constexpr int kEntryLockIdAt = kLastsAt + kSpanDigits + 1;

/// Both parts of a lockId, without the mark between them.
struct LockIdAndQueue {
  std::string_view lock_id;
  std::string_view queue;  ///< empty: no call waits
};
[[nodiscard]] LockIdAndQueue split_queue(std::string_view lock_id_of_document);

/// What an entry has behind `until`.
[[nodiscard]] std::string entry_without_until(std::chrono::milliseconds stands,
                                              std::chrono::milliseconds lasts,
                                              std::string_view lock_id);

/// The calls that found no room: each took the next number, its ticket. `admitted` is how many
/// calls have joined since the first of them, of any ticket or none, and at most `taken`.
struct Tickets {
  std::int64_t taken = 0, admitted = 0;
};
/// Zeros: no call found the queue full, or a client that knows of no tickets dropped them.
[[nodiscard]] Tickets tickets_in(std::string_view queue);

/// From the dating of the first entry to that of the last, by servers' clocks.
[[nodiscard]] std::chrono::milliseconds dated_within(std::string_view queue);

/// The owners of the entries, in their order. What is no entry is left out.
[[nodiscard]] std::vector<Owner> owners_in(std::string_view queue);

/// What the first of the calls in it wants that share the lock; 0: none does.
[[nodiscard]] Room room_wanted_in(std::string_view queue);

/// How many of them are before this one; none: it is not there.
[[nodiscard]] std::optional<std::size_t> place_among(const std::vector<Owner>& owners, Owner owner);

/// A holder's name may contain anything: what would begin an entry is replaced.
[[nodiscard]] std::string without_queue_marks(std::string holder);

}  // namespace leasehold::core

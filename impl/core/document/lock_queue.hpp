#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/document/lock_id.hpp"

/// The queue of a lock, between processes: it stands in the `lockId` of the lock's document, behind
/// the holder's own. So the document has no other fields than that of the .NET package, which
/// refuses unknown ones, and software that knows nothing of queues sees one long name.
///
///     <lockId of the holder>~<entry>~<entry>...
///     <entry> = <until, 13 digits>.<stands, 9 digits>.<lasts, 9 digits>.<lockId of the waiter>
///
/// `until`, in ms since 1970 on the server's clock, is when the entry is void; it was dated
/// `stands` ms before that. `lasts` is for how long the document of a grant by it is in force: the
/// lease and the clock margin, in ms. Only servers read them; `until` they compare as text.
namespace leasehold::core {

inline constexpr char kQueueMark = '~';
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

/// What stands in an entry behind `until`.
[[nodiscard]] std::string entry_without_until(std::chrono::milliseconds stands,
                                              std::chrono::milliseconds lasts,
                                              std::string_view lock_id);

/// The owners of the entries, in their order. What is no entry is left out.
[[nodiscard]] std::vector<Owner> owners_in(std::string_view queue);

/// How many of them stand before this one; none: it is not there.
[[nodiscard]] std::optional<std::size_t> place_among(const std::vector<Owner>& owners, Owner owner);

/// A holder's name may contain anything: what would begin an entry is replaced.
[[nodiscard]] std::string without_queue_marks(std::string holder);

}  // namespace leasehold::core

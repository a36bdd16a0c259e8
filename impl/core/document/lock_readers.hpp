#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/document/lock_id.hpp"
#include "core/protocol.hpp"

/// The readers that share a lock, or the permits of it. They stand in the document's `lockId`, in
/// the place of a holder:
///
///     readers = <32 zeros>.<mark, longest lease>.0.shared|<entry>|<entry>...[~<queue>]
///     entry   = <until, 13 digits>.<since, 13 digits>[<slot, 4 digits>].<lockId of the reader>
///
/// `until` and `since` are ms since 1970 by the server's clock: when the entry is void, and when
/// its reader was admitted, which names the grant as `acquiredAt` does for a holder. The document's
/// `expiresAt` is the latest `until`. A client that knows no readers sees one holder with the
/// longest lease of them all, whose text changes whenever one of them writes. So the two ways in
/// which it may take a lock, by the date and by an unchanged text, are right for readers, too.
///
/// A permit is such an entry, of a lock that has room for so many. Its slot is the lowest number
/// that no other entry has.
///
/// A single reader that a hand-over, or a client that knows no readers, gave the lock to stands
/// there by its own lockId.
namespace leasehold::core {

inline constexpr char kReaderMark = '|';
/// What the lockId of readers begins with: the owner that nobody is.
inline constexpr std::string_view kReadersOwner = "00000000000000000000000000000000.";
/// A name in an entry is cut to so much.
inline constexpr std::size_t kReadersHolderBytes = 64;
/// Where the parts of an entry begin, its lockId without a slot.
inline constexpr int kSinceAt = 14, kReaderLockIdAt = 28, kSlotDigits = 4;

/// One of the readers.
struct Reader {
  ServerInstant until, since;
  int slot = 0;
  std::string_view lock_id;  ///< its own
};

/// How many may share a lock at most.
[[nodiscard]] std::size_t most_in(Room room);
/// As an entry has it, with the slot of a permit.
[[nodiscard]] std::string since_text(ServerInstant since, Room room, int slot);

/// Whether this lockId, with or without its queue, is that of readers.
[[nodiscard]] bool is_of_readers(std::string_view lock_id);
/// The readers in it, in their order, as views of it. What is no entry is left out.
[[nodiscard]] std::vector<Reader> readers_in(std::string_view lock_id);
/// The document as far as it concerns this owner: if that is one of the readers, with its own
/// lockId, `since` and slot in the place of theirs.
[[nodiscard]] LockDocument holding_of(LockDocument document, Owner owner);

/// Who has the lock, for people: the holder's name; "2 readers (ann, ben)"; "1 of 3 permits (ann)";
/// or the whole value but the queue if that is of another form or names no holder.
[[nodiscard]] std::string holder_for_people(std::string_view lock_id);

/// A name for an entry: cut, and without what would end an entry.
[[nodiscard]] std::string readers_holder(std::string holder);

/// The lockId that a command of this owner writes, for itself or for its entry. Other processes
/// need the lease to observe the holder; `holder` is for people.
[[nodiscard]] std::string written_lock_id(Owner owner, std::chrono::milliseconds expiry,
                                          std::uint64_t beat, const std::string& holder,
                                          Room room);

}  // namespace leasehold::core

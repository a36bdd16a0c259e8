#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace leasehold::core {

/// The holder of a lock: one acquire call of one process. Fresh entropy for each.
struct Owner {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  auto operator<=>(const Owner&) const = default;
};

/// 32 lower-case hex digits: the one spelling that an owner has, since servers compare text.
[[nodiscard]] std::string to_hex(Owner owner);
/// Whether a lockId begins with this owner, whatever its beat.
[[nodiscard]] bool names_owner(std::string_view lock_id, Owner owner);
/// The owner that has these 32 digits; nothing for any other text.
[[nodiscard]] std::optional<Owner> owner_from_hex(std::string_view digits);

/// With whom a lock is held at the same time: 0, with nobody; kReaders, with all that read; else
/// with those that want one of so many permits, each of which is one holder's. A bool is refused,
/// because "shared" would be one permit.
class Room {
 public:
  constexpr Room(int room = 0) : room_(room) {}
  Room(bool) = delete;
  constexpr operator int() const { return room_; }

 private:
  int room_;
};
inline constexpr Room kReaders = -1;

/// The value of a document's `lockId`, in its parts:
///
///     <owner>.<lease ms>.<beat>[.<holder>][~<queue>]
///
/// The beat makes each value name one execution of one command; the holder is for people only.
/// Other processes need the lease to observe the holder: it says for how long this value may stand
/// while the holder lives. The queue is `lock_queue.hpp`'s: the calls that wait for the lock.
///
/// The lease of one that shares the lock begins with a mark that no lease alone begins with,
/// because none is that long. A reader's is 0, before the eight digits of the lease: a release
/// without readers reads it as the same number. A permit's is 9 and seven digits for how many there
/// are: such a release takes it for other software's. Several are `lock_readers.hpp`'s.
///
/// INVARIANT: a provider writes no value twice. A process that has seen one unchanged for its whole
/// lease knows by that alone that its holder has not extended.
struct LockId {
  Owner owner;
  std::int64_t lease_ms = 0;
  std::uint64_t beat = 0;
  std::string_view holder = {};  ///< may have dots, but no `~`; empty: it does not say
  std::string_view queue = {};   ///< written by servers alone
  Room room = 0;
  bool operator==(const LockId&) const = default;
};

/// What stands before the lease of such calls; empty: nothing does.
[[nodiscard]] std::string mark_of(Room room);
/// All but the queue.
[[nodiscard]] std::string format_lock_id(const LockId& id);

/// The parts, which are views of `lock_id`, or nothing for any other form (the .NET package's is 32
/// hex digits alone) and for a lease outside 100 ms .. 24 h, which no provider writes.
[[nodiscard]] std::optional<LockId> parse_lock_id(std::string_view lock_id);
[[nodiscard]] std::optional<LockId> parse_lock_id(std::string&&) = delete;
/// With whom its holder shares the lock; 0 for any other form.
[[nodiscard]] Room room_of(std::string_view lock_id);

}  // namespace leasehold::core

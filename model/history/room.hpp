#pragma once

#include <algorithm>
#include <charconv>
#include <string_view>

namespace leasehold::model::rules {

/// With whom a lock is held at the same time: 0, with nobody; kReaders, with all that read; else
/// with those that have one of so many permits.
using Room = int;
inline constexpr Room kReaders = -1;

/// Whether a call that joins may pass one that waits: a reader passes readers, a call for a permit
/// nobody.
constexpr bool may_pass(Room room, Room waiting) { return room == kReaders && waiting == room; }

/// That of the holder with this lockId. The lease of a reader has a zero in front, and eight
/// digits; that of a permit, eight more before: 9 and the number of permits.
[[nodiscard]] inline Room room_of(std::string_view lock_id) {
  const auto lease = lock_id.substr(std::min(lock_id.find('.'), lock_id.size() - 1) + 1);
  if (lease.starts_with('0')) return kReaders;
  Room permits = 0;
  if (lease.find('.') == 16 && lease.starts_with('9')) {
    std::from_chars(lease.data() + 1, lease.data() + 8, permits);
  }
  return permits;
}

}  // namespace leasehold::model::rules

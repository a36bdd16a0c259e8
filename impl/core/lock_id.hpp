#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace leasehold::core {

/// Who holds a lock: one acquire call of one process. Fresh entropy for each.
struct Owner {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  auto operator<=>(const Owner&) const = default;
};

/// 32 lower-case hex digits: the one spelling that an owner has, since servers compare text.
[[nodiscard]] std::string to_hex(Owner owner);
/// Whether a lockId begins with this owner, whatever its beat.
[[nodiscard]] bool names_owner(std::string_view lock_id, Owner owner);
/// The way back; nothing for any other text.
[[nodiscard]] std::optional<Owner> owner_from_hex(std::string_view digits);

/// The parts of a lockId of ours: `<owner>.<lease ms>.<beat>[.<holder>]`. The beat makes each
/// value name one execution of one command; the holder is for people only. The lease is for those
/// who observe the holder: they have to know for how long this value may stand while it lives.
///
/// INVARIANT: a provider writes no value twice. Whoever has seen one unchanged for its whole lease
/// knows by that alone that its holder has not extended.
struct LockIdParts {
  Owner owner;
  std::int64_t lease_ms = 0;
  std::uint64_t beat = 0;
  bool operator==(const LockIdParts&) const = default;
};

[[nodiscard]] std::string format_lock_id(const LockIdParts& parts, std::string_view holder);

/// The parts, or nothing for any other form (the .NET package's is 32 hex digits alone) and for a
/// lease outside 100 ms .. 24 h, which no provider writes. A queue behind it does not matter.
[[nodiscard]] std::optional<LockIdParts> parse_lock_id(std::string_view lock_id);

/// Who holds it, for people; empty if it does not say. REQUIRES: it has parts.
[[nodiscard]] std::string_view holder_in(std::string_view lock_id);

}  // namespace leasehold::core

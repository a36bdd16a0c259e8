#include "core/document/lock_id.hpp"

#include <charconv>
#include <limits>

#include "core/document/lock_queue.hpp"
#include "core/limits.hpp"

namespace leasehold::core {
namespace {

constexpr std::size_t kOwnerDigits = 32, kSharedLease = 8, kPermitsMark = 8;
constexpr int kMarkOfPermits = 90'000'000;  // longer than any lease

/// The whole text, or nothing: a number with something behind it was not written by us.
template <typename T>
bool parse_number(std::string_view text, T& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return !text.empty() && error == std::errc() && end == text.data() + text.size();
}

/// Servers compare owners as strings, so one owner must have one spelling: lower-case digits alone.
bool parse_hex(std::string_view digits, std::uint64_t& out) {
  for (const char c : digits) {
    const int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
    if (digit < 0) return false;
    out = out << 4 | static_cast<std::uint64_t>(digit);
  }
  return true;
}

/// Cuts the part before the next dot off `rest`.
std::string_view next_part(std::string_view& rest) {
  const auto dot = rest.find('.');
  const auto part = rest.substr(0, dot);
  rest = dot == std::string_view::npos ? std::string_view() : rest.substr(dot + 1);
  return part;
}

/// On the stack.
struct OwnerDigits {
  explicit OwnerDigits(Owner owner) {
    for (std::size_t i = 0; i < kOwnerDigits / 2; ++i) {
      const auto shift = 4 * (kOwnerDigits / 2 - 1 - i);
      text[i] = "0123456789abcdef"[owner.high >> shift & 15];
      text[kOwnerDigits / 2 + i] = "0123456789abcdef"[owner.low >> shift & 15];
    }
  }
  char text[kOwnerDigits];
};

/// Without an allocation and without a locale: no thousands are grouped in what servers compare.
template <typename T>
void append_number(std::string& to, T number) {
  char digits[std::numeric_limits<T>::digits10 + 2];
  to.append(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
}

}  // namespace

std::string to_hex(Owner owner) { return {OwnerDigits(owner).text, kOwnerDigits}; }

bool names_owner(std::string_view lock_id, Owner owner) {
  const OwnerDigits digits(owner);
  return lock_id.starts_with(std::string_view(digits.text, kOwnerDigits)) &&
         lock_id.substr(kOwnerDigits).starts_with('.');
}

/// The halves are read by themselves, because no integer has 128 bits.
std::optional<Owner> owner_from_hex(std::string_view digits) {
  Owner owner;
  if (digits.size() != kOwnerDigits) return std::nullopt;
  if (!parse_hex(digits.substr(0, 16), owner.high)) return std::nullopt;
  if (!parse_hex(digits.substr(16), owner.low)) return std::nullopt;
  return owner;
}

std::string mark_of(Room room) {
  if (room == 0) return {};
  return room == kReaders ? "0" : std::to_string(kMarkOfPermits + room);
}

/// One allocation: every extension of every lock has a fresh one.
std::string format_lock_id(const LockId& parts) {
  constexpr std::size_t kNumbers = 3 * (1 + std::numeric_limits<std::uint64_t>::digits10 + 2);
  std::string id;
  id.reserve(kOwnerDigits + kNumbers + 1 + parts.holder.size());
  id.append(OwnerDigits(parts.owner).text, kOwnerDigits);
  (id += '.') += mark_of(parts.room);
  const auto lease_at = id.size();
  append_number(id, parts.lease_ms);
  const auto digits = id.size() - lease_at;
  if (parts.room != 0 && digits < kSharedLease) id.insert(lease_at, kSharedLease - digits, '0');
  append_number(id += '.', parts.beat);
  if (!parts.holder.empty()) (id += '.') += parts.holder;
  return id;
}

std::optional<LockId> parse_lock_id(std::string_view lock_id) {
  auto [rest, queue] = split_queue(lock_id);
  const auto owner = next_part(rest);
  auto lease = next_part(rest);
  const auto beat = next_part(rest);
  LockId parts{.holder = rest, .queue = queue, .room = lease.starts_with('0') ? kReaders : Room()};
  if (lease.size() == kPermitsMark + kSharedLease && lease.starts_with('9')) {
    int permits = 0;
    if (!parse_number(lease.substr(1, kPermitsMark - 1), permits)) return std::nullopt;
    parts.room = permits;
    lease.remove_prefix(kPermitsMark);
  }
  const auto found = owner_from_hex(owner);
  if (!found) return std::nullopt;
  parts.owner = *found;
  if (!parse_number(lease, parts.lease_ms) || !parse_number(beat, parts.beat)) return std::nullopt;
  // A lease of no time at all would have its holder presumed dead at first sight.
  if (parts.lease_ms < kMinExpiry.count() || parts.lease_ms > kMaxExpiry.count()) {
    return std::nullopt;
  }
  return parts;
}

Room room_of(std::string_view lock_id) {
  const auto parts = parse_lock_id(lock_id);
  return parts ? parts->room : Room();
}

}  // namespace leasehold::core

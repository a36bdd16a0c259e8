#pragma once

#include <compare>
#include <cstdint>
#include <iosfwd>
#include <string>

namespace leasehold::inline v0_1 {

/// The number that orders holders of one lock: a later holder has the greater token.
///
/// It is the oplog timestamp of the write that granted the lock, packed as
/// `(seconds - 1577836800) << 32 | increment`, so it rises across release, TTL deletion, takeover
/// and failover within the life of one replica set. Give it to every resource that the lock
/// protects, and let the resource refuse a token lower than the greatest it has seen.
///
/// Shape: a positive int64; 0 means "none". It exceeds 2^53: in JSON write `to_string()`.
/// Thread safety: a value.
///
///     resource.update({_id: "r", fence: {$lte: token.value()}}, {$set: {fence: token.value()}});
class FencingToken {
 public:
  /// Seconds from 1970 to 2020, so that the packed value fits an int64 until 2088.
  static constexpr std::int64_t kEpochSeconds = 1'577'836'800;

  constexpr FencingToken() = default;
  constexpr explicit FencingToken(std::int64_t value) : value_(value) {}

  /// From a BSON timestamp; "none" for one before 2020.
  static constexpr FencingToken from_timestamp(std::uint32_t seconds, std::uint32_t increment) {
    const std::int64_t since = static_cast<std::int64_t>(seconds) - kEpochSeconds;
    return since < 0 ? FencingToken() : FencingToken(since * 4'294'967'296 + increment);
  }

  [[nodiscard]] constexpr std::int64_t value() const { return value_; }
  [[nodiscard]] std::string to_string() const { return std::to_string(value_); }
  constexpr explicit operator bool() const { return value_ != 0; }
  constexpr auto operator<=>(const FencingToken&) const = default;

 private:
  std::int64_t value_ = 0;
};

/// As `to_string()`.
std::ostream& operator<<(std::ostream& out, FencingToken token);

}  // namespace leasehold

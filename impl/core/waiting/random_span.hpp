#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace leasehold::core {

/// No strategy pauses for longer, whatever it is asked for: what is added to an instant, or
/// doubled, must not overflow.
inline constexpr std::chrono::milliseconds kLongestPause{std::chrono::hours(24)};

inline std::chrono::milliseconds bounded_pause(std::chrono::milliseconds pause) {
  return std::clamp(pause, std::chrono::milliseconds(0), kLongestPause);
}

/// A time in [low, high], each ns equally likely; `low` if the span is empty. By a remainder and
/// not by a library's distribution, because a seed stands for one run everywhere and libraries
/// differ. What the remainder prefers is one part in 10^5 for a span of 24 h, and less below.
inline std::chrono::nanoseconds random_span(std::chrono::nanoseconds low,
                                            std::chrono::nanoseconds high, std::uint64_t random) {
  const auto choices =
      static_cast<std::uint64_t>(std::max<std::int64_t>((high - low).count(), 0)) + 1;
  return low + std::chrono::nanoseconds(static_cast<std::int64_t>(random % choices));
}

}  // namespace leasehold::core

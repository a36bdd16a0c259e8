#pragma once

#include <chrono>
#include <cstddef>

namespace leasehold::core {

/// Every bound of the lock that is not an option.
inline constexpr std::chrono::milliseconds kMinExpiry{100};
inline constexpr std::chrono::milliseconds kMaxExpiry{std::chrono::hours(24)};
inline constexpr std::size_t kMaxNameBytes = 1024;

/// Statements of one `update` command: more raise the latency of everyone else on the server and
/// lose more on a time-out, and the total is no faster.
inline constexpr std::size_t kMaxBatch = 500;

/// A lease shorter than this travels alone, so that it never waits behind others.
inline constexpr std::chrono::milliseconds kAloneBelow{2'000};

/// Names whose last sight is kept for observing dead holders.
inline constexpr std::size_t kMaxSights = 10'000;

/// Names whose pace is kept for strategies that learn.
inline constexpr std::size_t kMaxRhythms = 10'000;

inline constexpr int kMaxHandOvers = 1'000;

/// For how long a provider takes it that a rival which held a lock wants it again.
inline constexpr std::chrono::seconds kRivalMemory{10};

}  // namespace leasehold::core

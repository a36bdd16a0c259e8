#pragma once

#include <chrono>
#include <cstddef>

namespace leasehold::core {

/// Bounds of the lock that are no options; others are in the one source that needs them.
inline constexpr std::chrono::milliseconds kMinExpiry{100};
inline constexpr std::chrono::milliseconds kMaxExpiry{std::chrono::hours(24)};
/// The largest `max_drift` of any holder.
inline constexpr double kMaxDrift = 0.1;
inline constexpr std::size_t kMaxNameBytes = 1024;
inline constexpr std::size_t kMaxHolderBytes = 256;

/// Statements of one `update` command: more raise the latency of all other clients of the server
/// and lose more on a time-out, and the total is no faster.
inline constexpr std::size_t kMaxBatch = 500;

/// So few statements are never too many for an operation timeout.
inline constexpr std::size_t kSmallBatch = 10;

/// A lease shorter than this travels alone, so that it never waits behind others.
inline constexpr std::chrono::milliseconds kAloneBelow{2'000};

/// For how many names the last sight of a holder is kept.
inline constexpr std::size_t kMaxSights = 10'000;

/// For how many names a pace is kept, for strategies that learn.
inline constexpr std::size_t kMaxPaces = 10'000;

/// How many calls may be in the queue of a lock. One that finds it full asks again later.
inline constexpr std::size_t kMostInQueue = 64;

/// How many readers may share a lock; calls of one process count as one. An oplog entry is as large
/// as the document, and 128 readers are 13 kB.
inline constexpr std::size_t kMostReaders = 128;

/// For so long after the sending of the attempt that made a reader's entry, readers of the same
/// process come to share it: no longer, because a writer elsewhere waits for all of them.
inline constexpr std::chrono::milliseconds kSharedFor{100};

/// Hand-overs in a row: each keeps the lock from other processes for one more holding.
inline constexpr int kMaxHandOvers = 1'000;

/// For how long a provider assumes that a rival which held a lock wants it again.
inline constexpr std::chrono::seconds kRivalMemory{10};

/// How long a step of the change stream may take. It waits for events at the server for half of
/// this, so a dead stream is noticed within this time, and one of a primary that was cut off within
/// that half. A shorter wait costs each waiting client more reads that bring nothing.
inline constexpr std::chrono::milliseconds kStreamTimeout{3'000};

/// For how long a change stream stays open when no call waits any more.
inline constexpr std::chrono::seconds kStreamIdle{10};

/// How often a change stream is read while no call is queued.
inline constexpr std::chrono::milliseconds kStreamLull{1'000};

/// The pause before a stream that broke is opened again; doubled with each failure up to the
/// second.
inline constexpr std::chrono::milliseconds kStreamRetry{50}, kStreamLongestRetry{5'000};

}  // namespace leasehold::core

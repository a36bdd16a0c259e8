#pragma once

#include <chrono>
#include <compare>
#include <cstdint>
#include <leasehold/waiting.hpp>
#include <optional>

namespace leasehold {

/// A number of releases of a lock, with fractions: what is usual is an average.
struct Releases {
  static constexpr std::int64_t kOne = 10'000'000;
  std::int64_t parts = 0;  ///< kOne of them are a whole release

  auto operator<=>(const Releases&) const = default;
};

/// What a waiting acquire has heard of a change stream that reports releases.
struct ReleasesHeard {
  int releases = 0;    ///< of this lock, since this call was refused first
  bool woken = false;  ///< the last attempt was made because of that stream
  /// How long this call has contended for the lock at the server.
  std::chrono::nanoseconds waited{0};
  /// After how many releases a call usually gets this lock, as `next_release_pace` said last.
  std::optional<Releases> pace;
};

/// The part of a waiting strategy that acts on a change stream (see `WaitingStrategy::listener`).
///
/// Failure: a stream may report late, not at all, or releases that somebody else has used already.
/// What a listener says only brings attempts forward, never beyond its longest pause.
/// As pure as the strategy that it belongs to. Thread safety: all calls from any thread; they must
/// not block.
class StreamListener {
 public:
  virtual ~StreamListener() = default;

  /// Instead of the strategy's own, while the stream is open.
  [[nodiscard]] virtual std::chrono::nanoseconds pause(std::uint64_t random) const = 0;

  /// How long to leave a lock to others when the stream has reported its release. An attempt is
  /// made after that, unless further news put it off.
  [[nodiscard]] virtual std::chrono::nanoseconds turn(const ReleasesHeard& heard,
                                                      std::uint64_t random) const = 0;

  /// The pace that a provider keeps for a lock, after an attempt that won or was refused; none:
  /// what it has kept so far.
  [[nodiscard]] virtual std::optional<Releases> next_release_pace(const ReleasesHeard& heard,
                                                                  bool won) const = 0;
};

}  // namespace leasehold

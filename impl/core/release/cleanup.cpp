#include "core/release/cleanup.hpp"

#include <algorithm>

#include "core/check.hpp"

namespace leasehold::core {
namespace {

/// Doubling goes no further: a server that is back is asked again within this.
constexpr std::chrono::seconds kLongestCleanupPause{5};

}  // namespace

Cleanup cleanup_of(const std::string& name, Owner owner, const LockOptions& options,
                   LocalInstant now) {
  Cleanup cleanup;
  cleanup.name = name;
  cleanup.owner = owner;
  cleanup.timeout = options.effective_operation_timeout();
  cleanup.give_up_at = two_leases_from(now, options.expiry);
  return cleanup;
}

/// The first is a quarter of the timeout, so that a caller that waits for its release may still
/// hear of the second try.
Duration pause_after_failure(const Cleanup& cleanup, LocalInstant now) {
  const auto first = std::clamp<Duration>(cleanup.timeout / 4, std::chrono::milliseconds(10),
                                          std::chrono::seconds(1));
  const auto pause = std::min<Duration>(first * (1 << cleanup.failures), kLongestCleanupPause);
  return std::min(pause, cleanup.give_up_at - now);
}

/// INVARIANT: a clean-up pauses or has a command under way, never both and never neither.
void pause(CleanupId id, Cleanup& cleanup, Duration pause, Step step) {
  LEASEHOLD_CHECK(cleanup.command == 0);
  cleanup.next_at = step.now + pause;
  set_timer(Timer::Kind::cleanup, id, cleanup.next_at, step);
}

/// The releaser is not kept waiting for longer than one operation: then the result is unknown, and
/// the clean-up goes on without it.
void report_in_time(CleanupId id, const Cleanup& cleanup, Step step) {
  if (cleanup.reporting) set_timer(Timer::Kind::report, id, step.now + cleanup.timeout, step);
}

/// Does nothing if the caller already got "unknown": then no session waits any more.
void report(CleanupId id, Cleanup& cleanup, ReleaseResult result, Step step) {
  if (!cleanup.reporting) return;
  clear_timer(Timer::Kind::report, id, step);
  step.out.push_back(Released{*cleanup.reporting, cleanup.name, cleanup.known_at, result});
  cleanup.reporting.reset();
}

}  // namespace leasehold::core

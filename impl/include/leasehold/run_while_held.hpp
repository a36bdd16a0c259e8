#pragma once

#include <chrono>
#include <functional>
#include <leasehold/fencing_token.hpp>
#include <leasehold/lock_provider.hpp>
#include <optional>
#include <stop_token>

namespace leasehold::inline v0_1 {

/// What became of a function that ran while a lock was held.
struct HeldRun {
  FencingToken token;
  bool held_to_the_end = false;  ///< the lock was still held when the function had returned
  ReleaseResult release = ReleaseResult::unknown;
};

/// How long to wait for the lock, and which stop token ends it.
struct RunOptions {
  /// Empty: for ever. Zero: one attempt.
  std::optional<std::chrono::milliseconds> timeout;
  /// Ends the waiting, and asks the function to end.
  std::stop_token stop = {};
};

/// Acquires the lock, calls `work` on this thread, releases. The stop token that `work` gets fires
/// when the lock is lost, by its deadline, and when `options.stop` does; `work` should then return
/// soon, because others may have the lock. It gives the fencing token to the resource.
/// An Error: the lock was not acquired, and `work` was not called. What `work` throws goes to the
/// caller, after the release.
///
///     auto run = leasehold::run_while_held(lock, [](std::stop_token stop, auto token) {
///       while (!stop.stop_requested() && more_to_do()) do_a_piece(token);
///     });
///     if (run && !run->held_to_the_end) undo_or_report();
Result<HeldRun> run_while_held(const Lock& lock,
                               const std::function<void(std::stop_token, FencingToken)>& work,
                               const RunOptions& options = {});

}  // namespace leasehold

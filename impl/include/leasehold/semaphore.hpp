#pragma once

#include <chrono>
#include <functional>
#include <leasehold/lock_handle.hpp>
#include <leasehold/lock_provider.hpp>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

namespace leasehold::inline v0_1 {

/// One of the places of a semaphore, held as a lock is: see LockHandle.
struct Permit {
  int slot = 0;  ///< 0 to N-1: no other holder has the same one, as long as the handle is held
  LockHandle handle;
};

/// Up to N holders at once, of all processes that use the same name: each of the N slots is a lock
/// of its own, `NAME#0` to `NAME#N-1`, on the same documents. So ls, show, trace, inspect and
/// `release --force` work on a slot as on any lock, and all that is promised of a lock is promised
/// of a slot.
///
/// Guaranteed, as far as the lock is (impl/GUARANTEES.md): never more than N permits are held at
/// once by `held()`; if processes disagree on N, never more than the largest of them. Fencing
/// tokens rise per slot, not across slots: compare tokens of one `slot` only. A dead holder's slot
/// is taken over by a call that waits at it within about one lease and a pause, and by any call
/// within lease, `clock_margin` and three seconds; ten more on a set that takes no other writes,
/// because a read is dated by the last one.
/// Fairness: a call that finds all slots taken waits at the one with the shortest queue at that
/// time, by the strategy of `LockOptions::waiting`: with `queue_waiting` first come, first served
/// among the calls that wait at that slot. About once a second it looks at all slots, by one read,
/// and takes one that is free; it keeps its place until it has a permit. If a long job has its slot
/// while others change hands, it waits at one of those, too.
/// Not guaranteed: an order among calls that wait at different slots. A later call may be served
/// sooner, and a slot without waiting calls may stay free for about a second.
/// Cost: one command where the slot that is tried first is free, three where another is; a call
/// that waits costs what one that waits for a lock does, or two, and a read a second.
/// Thread safety: all calls from any thread.
///
///     auto slots = *leasehold::Semaphore::create(*provider, "exports", 3);
///     if (auto permit = slots.try_acquire(5s)) export_to(directory_of(permit->slot));
class Semaphore {
 public:
  static constexpr int kMostPermits = 1'000;

  /// Checks name, options, and 1 <= permits <= kMostPermits. Of the production lock only.
  [[nodiscard]] static Result<Semaphore> create(const LockProvider& provider,
                                                const std::string& name, int permits,
                                                LockOptions options = {});

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] int permits() const { return static_cast<int>(slots_.size()); }
  /// The name of a slot's lock. REQUIRES: 0 <= slot < permits().
  [[nodiscard]] const std::string& lock_name(int slot) const;

  /// As `Lock::try_acquire`; zero means no waiting: two attempts at most.
  Result<Permit> try_acquire(std::chrono::milliseconds timeout = {},
                             std::stop_token stop = {}) const;
  /// As `Lock::acquire`.
  Result<Permit> acquire(std::stop_token stop = {}) const;
  /// As `Lock::acquire_async`.
  void acquire_async(std::chrono::milliseconds timeout, std::function<void(Result<Permit>)> done,
                     std::stop_token stop = {}) const;

 private:
  friend struct detail::Access;
  Semaphore(std::string name, std::vector<Lock> all)  // Qt has a macro named slots
      : name_(std::move(name)), slots_(std::move(all)) {}

  std::string name_;
  std::vector<Lock> slots_;
};

}  // namespace leasehold

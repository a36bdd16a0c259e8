#pragma once

#include <algorithm>
#include <chrono>
#include <leasehold/lock_provider.hpp>
#include <memory>
#include <ratio>

namespace leasehold::inline v0_1 {

/// A lock with the interface of std::shared_timed_mutex (C++'s SharedTimedLockable), for
/// std::unique_lock, std::shared_lock, std::scoped_lock and std::lock.
///
/// This interface hides what a mutex cannot express. The lock may be lost between `lock` and
/// `unlock`, and then another process may have it: ask `handle().held()` before each step, observe
/// `handle().lost()`, and give `handle().fencing_token()` to the resource. The result of the
/// release is not reported. Each call is a round trip or more. Several locks are better acquired by
/// `acquire_all`, which tries no lock again and again, as std::lock may.
/// Threads that share one object exclude each other until `unlock`, after a loss too; one of them
/// at a time asks the server, so no release hands the lock over to the next. Threads that read are
/// each a call of `shared().acquire()`. Not recursive. Any thread may `unlock`; `unlock_shared` is
/// for the thread that reads.
/// Failure: `lock` throws LockError where waiting cannot help: a configuration that no lock is
/// possible with, a provider that was destroyed. The `try_` functions throw the same; else they
/// return false, also if no server answers.
/// Thread safety: as of a std::shared_timed_mutex; `handle` for the thread that has locked.
/// Destruction: releases, as a LockHandle; no thread may be in a call.
///
///     leasehold::Lockable report(*provider->create_lock("report"));
///     std::unique_lock locked(report, 5s);
///     if (locked) write_report(report.handle().fencing_token());
class Lockable {
 public:
  explicit Lockable(Lock lock);
  ~Lockable();
  Lockable(const Lockable&) = delete;
  Lockable& operator=(const Lockable&) = delete;

  /// Waits without a limit.
  void lock();
  /// One attempt, which is answered within `operation_timeout`.
  bool try_lock() { return try_lock_within({}); }
  /// A time that is not positive is one attempt; a part of a ms counts as one.
  template <typename Rep, typename Period>
  bool try_lock_for(const std::chrono::duration<Rep, Period>& time) {
    return try_lock_within(in_ms(time));
  }
  /// The same until then; a clock that is set meanwhile changes nothing.
  template <typename Clock, typename Duration>
  bool try_lock_until(const std::chrono::time_point<Clock, Duration>& time) {
    const auto now = Clock::now();
    return time <= now ? try_lock() : try_lock_for(time - now);
  }

  /// Releases, and waits for the answer, at most `operation_timeout`. REQUIRES: it is locked.
  void unlock();

  /// The same to read, with others that read.
  void lock_shared();
  bool try_lock_shared() { return try_lock_shared_within({}); }
  template <typename Rep, typename Period>
  bool try_lock_shared_for(const std::chrono::duration<Rep, Period>& time) {
    return try_lock_shared_within(in_ms(time));
  }
  template <typename Clock, typename Duration>
  bool try_lock_shared_until(const std::chrono::time_point<Clock, Duration>& time) {
    const auto now = Clock::now();
    return time <= now ? try_lock_shared() : try_lock_shared_for(time - now);
  }
  /// REQUIRES: this thread reads
  void unlock_shared();

  /// What this thread reads by, or else what is locked; empty if neither is.
  [[nodiscard]] const LockHandle& handle() const;

 private:
  template <typename Rep, typename Period>
  static std::chrono::milliseconds in_ms(const std::chrono::duration<Rep, Period>& time) {
    using Ms = std::chrono::duration<double, std::milli>;
    return std::chrono::ceil<std::chrono::milliseconds>(
        std::clamp<Ms>(time, Ms(0), Ms(kLongestDuration)));
  }
  bool try_lock_within(std::chrono::milliseconds time);
  bool try_lock_shared_within(std::chrono::milliseconds time);

  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace leasehold

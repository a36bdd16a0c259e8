#pragma once

#include <chrono>
#include <functional>
#include <iosfwd>
#include <leasehold/fencing_token.hpp>
#include <leasehold/result.hpp>
#include <memory>
#include <stop_token>
#include <string>

namespace leasehold::inline v0_1 {

/// Not for users: the inside of the library.
namespace detail {
class Holding;
struct Access;
}  // namespace detail

/// What a release found. After any of them this process does not hold the lock.
enum class ReleaseResult {
  released,   ///< the document was ours and is gone, acknowledged by a majority; or another call of
              ///< this process reads by the same entry, which stays
  not_owner,  ///< the lock was no longer ours; no lock was touched
  unknown,    ///< no reply in time; the delete is repeated in the background
};

/// Why a handle was lost.
enum class LostReason {
  deadline,     ///< the lease ran out before an extension was confirmed
  not_owner,    ///< the server says the lock is gone or another's
  max_holding,  ///< it was held for as long as `LockOptions::max_holding` allows
};

[[nodiscard]] const char* to_string(ReleaseResult result);
[[nodiscard]] const char* to_string(LostReason reason);
std::ostream& operator<<(std::ostream& out, ReleaseResult result);
std::ostream& operator<<(std::ostream& out, LostReason reason);

/// Proof that this process holds a lock; extended in the background until it is released or lost.
///
/// Time: the lease counts from the sending of the command that granted or last extended it, on
/// CLOCK_BOOTTIME, shortened by `max_drift`. Lost is final.
/// Failure: `held()` turns false at the deadline by itself, whatever the server does. A holder
/// that was paused between asking `held()` and acting is not protected by it: give
/// `fencing_token()` to the resource.
/// Thread safety: all const calls and `release` from any thread; moving is for one thread.
/// Destruction: releases, and waits for the answer, at most `operation_timeout`. A handle that came
/// from `acquire_async`, or was given to `release_async`, waits for nothing: its release goes on in
/// the background, and the end of its provider waits for it. A handle may outlive its provider, and
/// be destroyed anywhere, a callback of the provider included.
///
///     auto handle = lock.try_acquire(5s);
///     if (handle) write_report(handle->fencing_token());
class LockHandle {
 public:
  /// An empty handle: holds nothing, token 0.
  LockHandle() = default;
  LockHandle(LockHandle&&) noexcept = default;
  LockHandle& operator=(LockHandle&& other) noexcept;
  LockHandle(const LockHandle&) = delete;
  LockHandle& operator=(const LockHandle&) = delete;
  ~LockHandle();

  /// The lock's name, for the whole life of the handle; "" for an empty one.
  [[nodiscard]] const std::string& name() const;

  /// Whether the lease certainly still runs. Compares the clock at each call.
  [[nodiscard]] bool held() const;

  /// How long `held()` will stay true without a further extension; zero when it is false.
  [[nodiscard]] std::chrono::nanoseconds remaining() const;

  /// Whether `remaining()` is at least `least`. If it is not, asks for an extension now, and waits
  /// for the answer, at most `operation_timeout`. Call it before a step that must not be
  /// interrupted. False without asking and waiting: no extension gives that much, because `least`
  /// is above the expiry less its `max_drift` or goes beyond `max_holding`; or the handle is not
  /// held.
  ///
  ///     if (!handle.ensure(10s)) return give_up();  // the payment takes 2 s at most
  [[nodiscard]] bool ensure(std::chrono::milliseconds least) const;

  /// Stops when the handle is lost, within a scheduling delay of the deadline; never by a release.
  /// A stop callback runs on a thread made for it; it delays neither the loss of another handle nor
  /// other callbacks, and may release or destroy this handle.
  [[nodiscard]] std::stop_token lost() const;

  /// Whether it was acquired to read, so that others may read as well.
  [[nodiscard]] bool shared() const;
  /// The number of a permit, 0 to N-1: no other holder has the same one, as long as this is held.
  /// It is -1 of a lock.
  [[nodiscard]] int slot() const;

  /// The fencing token, constant for the handle's life; 0 for an empty one. Handles of one process
  /// that read may have the same.
  [[nodiscard]] FencingToken fencing_token() const;

  /// Frees the lock and returns what was found; waits at most `operation_timeout`. `held()` is
  /// false before the first byte is sent. Calling again gives the first answer again.
  ReleaseResult release();

  /// Ends this handle and returns one that reads, with a new token. It is one write, so nobody
  /// writes in between, however many wait. It waits at most `operation_timeout`. If it fails, the
  /// lock is released, or was lost before. A handle that reads already is returned as it is;
  /// `invalid_option`: a permit, or an empty handle.
  ///
  ///     auto reading = writing->downgrade();  // others may read what was written
  [[nodiscard]] Result<LockHandle> downgrade();

  /// Begins the release without waiting; `release` and the destructor then wait for the answer.
  /// `held()` is false from here on.
  void begin_release();

  /// Releases for threads that must not wait: neither this nor the destructor does. `done` gets
  /// what `release` would return; it is called exactly once, and destroyed, on the provider's
  /// thread for callbacks (for an empty handle at once): be brief. May be empty.
  void release_async(std::function<void(ReleaseResult)> done = {});

 private:
  friend struct detail::Access;
  explicit LockHandle(std::shared_ptr<detail::Holding> holding);

  std::shared_ptr<detail::Holding> holding_;
};

}  // namespace leasehold

#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <list>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "cli/cli.hpp"
#include "cli/run/signals.hpp"

/// What `run` and `hold` share: which locks they take, and how.
namespace leasehold::cli {

struct LockOrder {
  Server server;
  std::vector<std::string> names;  ///< as given; at least one
  bool shared = false;             ///< with others that share them
  int permits = 0;                 ///< of the semaphore of this name; 0: they are locks
  LockOptions options;
  std::chrono::milliseconds wait = kLongestDuration;  ///< for all together; the default: no limit
  int conflict_code = kNotAcquired;                   ///< when they are not free in time
  bool quiet = false;       ///< nothing of other holders, of waiting, and no warnings
  bool is_service = false;  ///< report status and watchdog to systemd
  std::string note;         ///< goes into the holder, for people

  /// "lock 'a'", "locks 'a', 'b'".
  [[nodiscard]] std::string described() const;
  /// A line on standard error that is not said where it is to be quiet.
  void report(const std::string& line) const;
  [[nodiscard]] Failure failure(int code, const std::string& what) const;
};

/// Their options, without the replica set's.
[[nodiscard]] po::options_description lock_options();
/// Lets a name be given without --lock.
[[nodiscard]] po::positional_options_description lock_names();
[[nodiscard]] LockOrder lock_order_of(const po::variables_map& values);

/// Why a wait goes on. Thread-safe.
class Obstacles {
 public:
  explicit Obstacles(const LockOrder& order) : order_(order) {}
  /// Reports the first holder and the first failure.
  void hear(const LockEvent& event);
  /// A server answered that another holds a lock.
  [[nodiscard]] bool had_holder() const { return held_; }

 private:
  void tell(const std::string& what) const;

  const LockOrder& order_;
  std::atomic<bool> held_ = false, failed_ = false;
};

/// All of the locks, held until `release` or the end of the process.
class TakenLocks {
 public:
  /// By `acquire_all`. Throws Failure if one was not free in time or a signal ended the wait; then
  /// none is held.
  TakenLocks(const LockOrder& order, const Signals& signals);

  /// In the order of `LockOrder::names`.
  [[nodiscard]] const std::vector<LockHandle>& handles() const { return handles_; }
  /// Until the first of them is lost, if it cannot be extended.
  [[nodiscard]] std::chrono::nanoseconds remaining() const;
  using LossCallbacks = std::list<std::stop_callback<std::function<void()>>>;
  /// The bell rings when one of them is lost, as long as these callbacks live.
  [[nodiscard]] LossCallbacks ring_when_lost(const Bell& bell) const;
  /// LEASEHOLD_LOCK, LEASEHOLD_FENCING_TOKEN, with several the lists of them, a line each, and of a
  /// semaphore LEASEHOLD_PERMIT.
  [[nodiscard]] std::vector<std::string> environment() const;
  void release();

 private:
  const LockOrder& order_;
  const std::shared_ptr<Obstacles> obstacles_;  ///< of the provider's threads, too
  LockProvider provider_;
  std::vector<LockHandle> handles_;
};

/// The protocol of sd_notify(3): assignments, a line each, in one datagram to the socket that
/// NOTIFY_SOCKET names. Nothing happens without one. Written by hand, because it is one sendto and
/// libsystemd would be a dependency of every machine that takes a lock.
void tell_service_manager(const std::string& assignments);

/// Half of the interval in which it wants WATCHDOG=1, in ms (WATCHDOG_USEC); -1: none.
[[nodiscard]] int watchdog_period_ms();
/// Reports that this process is alive, if that is wanted.
void tell_watchdog();

}  // namespace leasehold::cli

#pragma once

#include <chrono>
#include <leasehold/result.hpp>
#include <leasehold/waiting.hpp>
#include <memory>
#include <optional>
#include <string>

namespace leasehold::inline v0_1 {

/// Means for ever: longer time-outs are cut to this, because an instant this much later still fits
/// into ns.
inline constexpr std::chrono::milliseconds kLongestDuration{std::chrono::hours(24 * 365 * 10)};

/// The options of one lock. The first two are those of DistributedLock.MongoDB, with its
/// defaults; `check` says which rule a set of options breaks.
struct LockOptions {
  /// How long the lock stays ours without an extension. 100 ms .. 24 h.
  std::chrono::milliseconds expiry{30'000};

  /// How often a held lock is extended to the full expiry. Default expiry / 3; below expiry less
  /// its `max_drift`, when `held()` turns false. That leaves time for one extension; to repeat one
  /// that got no answer within `operation_timeout`, both together must be below it too.
  std::optional<std::chrono::milliseconds> extension_cadence;

  /// How to wait for a held lock.
  std::shared_ptr<const WaitingStrategy> waiting = queue_waiting();

  /// How far any two readings of server clocks may be apart during one lease (NTP keeps it far
  /// below the default), those of mongos routers included. The document stays in force this much
  /// longer than `held()` is true. Zero gives the behaviour of DistributedLock.MongoDB: a new
  /// primary with a clock that is ahead gives a held lock away.
  std::chrono::milliseconds clock_margin{30'000};

  /// How much faster or slower than real time this machine's clock may run. 0 .. 0.1.
  double max_drift = 0.005;

  /// How long to wait for the reply to one command. Default min(10 s, expiry / 3); below
  /// expiry / 2.
  std::optional<std::chrono::milliseconds> operation_timeout;

  /// This long after the granting command was sent `held()` turns false and the lock is freed for
  /// others, even if extensions succeed: this stops work that hangs. A grant that becomes known
  /// only after that is given back and requested again. 1 ms .. `kLongestDuration`. Only for the
  /// production lock. Default: no limit.
  std::optional<std::chrono::milliseconds> max_holding;

  /// How many times in a row a release gives the lock straight to the next waiter of this process,
  /// before other processes get their turn. 0 .. 1000; 0 switches hand-over off.
  int hand_overs_in_a_row = 8;

  [[nodiscard]] std::chrono::milliseconds effective_cadence() const;
  [[nodiscard]] std::chrono::milliseconds effective_operation_timeout() const;

  bool operator==(const LockOptions&) const = default;
};

/// The first rule that the options break, as an Error that names option, value and rule.
[[nodiscard]] std::optional<Error> check(const LockOptions& options);

/// The rule that a lock name breaks: 1..1024 bytes of UTF-8 without NUL.
[[nodiscard]] std::optional<Error> check_name(const std::string& name);

/// The rule that the name of a holder breaks: at most 256 bytes of UTF-8 without NUL; may be empty.
[[nodiscard]] std::optional<Error> check_holder(const std::string& holder);

/// The first rule that the name of the locks' database breaks, or nothing: "local" is kept by each
/// member for itself, so no lock in it survives a change of the primary.
[[nodiscard]] std::optional<Error> check_database(const std::string& database);

}  // namespace leasehold

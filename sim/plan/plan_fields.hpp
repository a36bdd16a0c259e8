#pragma once

#include <cstdint>
#include <limits>

#include "sim/plan/plan.hpp"

/// The fields of a plan, in the order of writing: besides `plan.hpp` the only place that names
/// each. A visitor gets the word, the member, its range, and when it is written.
namespace leasehold::sim::fields {

inline constexpr std::int64_t kMaxCallers = 64;
inline constexpr std::int64_t kMaxWorkers = 64;
inline constexpr std::int64_t kMaxLocks = 1'000;
inline constexpr std::int64_t kMostPermits = 64;
inline constexpr std::int64_t kMostTogether = 64;
inline constexpr std::int64_t kMostInQueue = ProcessPlan().queue_room;
inline constexpr std::int64_t kMostLongHoldLeases = 1'000;
inline constexpr std::int64_t kAny = -1;
inline constexpr std::int64_t kDay_ms = 24 * 3'600'000;
inline constexpr std::int64_t kWeek_ms = 7 * kDay_ms;
inline constexpr std::int64_t kMostDrift_ppm = 900'000;
inline constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

struct Limits {
  std::int64_t low, high;
};
enum class Written { always, unless_usual };

/// The fields of a process.
template <typename Visit>
void of_process(const Visit& visit) {
  using P = ProcessPlan;
  constexpr auto kAlways = Written::always, kSeldom = Written::unless_usual;
  constexpr Limits kTime{0, kDay_ms}, kPause{1, kDay_ms}, kPercent{0, 100};
  visit("expiry", &P::expiry_ms, kTime, kAlways);
  visit("wait-min", &P::wait_min_ms, kPause, kAlways);
  visit("wait-max", &P::wait_max_ms, kPause, kAlways);
  visit("hold", &P::hold_ms, kTime, kAlways);
  visit("long", &P::long_hold_percent, kPercent, kAlways);
  visit("single", &P::single_attempt_percent, kPercent, kAlways);
  visit("cancel", &P::cancel_percent, kPercent, kAlways);
  visit("timeout", &P::acquire_timeout_ms, kTime, kAlways);
  visit("waiting", &P::waiting, Limits{0, kWaitings - 1}, kSeldom);
  visit("callers", &P::callers, Limits{1, kMaxCallers}, kSeldom);
  visit("hand-overs", &P::hand_overs, Limits{0, std::numeric_limits<int>::max()}, kSeldom);
  visit("drift", &P::drift_ppm, Limits{-kMostDrift_ppm, kMostDrift_ppm}, kSeldom);
  visit("long-leases", &P::long_hold_leases, Limits{1, kMostLongHoldLeases}, kSeldom);
  visit("max-holding", &P::max_holding_ms, Limits{0, kWeek_ms}, kSeldom);
  visit("max-drift", &P::max_drift_ppm, Limits{0, kMostDrift_ppm / 9}, kSeldom);
  visit("operation-timeout", &P::operation_timeout_ms, kTime, kSeldom);
  visit("cadence", &P::extension_cadence_ms, kTime, kSeldom);
  visit("other-expiry", &P::other_expiry_ms, kTime, kSeldom);
  visit("other-margin", &P::other_margin_ms, kTime, kSeldom);
  visit("other-max-holding", &P::other_max_holding_ms, Limits{0, kWeek_ms}, kSeldom);
  visit("scripted", &P::scripted, Limits{0, 1}, kSeldom);
  visit("queue-room", &P::queue_room, Limits{1, kMostInQueue}, kSeldom);
  visit("workers", &P::workers, Limits{0, kMaxWorkers}, kSeldom);
  visit("old", &P::old_release, Limits{0, 1}, kSeldom);
  visit("permits", &P::permits, Limits{0, kMostPermits}, kSeldom);
  visit("together", &P::together, Limits{0, kMostTogether}, kSeldom);
  visit("leads", &P::leads, Limits{0, 1}, kSeldom);
  visit("reads", &P::reads_percent, kPercent, kSeldom);
}

template <typename Visit>
void of_fault(const Visit& visit) {
  using F = FaultPlan;
  visit("at", &F::at_ms, Limits{0, kWeek_ms}, Written::always);
  visit("for", &F::for_ms, Limits{0, kWeek_ms}, Written::unless_usual);
  visit("pick", &F::pick, Limits{0, kMost}, Written::unless_usual);
  visit("amount", &F::amount, Limits{-kWeek_ms, kWeek_ms}, Written::unless_usual);
  visit("process", &F::process, Limits{kAny, kMost}, Written::unless_usual);
  visit("member", &F::member, Limits{kAny, kMost}, Written::unless_usual);
  visit("on", &F::on, Limits{0, kTriggers - 1}, Written::unless_usual);
  visit("nth", &F::nth, Limits{1, kMost}, Written::unless_usual);
  visit("at-reply", &F::at_reply, Limits{0, 1}, Written::unless_usual);
}

template <typename Visit>
void of_step(const Visit& visit) {
  using S = StepPlan;
  visit("at", &S::at_ms, Limits{0, kWeek_ms}, Written::always);
  visit("process", &S::process, Limits{0, kMost}, Written::always);
  visit("caller", &S::caller, Limits{0, kMost}, Written::unless_usual);
  visit("lock", &S::lock, Limits{0, kMost}, Written::unless_usual);
  visit("timeout", &S::acquire_timeout_ms, Limits{0, kDay_ms}, Written::unless_usual);
  visit("reads", &S::reads, Limits{0, 1}, Written::unless_usual);
  visit("fault", &S::is_the_fault, Limits{0, 1}, Written::unless_usual);
}

/// The fields of the plan itself that are numbers, a line each.
template <typename Visit>
void of_plan(const Visit& visit) {
  visit("locks", &Plan::locks, Limits{1, kMaxLocks}, Written::always);
  visit("clock-margin", &Plan::clock_margin_ms, Limits{0, kDay_ms}, Written::always);
  visit("faulty", &Plan::faulty_ms, Limits{0, kWeek_ms}, Written::always);
  visit("ttl-period", &Plan::ttl_period_ms, Limits{1, kDay_ms}, Written::unless_usual);
  visit("election-timeout", &Plan::election_timeout_ms, Limits{1, kDay_ms}, Written::unless_usual);
  visit("heartbeat", &Plan::heartbeat_ms, Limits{1, kDay_ms}, Written::unless_usual);
  visit("shards", &Plan::shards, Limits{0, 1}, Written::unless_usual);
  visit("ttl-at-once", &Plan::ttl_at_once, Limits{0, 1}, Written::unless_usual);
  visit("failed-fetches", &Plan::failed_fetches, Limits{0, 100}, Written::unless_usual);
  visit("stray-commands", &Plan::stray_commands, Limits{0, 1}, Written::unless_usual);
  visit("stream-lag", &Plan::stream_lag_ms, Limits{-1, kDay_ms}, Written::unless_usual);
}

}  // namespace leasehold::sim::fields

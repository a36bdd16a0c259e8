#include "sim/plan/workload.hpp"

#include <algorithm>

namespace leasehold::sim {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

// They begin within this of each other: they compete from the start, in an order that is random.
constexpr milliseconds kStartWithin{20};
// Far longer than a dead holder's lease, so that a time-out after the faults is the lock's fault.
constexpr milliseconds kLastTimeout{60'000};
constexpr int kLastTimeoutLeases = 10;
// Two: the first may get what was left in the database by the faults, the second shows that the
// lock goes on from hand to hand.
constexpr int kLastAcquires = 2;
constexpr milliseconds kLastRest{5};
constexpr milliseconds kDoomedTimeout{10'000};
constexpr milliseconds kShortestTimeout{50};
/// Every so many-th holding relies on `lost()` alone: a question at the deadline would do what a
/// timer has to.
constexpr std::uint64_t kSilentEvery = 4;
/// Users' functions that take their time: so many in a hundred, and how long at most.
constexpr int kSlowCallbackPercent = 3;
constexpr microseconds kSlowCallback{300'000};

/// In whole µs, the grain of virtual time.
microseconds draw_up_to(microseconds most, Random& random) {
  return microseconds(random.between(0, most.count()));
}

}  // namespace

std::string lock_name(std::int64_t index) { return "lock-" + std::to_string(index); }
std::string grave_name(const std::string& process) { return "grave-" + process; }
std::string slot_name(const std::string& semaphore, int slot) {
  return semaphore + '#' + std::to_string(slot);
}

Workload::Action Workload::next(const Event& event, Random& random) {
  if (ended()) return Nothing{};
  return std::visit([&](const auto& happened) { return on(happened, random); }, event);
}

Workload::Action Workload::on(const Started&, Random& random) {
  if (scripted()) return Nothing{};
  return Rest{draw_up_to(kStartWithin, random)};
}

Workload::Action Workload::on(const TimePassed&, Random& random) {
  switch (phase_) {
    case Phase::idle: return acquire_next(random);
    case Phase::receiving: return received(random);
    case Phase::holding: last_write_ = true; return Write{};
    default: return Nothing{};
  }
}

Workload::Action Workload::acquire_next(Random& random) {
  const ProcessPlan& plan = setting_.process;
  if (scripted() || (doomed() && faults_ended_)) return end();
  // Where no call reads, nothing is drawn.
  const bool reads = plan.reads_percent > 0 && random.chance(plan.reads_percent);
  if (doomed()) {
    phase_ = Phase::acquiring;
    return Acquire{.lock = setting_.grave, .timeout = kDoomedTimeout, .reads = reads};
  }
  // Few names for many callers, so that they meet.
  const auto lock = random.between(0, setting_.locks - 1);
  if (faults_ended_ && last_acquires_++ == kLastAcquires) return end();
  phase_ = Phase::acquiring;
  if (faults_ended_) {
    const milliseconds lease(std::max(plan.expiry_ms, plan.other_expiry_ms));
    return call_for(lock, std::max(kLastTimeout, kLastTimeoutLeases * lease), reads);
  }
  if (random.chance(plan.single_attempt_percent)) return call_for(lock, milliseconds(0), reads);
  // One after the other: the order of arguments is the compiler's choice, that of draws is not.
  const bool cancels = random.chance(plan.cancel_percent);
  const milliseconds timeout(random.between(kShortestTimeout.count(), plan.acquire_timeout_ms));
  auto acquire = call_for(lock, timeout, reads);
  if (cancels) acquire.cancel_after = milliseconds(random.between(1, plan.wait_max_ms));
  return acquire;
}

/// Each caller begins with another one of several locks, so that only the order in which
/// acquire_all takes them keeps two calls from waiting for each other.
Workload::Acquire Workload::call_for(std::int64_t lock, milliseconds timeout, bool reads) const {
  const ProcessPlan& plan = setting_.process;
  Acquire acquire{lock_name(lock), timeout};
  acquire.permits = plan.permits;
  acquire.leads = plan.leads;
  acquire.reads = reads;
  for (int i = 1; i < std::min(plan.together, setting_.locks); ++i) {
    acquire.also.push_back(lock_name((lock + i) % setting_.locks));
  }
  return acquire;
}

Workload::Action Workload::on(const Granted& granted, Random& random) {
  phase_ = Phase::receiving;
  if (scripted()) return Receive{};
  // By the session's number and not by a draw, so it costs no randomness.
  Receive receive{granted.session % kSilentEvery == 0};
  if (random.chance(kSlowCallbackPercent)) {
    const microseconds time(random.between(1, kSlowCallback.count()));
    // A call for several locks or a term has no callback.
    const ProcessPlan& p = setting_.process;
    if (p.together == 0 && !p.leads) receive.callback_time = time;
  }
  return receive;
}

/// Writes at the start and at the end of a holding. The second write comes late on purpose: the
/// fence must refuse it if another process has written since.
Workload::Action Workload::received(Random& random) {
  phase_ = Phase::holding;
  if (scripted()) return faults_ended_ ? release() : Nothing{};
  if (doomed() && !faults_ended_) return Write{};
  hold_ = draw_up_to(milliseconds(setting_.process.hold_ms), random);
  if (random.chance(setting_.process.long_hold_percent) && !faults_ended_) {
    // Longer than a lease: only extensions keep such a lock, and their failures show.
    const auto [least_ms, most_ms] = setting_.long_holding;
    hold_ = milliseconds(random.between(least_ms, most_ms));
  }
  return Write{};
}

Workload::Action Workload::on(const NotGranted&, Random& random) { return go_on(random); }

Workload::Action Workload::on(const Written&, Random&) {
  if (scripted() || phase_ != Phase::holding) return Nothing{};
  if (last_write_) return release();
  // Until it is killed.
  if (doomed()) return Nothing{};
  return Hold{hold_};
}

Workload::Action Workload::on(const Released&, Random& random) { return go_on(random); }

Workload::Action Workload::go_on(Random& random) {
  phase_ = Phase::idle;
  if (scripted()) return faults_ended_ ? end() : Nothing{};  // its next step is the plan's
  if (faults_ended_) return Rest{draw_up_to(kLastRest, random)};
  return Rest{
      draw_up_to(milliseconds(std::max<std::int64_t>(setting_.process.hold_ms, 1)), random)};
}

Workload::Action Workload::on(const FaultsEnded&, Random&) {
  faults_ended_ = true;
  const bool holds = phase_ == Phase::receiving || phase_ == Phase::holding;
  if ((doomed() || scripted()) && holds) return release();
  if (scripted() && phase_ == Phase::idle) return end();
  return Nothing{};
}

Workload::Action Workload::on(const StepDue& due, Random&) {
  const StepPlan& step = due.step;
  const bool holds = phase_ == Phase::receiving || phase_ == Phase::holding;
  switch (step.action) {
    case StepPlan::Action::acquire:
      if (phase_ != Phase::idle) return Nothing{};
      phase_ = Phase::acquiring;
      return call_for(step.lock, milliseconds(step.acquire_timeout_ms), step.reads);
    case StepPlan::Action::write: return holds ? Action(Write{}) : Nothing{};
    case StepPlan::Action::release: return holds ? release() : Nothing{};
    case StepPlan::Action::cancel: return acquires() ? Action(Cancel{}) : Nothing{};
  }
  return Nothing{};
}

Workload::Action Workload::release() {
  phase_ = Phase::releasing;
  last_write_ = false;
  return Release{};
}

Workload::Action Workload::end() {
  phase_ = Phase::ended;
  return End{};
}

}  // namespace leasehold::sim

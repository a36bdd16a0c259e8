#include "sim/plan/lock_options.hpp"

#include "core/queue/queue_place.hpp"
#include "sim/plan/lock_registry.hpp"

namespace leasehold::sim {

LockOptions options_of(const ProcessPlan& plan, const std::string& lock,
                       std::int64_t clock_margin_ms) {
  using std::chrono::milliseconds;
  const milliseconds min(plan.wait_min_ms), max(plan.wait_max_ms);
  LockOptions o;
  o.expiry = milliseconds(plan.expiry_ms);
  o.clock_margin = milliseconds(lock_under_test(lock).is_published() ? 0 : clock_margin_ms);
  o.hand_overs_in_a_row = plan.hand_overs;
  if (plan.max_holding_ms > 0) o.max_holding = milliseconds(plan.max_holding_ms);
  switch (plan.waiting) {
    case Waiting::uniform: o.waiting = uniform_waiting(min, max); break;
    case Waiting::fixed: o.waiting = fixed_waiting((min + max) / 2); break;
    case Waiting::full_jitter: o.waiting = exponential_waiting(Jitter::full, min, max); break;
    case Waiting::decorrelated:
      o.waiting = exponential_waiting(Jitter::decorrelated, min, max);
      break;
    case Waiting::adaptive: o.waiting = adaptive_waiting(min, max); break;
    case Waiting::queue: o.waiting = queue_waiting(max); break;
  }
  return o;
}

bool waits_in_queue(const ProcessPlan& plan, const std::string& lock) {
  return !lock_under_test(lock).is_published() && core::queues(options_of(plan, lock, 0));
}

int workers_of(const ProcessPlan& plan) {
  if (plan.workers > 0) return plan.workers;
  return plan.scripted ? 1 : 3;
}

LongHolding long_holding(const ProcessPlan& plan, const LockOptions& options) {
  constexpr std::int64_t kCadencesOfALease = 3;
  const std::int64_t cadence = options.effective_cadence().count();
  return {cadence, plan.long_hold_leases * kCadencesOfALease * cadence};
}

}  // namespace leasehold::sim

#include "sim/plan/lock_registry.hpp"

#include <algorithm>
#include <stdexcept>

#include "core/queue/queue_place.hpp"
#include "published/recipe.hpp"

namespace leasehold::sim {

std::string LockUnderTest::collection() const {
  return is_published() ? std::string(recipe->collection) : "distributed.locks";
}

const std::vector<LockUnderTest>& locks() {
  static const std::vector<LockUnderTest> all = [] {
    std::vector<LockUnderTest> list{{"leasehold"},
                                    {"leasehold-w1", Sabotage::writes_for_one},
                                    {"canary", Sabotage::deletes_without_owner},
                                    {"canary-crash", Sabotage::dies_deleting}};
    for (const auto* recipe : published::recipes()) {
      list.push_back({.name = std::string(recipe->name), .recipe = recipe});
    }
    list.push_back({"canary-extend", Sabotage::extends_without_owner, false});
    list.push_back({"canary-clock", Sabotage::reads_the_real_clock, false});
    return list;
  }();
  return all;
}

const LockUnderTest& lock_under_test(std::string_view name) {
  const auto& all = locks();
  const auto found = std::ranges::find(all, name, &LockUnderTest::name);
  if (found != all.end()) return *found;
  std::string allowed;
  for (const auto& lock : all) allowed += (allowed.empty() ? "" : ", ") + lock.name;
  throw std::runtime_error("lock is '" + std::string(name) + "': it must be one of " + allowed);
}

std::string_view promise_of(std::string_view lock, model::Check guarantee) {
  if (lock == "leasehold") {
    return model::is_asked_of_the_lock(guarantee) ? "its guarantees" : std::string_view();
  }
  const auto* recipe = published::recipe_named(lock);
  if (recipe == nullptr) return {};
  const auto& promises = recipe->promises;
  const auto found = std::ranges::find_if(
      promises, [&](const auto& p) { return p.guarantee == to_string(guarantee); });
  return found == promises.end() ? std::string_view() : found->sentence;
}

LockOptions options_of(const ProcessPlan& plan, const std::string& lock,
                       std::int64_t clock_margin_ms, int caller) {
  using std::chrono::milliseconds;
  const milliseconds min(plan.wait_min_ms), max(plan.wait_max_ms);
  LockOptions o;
  const bool ours = !lock_under_test(lock).is_published();
  const bool other = plan.other_expiry_ms > 0 && caller % 2 == 1;
  const auto unless_0 = [](std::int64_t ms, std::int64_t else_ms) { return ms > 0 ? ms : else_ms; };
  const auto given = [](std::int64_t ms) {
    return ms > 0 ? std::optional(milliseconds(ms)) : std::nullopt;
  };
  o.expiry = milliseconds(other ? plan.other_expiry_ms : plan.expiry_ms);
  const auto margin_ms = other ? unless_0(plan.other_margin_ms, clock_margin_ms) : clock_margin_ms;
  o.clock_margin = milliseconds(ours ? margin_ms : 0);
  o.hand_overs_in_a_row = plan.hand_overs;
  o.max_holding =
      given(other ? unless_0(plan.other_max_holding_ms, plan.max_holding_ms) : plan.max_holding_ms);
  o.max_drift = static_cast<double>(plan.max_drift_ppm) / 1e6;
  if (!other) {
    o.operation_timeout = given(plan.operation_timeout_ms);
    o.extension_cadence = given(plan.extension_cadence_ms);
  }
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

#include <gtest/gtest.h>

#include "sim/virtual/machine.hpp"
#include "sim/virtual/world.hpp"

namespace leasehold::sim::simulated {
namespace {

using model::Event;
using model::Kind;

/// One process that takes the lock at once and does what the steps say, until it is healed.
/// Alone, so that the lock has one holder and every answer of `held()` is the same one's.
Plan one_holder(std::int64_t faulty_ms) {
  Plan plan;
  plan.seed = 7;
  plan.faulty_ms = faulty_ms;
  plan.processes.resize(1);
  plan.processes[0].scripted = true;
  plan.processes[0].drift_ppm = -4'000;  // held() is true for longest on a clock that is slow
  plan.steps.push_back({StepPlan::Action::acquire, 10, 0, 0, 0, 500});
  return plan;
}

/// Equal answers in a row are one event, which says how many they were.
std::int64_t questions(const model::History& history, const std::string& answer) {
  std::int64_t sum = 0;
  for (const Event& e : history) {
    if (e.kind == Kind::held && e.outcome == answer) sum += e.count;
  }
  return sum;
}

const Event* first(const model::History& history, Kind kind) {
  for (const Event& e : history) {
    if (e.kind == kind) return &e;
  }
  return nullptr;
}

TEST(Process, AHolderAsksAtLeastTwentyTimesInALease) {
  auto plan = one_holder(3'000);  // three leases, by extensions
  const auto history = run(plan).history;
  // 25 are meant; the bound leaves room for the first lease's beginning and the last one's end.
  EXPECT_GE(questions(history, "yes"), 3 * 20);
  EXPECT_EQ(first(history, Kind::notified), nullptr);
}

/// To the nanosecond: the last yes is of the grain before the deadline, the signal of the deadline.
TEST(Process, ItsLastYesAndItsLossAreAtTheDeadline) {
  auto plan = one_holder(3'000);
  // From before the first extension until after the lease, and without notice: the process learns
  // nothing, and only its own clock can end the holding.
  plan.faults.push_back({FaultPlan::Kind::cut_link, 100, 2'000, 0, 0, 0});
  const auto history = run(plan).history;
  const Event* granted = first(history, Kind::granted);
  const Event* notified = first(history, Kind::notified);
  ASSERT_NE(granted, nullptr);
  ASSERT_NE(notified, nullptr);
  EXPECT_EQ(notified->at_ns, granted->deadline_ns);
  std::int64_t last_yes = 0;
  for (const Event& e : history) {
    if (e.kind == Kind::held && e.outcome == "yes") last_yes = std::max(last_yes, e.last_asked_ns);
  }
  EXPECT_EQ(last_yes, granted->deadline_ns - kGrain);
  EXPECT_GE(questions(history, "no"), 1);
}

/// The same time away, longer than a lease. Stopped, its clock went on, so the lease is over when
/// it wakes. Suspended, its clock stood still: it goes on as if nothing had been, and extends a
/// lock that anybody could have had. That is why a suspension breaks an assumption.
TEST(Process, ASuspendedMachineKnowsNothingOfItAndAStoppedProcessDoes) {
  for (const auto kind : {FaultPlan::Kind::pause, FaultPlan::Kind::suspend}) {
    auto plan = one_holder(4'000);
    plan.faults.push_back({kind, 100, 1'600, 0, 0, 0});
    const auto history = run(plan).history;
    const Event* granted = first(history, Kind::granted);
    const Event* extended = first(history, Kind::extended);
    const Event* resumed = first(history, Kind::resume);
    ASSERT_TRUE(granted != nullptr && resumed != nullptr);
    const bool suspends = kind == FaultPlan::Kind::suspend;
    EXPECT_EQ(first(history, Kind::notified) == nullptr, suspends);
    ASSERT_EQ(extended != nullptr, suspends) << "nobody else wanted the lock";
    if (suspends) {
      EXPECT_GT(extended->sent_ns, resumed->at_ns);
      // What was left of its cadence when it was suspended, by a clock that is 0.4 % slow.
      EXPECT_LT(extended->sent_ns, resumed->at_ns + 400 * kMs) << "a third of a lease in all";
    }
  }
}

/// 0.4 % fast: 4 ms more in each second that it runs, none in those that it is suspended.
TEST(Machine, ItsClocksLeaveOutWhenItWasSuspended) {
  EventQueue queue;
  Machine machine(queue, 4'000, 0, 1);
  const auto go_to = [&queue](std::int64_t ms) {
    queue.at(ms * kMs, [] {});
    while (queue.now() < ms * kMs) queue.step();
  };
  const auto ran_ms = [&] { return machine.clock.now().time_since_epoch().count() / kMs; };
  go_to(1'000);
  machine.suspend();
  go_to(3'000);
  EXPECT_EQ(ran_ms(), 1'004);
  machine.resume();
  go_to(4'000);
  EXPECT_EQ(ran_ms(), 2'008);
  machine.suspend();
  go_to(5'000);
  machine.resume();
  go_to(6'000);
  EXPECT_EQ(ran_ms(), 3'012);
  // Also for times that the clock shows right before and after a suspension, the true time is the
  // first that shows it; a timer set to it fires neither early nor a grain late.
  for (const std::int64_t shown : {500, 1'003, 1'005, 2'007, 2'009, 3'012, 9'000}) {
    const auto time = machine.clock.true_time(shown * kMs);
    EXPECT_GE(machine.clock.shown_at(time), shown * kMs);
    EXPECT_LT(machine.clock.shown_at(time - kGrain), shown * kMs);
  }
}

}  // namespace
}  // namespace leasehold::sim::simulated

#include "sim/plan/workload.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <set>

namespace leasehold::sim {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

Workload::Setting setting(std::string grave = "") {
  ProcessPlan process;
  process.hold_ms = 4;
  process.long_hold_percent = 0;
  process.single_attempt_percent = 0;
  process.cancel_percent = 0;
  return {process, 3, {400, 1'200}, std::move(grave)};
}

Workload::Setting scripted() {
  auto s = setting();
  s.process.scripted = true;
  return s;
}

/// A workload and what it draws from.
struct Caller {
  explicit Caller(Workload::Setting setting, std::uint64_t seed = 1)
      : workload(std::move(setting)), random(seed) {}

  Workload::Action after(const Workload::Event& event) { return workload.next(event, random); }

  /// The next action, which has to be of this kind.
  template <typename T>
  T expect(const Workload::Event& event) {
    const auto action = after(event);
    EXPECT_TRUE(std::holds_alternative<T>(action)) << "kind " << action.index();
    const auto* found = std::get_if<T>(&action);
    return found != nullptr ? *found : T{};
  }
  Workload::Acquire acquire_from_start() {
    expect<Workload::Rest>(Workload::Started{});
    return expect<Workload::Acquire>(Workload::TimePassed{});
  }
  Workload::Action after_step(StepPlan::Action action, std::int64_t lock = 0) {
    StepPlan step;
    step.action = action;
    step.lock = lock;
    step.acquire_timeout_ms = 70;
    return after(Workload::StepDue{step});
  }

  Workload workload;
  Random random;
};

/// The event that ends this action, as a world that grants every acquire would report it.
Workload::Event end_of(const Workload::Action& action) {
  if (std::holds_alternative<Workload::Acquire>(action)) return Workload::Granted{1};
  if (std::holds_alternative<Workload::Write>(action)) return Workload::Written{};
  if (std::holds_alternative<Workload::Release>(action)) return Workload::Released{};
  return Workload::TimePassed{};
}

TEST(Workload, WritesAtTheStartAndAtTheEndOfAHoldingAndReleases) {
  Caller caller(setting());
  caller.acquire_from_start();
  EXPECT_TRUE(caller.workload.acquires());
  caller.expect<Workload::Receive>(Workload::Granted{1});
  EXPECT_FALSE(caller.workload.acquires());
  caller.expect<Workload::Write>(Workload::TimePassed{});
  EXPECT_LE(caller.expect<Workload::Hold>(Workload::Written{}).time, milliseconds(4));
  caller.expect<Workload::Write>(Workload::TimePassed{});
  caller.expect<Workload::Release>(Workload::Written{});
  EXPECT_LE(caller.expect<Workload::Rest>(Workload::Released{}).time, milliseconds(4));
  caller.expect<Workload::Acquire>(Workload::TimePassed{});
}

TEST(Workload, RestsAndAcquiresAgainAfterARefusal) {
  Caller caller(setting());
  caller.acquire_from_start();
  caller.expect<Workload::Rest>(Workload::NotGranted{});
  caller.expect<Workload::Acquire>(Workload::TimePassed{});
}

TEST(Workload, DrawsEachOfItsLocksAndATimeoutUpToThePlans) {
  std::set<std::string> locks;
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    const auto acquire = Caller(setting(), seed).acquire_from_start();
    locks.insert(acquire.lock);
    EXPECT_GE(acquire.timeout, milliseconds(50));
    EXPECT_LE(acquire.timeout, milliseconds(setting().process.acquire_timeout_ms));
    EXPECT_FALSE(acquire.cancel_after);
  }
  EXPECT_EQ(locks, (std::set<std::string>{"lock-0", "lock-1", "lock-2"}));
}

TEST(Workload, TriesOnceCancelsAndHoldsLongAsOftenAsThePlanSays) {
  auto once = setting(), cancels = setting(), holds = setting();
  once.process.single_attempt_percent = 100;
  cancels.process.cancel_percent = 100;
  holds.process.long_hold_percent = 100;
  EXPECT_EQ(Caller(once).acquire_from_start().timeout, milliseconds(0));
  const auto after = Caller(cancels).acquire_from_start().cancel_after;
  ASSERT_TRUE(after);
  EXPECT_LE(*after, milliseconds(cancels.process.wait_max_ms));
  Caller holder(holds);
  holder.acquire_from_start();
  holder.after(Workload::Granted{1});
  holder.after(Workload::TimePassed{});
  const auto hold = holder.expect<Workload::Hold>(Workload::Written{});
  EXPECT_GE(hold.time, milliseconds(400));
  EXPECT_LE(hold.time, milliseconds(1'200));
}

TEST(Workload, EveryFourthSessionReliesOnLostAlone) {
  for (std::uint64_t session = 1; session <= 8; ++session) {
    Caller caller(setting());
    caller.acquire_from_start();
    const auto receive = caller.expect<Workload::Receive>(Workload::Granted{session});
    EXPECT_EQ(receive.relies_on_lost, session % 4 == 0) << session;
  }
}

TEST(Workload, AcquiresTwiceWithALongTimeoutOnceFaultsHaveEndedAndEnds) {
  Caller caller(setting());
  caller.acquire_from_start();
  caller.expect<Workload::Nothing>(Workload::FaultsEnded{});
  Workload::Action action = caller.expect<Workload::Rest>(Workload::NotGranted{});
  int acquires = 0;
  while (!caller.workload.ended()) {
    if (const auto* acquire = std::get_if<Workload::Acquire>(&action)) {
      ++acquires;
      EXPECT_EQ(acquire->timeout, std::chrono::minutes(1));
    }
    action = caller.after(end_of(action));
  }
  EXPECT_EQ(acquires, 2);
  EXPECT_TRUE(std::holds_alternative<Workload::End>(action));
  caller.expect<Workload::Nothing>(Workload::TimePassed{});
}

TEST(Workload, ADoomedCallerHoldsItsOwnLockUntilFaultsHaveEnded) {
  Caller caller(setting(grave_name("p7")));
  EXPECT_EQ(caller.acquire_from_start().lock, "grave-p7");
  caller.expect<Workload::Receive>(Workload::Granted{1});
  caller.expect<Workload::Write>(Workload::TimePassed{});
  caller.expect<Workload::Nothing>(Workload::Written{});
  caller.expect<Workload::Release>(Workload::FaultsEnded{});
  caller.expect<Workload::Rest>(Workload::Released{});
  caller.expect<Workload::End>(Workload::TimePassed{});
}

TEST(Workload, AScriptedCallerDoesItsStepsAndNothingElse) {
  using Action = StepPlan::Action;
  Caller caller(scripted());
  caller.expect<Workload::Nothing>(Workload::Started{});
  const auto acquire = std::get<Workload::Acquire>(caller.after_step(Action::acquire, 2));
  EXPECT_EQ(acquire.lock, "lock-2");
  EXPECT_EQ(acquire.timeout, milliseconds(70));
  EXPECT_TRUE(std::holds_alternative<Workload::Cancel>(caller.after_step(Action::cancel)));
  EXPECT_FALSE(caller.expect<Workload::Receive>(Workload::Granted{4}).relies_on_lost);
  caller.expect<Workload::Nothing>(Workload::TimePassed{});
  EXPECT_TRUE(std::holds_alternative<Workload::Write>(caller.after_step(Action::write)));
  caller.expect<Workload::Nothing>(Workload::Written{});
  EXPECT_TRUE(std::holds_alternative<Workload::Release>(caller.after_step(Action::release)));
  caller.expect<Workload::Nothing>(Workload::Released{});
  caller.expect<Workload::End>(Workload::FaultsEnded{});
}

TEST(Workload, AStepThatDoesNotFitIsPassedOver) {
  using Action = StepPlan::Action;
  Caller caller(scripted());
  for (const auto action : {Action::write, Action::release, Action::cancel}) {
    EXPECT_TRUE(std::holds_alternative<Workload::Nothing>(caller.after_step(action)));
  }
  caller.after_step(Action::acquire);
  for (const auto action : {Action::acquire, Action::write, Action::release}) {
    EXPECT_TRUE(std::holds_alternative<Workload::Nothing>(caller.after_step(action)));
  }
  caller.expect<Workload::Receive>(Workload::Granted{1});
  for (const auto action : {Action::acquire, Action::cancel}) {
    EXPECT_TRUE(std::holds_alternative<Workload::Nothing>(caller.after_step(action)));
  }
}

/// Its acquire ends after the faults: then nobody else would release.
TEST(Workload, AScriptedCallerReleasesWhatItIsGrantedAfterFaultsHaveEnded) {
  Caller caller(scripted());
  caller.after_step(StepPlan::Action::acquire);
  caller.expect<Workload::Nothing>(Workload::FaultsEnded{});
  caller.expect<Workload::Receive>(Workload::Granted{1});
  caller.expect<Workload::Release>(Workload::TimePassed{});
  caller.expect<Workload::End>(Workload::Released{});
}

RC_GTEST_PROP(Workload, ReleasesEachHoldingOnceWhateverIsGranted, (std::uint64_t seed)) {
  Caller caller(setting(), seed);
  auto action = caller.after(Workload::Started{});
  int granted = 0, released = 0, writes = 0;
  for (int i = 0; i < 500 && !caller.workload.ended(); ++i) {
    if (i == 250) (void)caller.after(Workload::FaultsEnded{});
    auto event = end_of(action);
    if (std::holds_alternative<Workload::Granted>(event) && *rc::gen::arbitrary<bool>()) {
      event = Workload::NotGranted{};
    }
    if (std::holds_alternative<Workload::Granted>(event)) ++granted;
    if (std::holds_alternative<Workload::Written>(event)) ++writes;
    if (std::holds_alternative<Workload::Released>(event)) ++released;
    action = caller.after(event);
  }
  RC_ASSERT(caller.workload.ended());
  RC_ASSERT(granted == released);
  RC_ASSERT(writes == 2 * granted);
}

}  // namespace
}  // namespace leasehold::sim

#include "sim/plan/workload.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <set>

namespace leasehold::sim {
namespace {

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

// What happens, in short.
constexpr Workload::TimePassed kTimePassed{};
constexpr Workload::Granted kGranted{1};
constexpr Workload::Written kWritten{};
constexpr Workload::Released kReleased{};
constexpr Workload::FaultsEnded kFaultsEnded{};

Workload::StepDue step(StepPlan::Action action, std::int64_t lock = 0) {
  return {{.action = action, .lock = lock, .acquire_timeout_ms = 70}};
}
using Do = StepPlan::Action;

/// A workload and what it draws from.
struct Caller {
  explicit Caller(Workload::Setting setting, std::uint64_t seed = 1)
      : workload(std::move(setting)), random(seed) {}

  Workload::Action after(const Workload::Event& event) { return workload.next(event, random); }

  /// The words of the actions after these events, one after the other.
  std::string after_all(const std::vector<Workload::Event>& events) {
    constexpr const char* kWords[] = {"rest", "acquire", "receive", "write", "hold",
                                      "release", "cancel", "nothing", "end"};
    std::string words;
    for (const auto& event : events) words += kWords[after(event).index()] + std::string(" ");
    return words;
  }
  /// The last of them, which has to be of this kind.
  template <typename T>
  T expect(const std::vector<Workload::Event>& events) {
    for (std::size_t i = 0; i + 1 < events.size(); ++i) after(events[i]);
    const auto action = after(events.back());
    EXPECT_TRUE(std::holds_alternative<T>(action)) << "kind " << action.index();
    const auto* found = std::get_if<T>(&action);
    return found != nullptr ? *found : T{};
  }
  Workload::Acquire acquire_from_start() {
    return expect<Workload::Acquire>({Workload::Started{}, kTimePassed});
  }

  Workload workload;
  Random random;
};

/// The event that ends this action, as a world that grants every acquire would report it.
Workload::Event end_of(const Workload::Action& action) {
  if (std::holds_alternative<Workload::Acquire>(action)) return kGranted;
  if (std::holds_alternative<Workload::Write>(action)) return kWritten;
  if (std::holds_alternative<Workload::Release>(action)) return kReleased;
  return kTimePassed;
}

TEST(Workload, WritesAtTheStartAndAtTheEndOfAHoldingAndReleases) {
  EXPECT_EQ(Caller(setting()).after_all({Workload::Started{}, kTimePassed, kGranted, kTimePassed,
                                         kWritten, kTimePassed, kWritten, kReleased, kTimePassed}),
            "rest acquire receive write hold write release rest acquire ");
  Caller caller(setting());
  EXPECT_LE(caller.expect<Workload::Hold>({Workload::Started{}, kTimePassed, kGranted, kTimePassed,
                                           kWritten}).time, milliseconds(4));
  EXPECT_LE(caller.expect<Workload::Rest>({kTimePassed, kWritten, kReleased}).time,
            milliseconds(4));
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
  const auto hold = Caller(holds).expect<Workload::Hold>(
      {Workload::Started{}, kTimePassed, kGranted, kTimePassed, kWritten});
  EXPECT_GE(hold.time, milliseconds(400));
  EXPECT_LE(hold.time, milliseconds(1'200));
}

TEST(Workload, EveryFourthSessionReliesOnLostAlone) {
  for (std::uint64_t session = 1; session <= 8; ++session) {
    const auto receive = Caller(setting()).expect<Workload::Receive>(
        {Workload::Started{}, kTimePassed, Workload::Granted{session}});
    EXPECT_EQ(receive.relies_on_lost, session % 4 == 0) << session;
  }
}

TEST(Workload, AcquiresTwiceWithALongTimeoutOnceFaultsHaveEndedAndEnds) {
  Caller caller(setting());
  caller.acquire_from_start();
  EXPECT_EQ(caller.after_all({kFaultsEnded}), "nothing ");
  Workload::Action action = caller.expect<Workload::Rest>({Workload::NotGranted{}});
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
  EXPECT_EQ(caller.after_all({kTimePassed}), "nothing ");
}

TEST(Workload, ADoomedCallerHoldsItsOwnLockUntilFaultsHaveEnded) {
  Caller caller(setting(grave_name("p7")));
  EXPECT_EQ(caller.acquire_from_start().lock, "grave-p7");
  EXPECT_EQ(caller.after_all({kGranted, kTimePassed, kWritten, kFaultsEnded, kReleased,
                              kTimePassed}),
            "receive write nothing release rest end ");
}

TEST(Workload, AScriptedCallerDoesItsStepsAndNothingElse) {
  Caller caller(scripted());
  const auto acquire =
      caller.expect<Workload::Acquire>({Workload::Started{}, step(Do::acquire, 2)});
  EXPECT_EQ(acquire.lock, "lock-2");
  EXPECT_EQ(acquire.timeout, milliseconds(70));
  EXPECT_EQ(caller.after_all({step(Do::cancel), kGranted, kTimePassed, step(Do::write), kWritten,
                              step(Do::release), kReleased, kFaultsEnded}),
            "cancel receive nothing write nothing release nothing end ");
  EXPECT_FALSE(Caller(scripted())
                   .expect<Workload::Receive>({step(Do::acquire), Workload::Granted{4}})
                   .relies_on_lost);
}

TEST(Workload, AStepThatDoesNotFitIsPassedOverAndWhatIsGrantedTooLateReleased) {
  EXPECT_EQ(Caller(scripted()).after_all(
                {step(Do::write), step(Do::release), step(Do::cancel), step(Do::acquire),
                 step(Do::acquire), step(Do::write), step(Do::release), kGranted,
                 step(Do::acquire), step(Do::cancel)}),
            "nothing nothing nothing acquire nothing nothing nothing receive nothing nothing ");
  // Its acquire ends after the faults: then nobody else would release.
  EXPECT_EQ(Caller(scripted()).after_all(
                {step(Do::acquire), kFaultsEnded, kGranted, kTimePassed, kReleased}),
            "acquire nothing receive release end ");
}

RC_GTEST_PROP(Workload, ReleasesEachHoldingOnceWhateverIsGranted, (std::uint64_t seed)) {
  Caller caller(setting(), seed);
  auto action = caller.after(Workload::Started{});
  int granted = 0, released = 0, writes = 0;
  for (int i = 0; i < 500 && !caller.workload.ended(); ++i) {
    if (i == 250) (void)caller.after(kFaultsEnded);
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

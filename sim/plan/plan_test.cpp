#include "sim/plan/plan.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "sim/plan/lock_registry.hpp"
#include "sim/virtual/world.hpp"

namespace leasehold::sim {
namespace {

std::string error_of(const std::string& text) {
  try {
    (void)plan_from_scn(text);
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

TEST(Faults, EachKindHasItsNameAndDrawnOnesAGroup) {
  const auto& groups = fault_groups();
  for (const auto kind : fault_kinds(Harm::assumption)) {
    EXPECT_EQ(fault_named(to_string(kind)), kind);
  }
  for (const auto kind : fault_kinds(Harm::none)) {
    EXPECT_NE(std::find(groups.begin(), groups.end(), group_of(kind)), groups.end())
        << to_string(kind);
  }
}

TEST(Faults, MembersAreHitFromTheFirstOneOn) {
  using K = FaultPlan::Kind;
  const auto hit = [](K kind, std::int64_t amount = 0) {
    return members_hit({.kind = kind, .amount = amount, .member = 2}, 0, 3);
  };
  EXPECT_EQ(hit(K::kill_member), (std::vector{2}));
  EXPECT_EQ(hit(K::kill_two), (std::vector{2, 0}));
  EXPECT_EQ(hit(K::kill_all), (std::vector{2, 0, 1}));
  EXPECT_EQ(hit(K::lost_data), (std::vector{2}));
  EXPECT_EQ(hit(K::lost_data, 2), (std::vector{2, 0}));
  EXPECT_EQ(hit(K::lost_data, 9), (std::vector{2, 0})) << "one has to know the set";
}

/// Else a process would be started that cannot run.
TEST(Plans, EachLineIsHeldAgainstItsRule) {
  const std::pair<const char*, const char*> cases[] = {
      {"lock leashold", "line 1: lock is 'leashold': it must be one of leasehold, "},
      {"lock", "line 1: lock is '': it must be one of leasehold, "},
      {"seed 12abc", "line 1: seed is '12abc': it must be a whole number"},
      {"locks 0", "line 1: locks is 0: it must be 1 to 1000"},
      {"locks 2 3", "line 1: '3' is too much"},
      {"clock-margin -1", "line 1: clock-margin is -1: it must be 0 to 86400000"},
      {"ttl-period 0", "line 1: ttl-period is 0: it must be 1 to 86400000"},
      {"election-timeout 0", "line 1: election-timeout is 0: it must be 1 to 86400000"},
      {"faulty -5", "line 1: faulty is -5: it must be 0 to 604800000"},
      {"dance", "line 1: unknown word 'dance'"},
      {"process expiry=soon", "line 1: expiry is 'soon': it must be a whole number"},
      {"process expiry=99", "line 1: expiry is 99 ms: it must be 100 ms to 24 h"},
      {"process expiry=300 expiry=400", "line 1: 'expiry' stands twice"},
      {"process colour=1", "line 1: unknown key 'colour'"},
      {"process expiry", "line 1: 'expiry' is not key=value"},
      {"process waiting=eager",
       "line 1: waiting is 'eager': it must be one of uniform, fixed, full-jitter, "},
      {"process wait-min=50 wait-max=20",
       "line 1: wait-min is 50: it must be at most wait-max, which is 20"},
      {"process wait-min=0", "line 1: wait-min is 0: it must be 1 to 86400000"},
      {"process callers=4294967297", "line 1: callers is 4294967297: it must be 1 to 64"},
      {"process hand-overs=1001", "hand_overs_in_a_row is 1001: it must be 0 to 1000"},
      {"process long-leases=0", "line 1: long-leases is 0: it must be 1 to 1000"},
      {"process long=101", "line 1: long is 101: it must be 0 to 100"},
      {"process scripted=2", "line 1: scripted is 2: it must be 0 to 1"},
      {"process expiry=900 operation-timeout=450",
       "line 1: operation_timeout is 450 ms: it must be positive and below half of expiry"},
      {"process expiry=900 cadence=900",
       "line 1: extension_cadence is 900 ms: it must be positive and below expiry (900 ms)"},
      {"process other-expiry=99", "line 1: expiry is 99 ms: it must be 100 ms to 24 h"},
      {"clock-margin 900\nprocess other-expiry=2000 other-margin=899",
       "line 2: other-margin is 899: it must be at least clock-margin, which is 900, for"},
      {"process max-drift=100001", "line 1: max-drift is 100001: it must be 0 to 100000"},
      {"failed-fetches 101", "line 1: failed-fetches is 101: it must be 0 to 100"},
      {"shards 2", "line 1: shards is 2: it must be 0 to 1"},
      {"process queue-room=65", "line 1: queue-room is 65: it must be 1 to 64"},
      {"seed 1\nfault fire at=1", "line 2: unknown fault 'fire': it must be one of crash, "},
      {"fault crash at=-1", "line 1: at is -1: it must be 0 to 604800000"},
      {"process\nfault crash at=1 nth=2",
       "line 2: nth is 2: a fault without on waits for no command"},
      {"process\nfault crash at=1 at-reply=1",
       "line 2: at-reply is 1: a fault without on waits for no command"},
      {"fault crash at=1 process=-7", "line 1: process is -7: it must be at least -1"},
      {"process\nfault crash at=1 process=1",
       "line 2: process is 1: the plan has only 1, counted from 0"},
      {"step dance at=0", "line 1: unknown step 'dance': it must be one of acquire, "},
      {"process\nstep acquire at=0 process=1",
       "line 2: process is 1: the plan has only 1, counted from 0"},
      {"step release at=0 caller=1\nprocess",
       "line 1: caller is 1: the plan has only 1, counted from 0"},
      {"locks 2\nprocess\nstep acquire at=0 lock=2",
       "line 3: lock is 2: the plan has only 2, counted from 0"},
      {"lock leasehold\n", "line 1: the plan ends without a process"},
  };
  for (const auto& [text, sentence] : cases) {
    EXPECT_NE(error_of(text).find(sentence), std::string::npos) << text << "\n" << error_of(text);
  }
}

TEST(Plans, EverySecondCallerHasTheOtherOptions) {
  const ProcessPlan plan{.max_holding_ms = 600, .operation_timeout_ms = 300,
                         .extension_cadence_ms = 400, .other_expiry_ms = 5'000,
                         .other_margin_ms = 700};
  const auto one = options_of(plan, "leasehold", 500, 2);
  const auto other = options_of(plan, "leasehold", 500, 3);
  using std::chrono::milliseconds;
  EXPECT_EQ(one.expiry, milliseconds(1'000));
  EXPECT_EQ(one.clock_margin, milliseconds(500));
  EXPECT_EQ(one.operation_timeout, milliseconds(300));
  EXPECT_EQ(one.extension_cadence, milliseconds(400));
  EXPECT_EQ(other.expiry, milliseconds(5'000));
  EXPECT_EQ(other.clock_margin, milliseconds(700));
  EXPECT_EQ(other.max_holding, milliseconds(600)) << "as the others";
  EXPECT_EQ(other.operation_timeout, std::nullopt);
  EXPECT_EQ(other.extension_cadence, std::nullopt);
}

TEST(Plans, EveryLockThatAPlanMayNameIsKnownToTheVirtualWorld) {
  for (const auto& lock : locks()) {
    if (lock.sabotage == Sabotage::dies_deleting) continue;  // and so would this test
    Plan plan;
    plan.lock = lock.name;
    plan.faulty_ms = 200;
    plan.processes.resize(1);
    EXPECT_FALSE(simulated::run(plan).history.empty()) << lock.name;
  }
  EXPECT_TRUE(lock_under_test("document-level").runs_live);
  EXPECT_FALSE(lock_under_test("canary-extend").runs_live);
}

}  // namespace
}  // namespace leasehold::sim

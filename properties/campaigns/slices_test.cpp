#include "properties/campaigns/verify.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "properties/campaigns/simulate.hpp"

namespace leasehold::properties {
namespace {

using model::Check;
using model::Event;
using model::Finding;
using model::Kind;
using model::Verdict;
using sim::FaultPlan;

Event event(std::int64_t at_ms, Kind kind, const std::string& process = "") {
  return {.at_ns = at_ms * model::kMs, .kind = kind, .process = process};
}

Event fault(std::int64_t at_ms, const char* what, const char* victim, bool ends = false) {
  return {.at_ns = at_ms * model::kMs,
          .kind = Kind::fault,
          .victim = victim,
          .fault = what,
          .begins = !ends,
          .ends = ends};
}

Finding violated(Check check, std::vector<model::Index> events) {
  return {.check = check, .verdict = Verdict::violated, .events = std::move(events)};
}

/// The holder p1 is stopped, p4 gets the lock, and p2 deletes it: from the tenth to the twelfth
/// second of a run that began at 5,000 ms.
class Slices : public testing::Test {
 protected:
  Slices() {
    for (int i = 0; i < 6; ++i) plan.processes.push_back({.expiry_ms = 1'000 + i});
    plan.locks = 3;
    plan.faulty_ms = 20'000;
    using enum FaultPlan::Kind;
    const FaultPlan of_p4{.kind = wall_clock, .at_ms = 11'000, .for_ms = 500, .process = 4};
    plan.faults = {{.kind = pause, .at_ms = 2'000, .for_ms = 1'000},        // long over
                   {.kind = kill_member, .at_ms = 8'000, .for_ms = 1'500},  // still echoes
                   {.kind = pause, .at_ms = 9'000, .for_ms = 1'800},        // of p1
                   {.kind = pause, .at_ms = 10'900, .for_ms = 1'800},       // of p3
                   of_p4,
                   {.kind = step_up, .at_ms = 11'200},   // had no effect
                   {.kind = ttl_off, .at_ms = 12'500}};  // later
  }

  const model::History history{event(5'000, Kind::run),
                               event(7'300, Kind::pause, "p1.1"),
                               fault(13'310, "kill-member", "member-1"),
                               event(14'200, Kind::pause, "p1.2"),
                               event(15'000, Kind::granted, "p1.2"),  // 4
                               event(16'200, Kind::pause, "p3.1"),
                               fault(16'310, "wall-clock", "p4.1"),
                               event(16'500, Kind::reply, "p2.1"),    // 7
                               fault(16'600, "step-up", "", true),    // of an earlier one
                               event(17'000, Kind::granted, "p4.1"),  // 9
                               fault(17'800, "ttl-off", ""),
                               event(18'000, Kind::crash, "grave0")};  // 11
  const std::vector<Finding> findings{violated(Check::G1, {4, 9}), violated(Check::G6, {9, 7}),
                                      Finding{.check = Check::G7}, violated(Check::G8, {11})};
  sim::Plan plan;
};

TEST_F(Slices, AreWhatTookPartInTheViolationTheSmallestFirst) {
  const auto found = slices(plan, history, findings, Check::G1);
  ASSERT_EQ(found.size(), 4u);
  auto expected = plan;
  expected.locks = 1;
  expected.faulty_ms = 6'000;
  expected.processes = {plan.processes[1], plan.processes[4]};
  expected.faults = {};
  EXPECT_EQ(found[0], expected) << to_scn(found[0]);

  // 7.5 s earlier each, and two leases after the last one.
  expected.faulty_ms = 11'000 - 7'500 + 500 + 2 * 1'004;
  expected.faults = {plan.faults[1], plan.faults[2], plan.faults[4]};
  for (auto& f : expected.faults) f.at_ms -= 7'500;
  expected.faults.back().process = 1;
  EXPECT_EQ(found[1], expected) << to_scn(found[1]);

  expected.processes = {plan.processes[1], plan.processes[2], plan.processes[4]};
  expected.faults.back().process = 2;
  EXPECT_EQ(found[2], expected) << to_scn(found[2]);

  expected.processes = plan.processes;
  expected.faults.back().process = 4;
  expected.faults.insert(expected.faults.end() - 1, plan.faults[3]);
  expected.faults[2].at_ms -= 7'500;
  expected.faulty_ms = 10'900 - 7'500 + 1'800 + 2 * 1'005;
  EXPECT_EQ(found[3], expected) << to_scn(found[3]);
}

TEST_F(Slices, FindingsWithoutAProcessOfThePlanHaveNone) {
  EXPECT_TRUE(slices(plan, history, findings, Check::G8).empty()) << "a grave is none of it";
  EXPECT_TRUE(slices(plan, history, findings, Check::G7).empty()) << "it has no events";
  EXPECT_TRUE(slices(plan, history, findings, Check::G2).empty()) << "it was not checked";
  for (auto& p : plan.processes) p.scripted = true;
  EXPECT_TRUE(slices(plan, history, findings, Check::G1).empty()) << "its steps name places";
}

TEST_F(Slices, NoneIsThePlanItselfOrThereTwice) {
  plan.locks = 1;
  plan.faulty_ms = 5'000;
  plan.processes.resize(2);
  plan.faults.clear();
  const model::History both{event(0, Kind::run), event(10, Kind::granted, "p0.1"),
                            event(20, Kind::granted, "p1.1")};
  EXPECT_TRUE(slices(plan, both, {violated(Check::G1, {1, 2})}, Check::G1).empty());
  plan.locks = 2;
  EXPECT_EQ(slices(plan, both, {violated(Check::G1, {1, 2})}, Check::G1).size(), 1u);
}

/// A canary's violation seldom needs what took no part in it.
TEST(SlicesOfRuns, AreSmallAndSomeFailAsTheWholePlanDid) {
  int broken = 0, failed = 0;
  for (std::uint64_t seed = 1; seed <= 15; ++seed) {
    const auto plan = draw_plan(seed, {.lock = "canary"});
    const auto one = simulate(plan);
    const auto check = first_violated(one.judgement.findings);
    if (!check) continue;
    ++broken;
    const auto found = slices(plan, one.run.history, one.judgement.findings, *check);
    failed += std::any_of(found.begin(), found.end(), [&](const sim::Plan& slice) {
      return 2 * entries(slice) <= entries(plan) && breaks(simulate(slice).judgement, *check);
    });
  }
  EXPECT_GE(broken, 8);
  EXPECT_GE(failed * 2, broken) << "of " << broken;
}

}  // namespace
}  // namespace leasehold::properties

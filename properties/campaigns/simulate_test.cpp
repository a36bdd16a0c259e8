#include "properties/campaigns/campaign.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <functional>

#include "properties/campaigns/verify.hpp"

namespace leasehold::properties {
namespace {

using model::Check;
using model::Verdict;

std::string explain(const Simulated& one) {
  std::string text;
  for (const auto& f : one.judgement.findings) {
    if (f.verdict != Verdict::holds)
      text += std::string(to_string(f.check)) + ": " + f.why + '\n';
  }
  return text;
}

/// Any vector of numbers is a plan.
RC_GTEST_PROP(VirtualProperty, EveryPlanIsReadBack, (const Numbers& numbers)) {
  const auto plan = plan_from(numbers, {});
  RC_ASSERT(sim::plan_from_scn(sim::to_scn(plan)) == plan);
}

SimulateReport simulate_seeds(std::uint64_t from, std::uint64_t to, const PlanLimits& limits) {
  SimulateReport report;
  for (std::uint64_t seed = from; seed <= to; ++seed) {
    const auto plan = draw_plan(seed, limits);
    report.add({seed, plan, simulate(plan), true});
  }
  return report;
}

/// As `simulate --seeds 1..200 --hash` prints it.
constexpr std::uint64_t kHashOfSeeds1To200 = 0xc77139796e3b7fe2;

void expect_no_violation(std::uint64_t seed) {
  for (const auto& f : simulate_seeds(seed, seed, {}).findings) {
    EXPECT_NE(f.verdict, Verdict::violated) << f.why;
  }
}

void expect_that_it_holds(const SimulateReport& report) {
  for (const auto& f : report.findings) EXPECT_EQ(f.verdict, Verdict::holds) << f.why;
}

/// Whoever changes behaviour on purpose sets the new hash of the histories, which is the same on
/// every machine and in every build. Without a purpose it is a finding. `--deep` runs ten times as
/// many.
TEST(Simulate, HoldsOverManySeedsWithEveryFaultFelt) {
  const auto report = simulate_seeds(1, 200, {});
  EXPECT_EQ(report.hash, kHashOfSeeds1To200);
  EXPECT_EQ(report.shortfall(), "");
  expect_that_it_holds(report);
  EXPECT_EQ(report.enabled.size(), sim::fault_kinds(sim::Harm::none).size());
  for (const auto& [what, seen] : report.with) EXPECT_GT(seen, 0) << what;
  for (const char* what : {"elections", "rolled-back", "ttl-deletions", "wtimeouts",
                           "begun-at-a-command", "tickets", "batches-of-fifty"}) {
    EXPECT_GT(properties::count_of(report.took_effect, what), 0) << what;
  }
  EXPECT_GT(report.totals.at("takeovers"), 50);
  EXPECT_GT(report.totals.at("stale_writes"), 5);
}

/// An unanswered change stream counts, too: seed 9018 was violated, because the checker thought
/// that its process might send two commands at once.
TEST(Simulate, HoldsWhereOneCommandAsksAtATimeAfterAStreamWentUnanswered) {
  expect_no_violation(9018);
}

/// A server's clock went back, and so the place of a writer that renewed it was over sooner: a
/// reader passed it, and the checker knew the first date alone.
TEST(Simulate, HoldsWhereAReaderPassesAPlaceThatItsRenewalShortened) {
  expect_no_violation(725);
}

/// The turn of those that one write admitted together lasts as long as the longest of them.
TEST(Simulate, HoldsWhereAReaderWaitsForTheLongerOfTwoPermitsOfOneBatch) {
  expect_no_violation(13300);
}

/// A free document names whom the lock is offered: his own write came later.
TEST(Simulate, HoldsWhereAReleaseFindsTheDocumentOfAFreeLock) {
  expect_no_violation(88493);
}

TEST(Simulate, HoldsWhereProcessesQueueBesideOthersThatDoNot) {
  using enum sim::Waiting;
  for (const auto& waitings : {std::vector{queue}, std::vector{queue, uniform, queue, adaptive}}) {
    PlanLimits limits;
    limits.waitings = waitings;
    const auto report = simulate_seeds(1, 40, limits);
    expect_that_it_holds(report);
    EXPECT_GT(report.totals.at("passed_on"), 800) << "from process to process";
    EXPECT_GT(report.totals.at("takeovers"), 20);
    EXPECT_GT(report.totals.at("queue_turns"), 400);
    EXPECT_GT(report.totals.at("queue_waits"), 40);
  }
}

/// Plans in which every process is changed so.
SimulateReport simulate_changed(std::uint64_t last, const std::string& lock, int locks,
                                const std::function<void(sim::ProcessPlan&)>& change) {
  const PlanLimits limits{.lock = lock, .locks = {locks, locks}};
  SimulateReport report;
  for (std::uint64_t seed = 1; seed <= last; ++seed) {
    auto plan = draw_plan(seed, limits);
    for (auto& process : plan.processes) {
      process.permits = process.together = process.reads_percent = 0;
      process.leads = false;
      change(process);
    }
    report.add({seed, plan, simulate(plan), false});
  }
  return report;
}

/// With a kind of call in every process: what happens more often than that, and that a planted
/// error is found.
void expect_that_all_hold(const char* ability, int locks, const Totals& more_than,
                          const std::function<void(sim::ProcessPlan&)>& change) {
  constexpr int kSeeds = 24;
  const auto report = simulate_changed(kSeeds, "leasehold", locks, change);
  expect_that_it_holds(report);
  EXPECT_EQ(report.with.at(ability), kSeeds);
  for (const auto& [what, count] : more_than) EXPECT_GT(report.totals.at(what), count) << what;
  EXPECT_FALSE(simulate_changed(10, "canary", locks, change).failed.empty());
}

TEST(Simulate, HoldsWhereProcessesCallForPermits) {
  const Totals more_than{{"permits_held", 1'000}, {"readers_left", 20}};
  for (const int permits : {1, 3}) {
    expect_that_all_hold("permits", 1, more_than, [=](auto& p) {
      p.permits = permits;
      p.old_release = false;
    });
  }
}

TEST(Simulate, HoldsWhereProcessesCallForSeveralLocksAtOnce) {
  expect_that_all_hold(
      "calls_for_several_locks", 3,
      {{"all_calls", 2'000}, {"healed_all_calls", 40}, {"lost_while_others_waited", 8}},
      [](auto& p) { p.together = 2; });
}

TEST(Simulate, HoldsWhereReadersShareLocks) {
  expect_that_all_hold("readers", 1,
                       {{"batches", 100}, {"joins_refused", 500}, {"dead_readers", 20},
                        {"entries_shared", 200}},
                       [](auto& p) { p.reads_percent = p.old_release ? 0 : 60; });
}

TEST(Simulate, HoldsWhereProcessesStandForElection) {
  expect_that_all_hold("leaders", 1, {{"terms", 800}, {"lost_fired", 20}},
                       [](auto& p) { p.leads = true; });
}

TEST(Simulate, WhereNoCallQueuesNoStreamHasToBreak) {
  PlanLimits limits;
  limits.waitings = {sim::Waiting::uniform, sim::Waiting::adaptive};
  const auto report = simulate_seeds(1, 25, limits);
  EXPECT_EQ(report.with.at("queues"), 0);
  EXPECT_EQ(report.shortfall().find("streams"), std::string::npos) << report.shortfall();
}

/// When this session ended, by whatever; never: kNever.
std::int64_t end_of(const model::History& history, const model::Event& granted) {
  for (const auto& e : history) {
    const bool ends = e.kind == model::Kind::lost || e.kind == model::Kind::release;
    const bool own = e.process == granted.process && e.at_ns >= granted.at_ns;
    if (own && ends && e.session == granted.session) return e.at_ns;
    if (own && e.kind == model::Kind::crash) return e.at_ns;
  }
  return model::kNever;
}

/// The longest that a holder went on after an administrator took its document away, in shares of
/// its lease. Counts those that held then.
double longest_unaware(const model::History& history, const std::string& kind, int& held) {
  std::map<std::pair<std::string, std::int64_t>, model::Event> asks;
  std::vector<model::Event> grants;
  double longest = 0;
  for (const auto& e : history) {
    if (e.kind == model::Kind::ask) asks[{e.process, e.session}] = e;
    if (e.kind == model::Kind::granted) grants.push_back(e);
    if (e.kind != model::Kind::fault || e.fault != kind) continue;
    const bool writes = std::ranges::any_of(history, [&](const auto& put) {
      return put.kind == model::Kind::put && put.lock_id == e.lock_id;
    });
    if (!e.lock_id.empty() && !writes) continue;  // the lock was extended or released meanwhile
    for (const auto& grant : grants) {
      const auto end = end_of(history, grant);
      const auto& ask = asks.at({grant.process, grant.session});
      if ((!e.victim.empty() && grant.name != e.victim) || end <= e.at_ns) continue;
      ++held;
      const auto lease = static_cast<double>(ask.expiry_ms * model::kMs);
      longest = std::max(longest, static_cast<double>(end - e.at_ns) / lease);
    }
  }
  return longest;
}

/// Nobody tells the holder. Who asks next is granted the lock, but after a forced release: G1 and
/// G2, and with them the second half of G3. Everything else holds.
TEST(Administrator, IsFoundOutByTheNextExtensionAndTokensStillRise) {
  using enum sim::FaultPlan::Kind;
  for (const auto kind : {drop_collection, delete_document, force_release}) {
    SCOPED_TRACE(to_string(kind));
    int held = 0;
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      auto plan = draw_plan(seed, {.only = kind});
      // On one set: a lock that moves to another shard is written by the move, and waits for it.
      plan.shards = false;
      // Who has to end within its lease anyway is not extended, and finds out by its deadline.
      for (auto& p : plan.processes) p.max_holding_ms = 0;
      const auto one = simulate(plan);
      for (const auto& f : one.judgement.findings) {
        const bool hurt = f.check == Check::G1 || f.check == Check::G2 ||
                          f.check == Check::G3 || f.check == Check::arrows;
        const bool may_be = sim::harm_of(kind) == sim::Harm::assumption;
        EXPECT_TRUE((may_be && hurt) || f.verdict == Verdict::holds || f.never_tested())
            << seed << ' ' << to_string(f.check) << f.why;
        EXPECT_EQ(f.why.find("accepted a write of an earlier holder"), std::string::npos) << seed;
      }
      EXPECT_LT(longest_unaware(one.run.history, to_string(kind), held), 0.67) << seed;
    }
    EXPECT_GT(held, 5);
  }
}

/// The clock of the holder is as slow as it may be, that of the administrator as fast, and no
/// extension gets through: its lease has just been extended when the lock is taken from it.
TEST(Simulate, AForcedReleaseWaitsUntilAHolderThatHearsNothingMustHaveNoticed) {
  const auto one = simulate(sim::plan_from_scn(R"(
seed 1
locks 1
faulty 8000
process expiry=3000 drift=-4000 scripted=1
process expiry=3000 wait-min=1 wait-max=2 waiting=fixed scripted=1
fault cut-link at=1063 for=5000 process=0
fault force-release at=1064
step acquire at=100 process=0 timeout=500
step acquire at=1200 process=1 timeout=6000
)"));
  EXPECT_EQ(one.verdict(), Verdict::holds) << explain(one);
  std::int64_t lost_ns = 0, granted_ns = 0;
  for (const auto& e : one.run.history) {
    if (e.kind == model::Kind::lost) lost_ns = e.at_ns;
    if (e.kind == model::Kind::granted) granted_ns = e.at_ns;
  }
  EXPECT_GT(granted_ns, lost_ns);
  EXPECT_LT(granted_ns - lost_ns, 30 * model::kMs) << "and not much longer";
}

/// Both secondaries fail to fetch at 3.98 s; a holder dies at 4 s. Its document is deleted in time,
/// and has gone for a majority at 14 s.
TEST(Simulate, ASetThatIsBusyWithItselfAfterTheLastFaultBreaksNoGuarantee) {
  auto one = simulate(sim::plan_from_scn(R"(
seed 9
locks 1
clock-margin 200
faulty 8000
process expiry=300 wait-min=5 wait-max=60
process expiry=300 wait-min=5 wait-max=60
fault refuse-sync at=3980 for=300 member=1
fault refuse-sync at=3980 for=300 member=2
)"));
  EXPECT_EQ(one.verdict(), Verdict::holds) << explain(one);
  std::int64_t longest_ns = 0;
  std::erase_if(one.run.history, [&](const model::Event& e) {
    if (e.kind != model::Kind::no_majority) return false;
    longest_ns = std::max(longest_ns, e.at_ns - e.from_ns);
    return true;
  });
  EXPECT_GT(longest_ns, 9'900 * model::kMs);
  EXPECT_LT(longest_ns, 10'200 * model::kMs);
  EXPECT_EQ(first_violated(judge(one.run.history).findings), Check::G8) << "nobody measured it";
}

TEST(Canary, IsFoundAndReducedToAFewEntries) {
  const auto breaks = [](const sim::Plan& candidate) {
    return model::overall(simulate(candidate).judgement.findings) == Verdict::violated;
  };
  for (const char* lock : {"canary", "canary-extend"}) {
    std::uint64_t seed = 1;
    while (seed < 100 && !breaks(draw_plan(seed, {.lock = lock}))) ++seed;
    const auto plan = draw_plan(seed, {.lock = lock});
    ASSERT_TRUE(breaks(plan)) << lock << " is not found in 100 seeds";
    const auto small = minimise(plan, breaks);
    EXPECT_TRUE(breaks(sim::plan_from_scn(sim::to_scn(small))));
    EXPECT_LE(entries(small), 10u) << sim::to_scn(small);
    EXPECT_LT(entries(small), entries(plan));
  }
}

/// A canary's violation seldom needs what took no part in it.
TEST(SlicesOfRuns, AreSmallAndSomeFailAsTheWholePlanDid) {
  int broken = 0, failed = 0;
  for (std::uint64_t seed = 1; seed <= 24; ++seed) {
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

TEST(Simulate, ALockThatDiesIsViolatedAndNamesItsSeed) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        dup2(STDERR_FILENO, STDOUT_FILENO);  // which this test looks at
        conclude_deaths();
        for (std::uint64_t seed = 1; seed < 20; ++seed) {
          (void)simulate(draw_plan(seed, {.lock = "canary-crash"}), seed);
        }
      },
      testing::ExitedWithCode(1),
      "check failed: sabotage[^\n]*\n[^\n]*the lock died in the run of seed 1?[0-9];");
}

TEST(Simulate, BelowItsFloorsARunIsUnknown) {
  SimulateReport report;
  EXPECT_EQ(report.shortfall(), "nothing ran");
  sim::Plan idle;
  idle.processes.resize(1);
  idle.processes[0].hold_ms = 2'000;
  idle.faulty_ms = 200;
  report.add({1, idle, simulate(idle), false});
  EXPECT_NE(report.shortfall().find("1 of 1 runs had fewer than 10 acquisitions"),
            std::string::npos);
  report.runs = 10'000;
  EXPECT_EQ(report.shortfall().find("acquisitions"), std::string::npos);
  EXPECT_EQ(report.answer().verdict, Verdict::unknown);
}

TEST(Simulate, AFaultHasAFloorThatLeavesAFewRunsToChance) {
  const auto shortfall = [](std::int64_t runs, std::int64_t felt) {
    SimulateReport report;
    report.runs = 1;
    report.enabled["pause"] = runs;
    report.bit["pause"] = felt;
    return report.shortfall();
  };
  EXPECT_EQ(shortfall(64, 24), "");
  EXPECT_EQ(shortfall(64, 23),
            "the fault pause took effect in 23 of the 64 runs that had it, the floor is 24");
  EXPECT_NE(shortfall(10'000, 4'899), "") << "of many runs it is half";
}

TEST(Simulate, RareSituationsHaveAFloorFromTwoHundredRunsOn) {
  SimulateReport report;
  report.runs = 200;
  for (const char* usual : {"extensions", "takeovers", "losses", "hand_overs", "held_too_long"}) {
    report.totals[usual] = 50;
  }
  EXPECT_NE(report.shortfall().find("the floor is one in 200"), std::string::npos);
  report.runs = 199;
  EXPECT_EQ(report.shortfall(), "");
}

}  // namespace
}  // namespace leasehold::properties

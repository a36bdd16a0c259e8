#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>

#include "model/history/history_builder.hpp"
#include "model/workers/worker_told.hpp"
#include "properties/campaigns/campaign.hpp"
#include "properties/campaigns/verify.hpp"
#include "properties/stories/scenario.hpp"
#include "sim/live/oplog/oplog.hpp"

namespace leasehold::properties {
namespace {

using model::Event;
using model::Finding;
using model::Check;
using model::Kind;
using model::Verdict;
using sim::FaultPlan;

VerifyOptions usual() {
  return {.seed = 11, .faults = {sim::fault_groups().begin(), sim::fault_groups().end()}};
}

TEST(VerifyPlans, OnSomebodyElsesServersOnlyFaultsThatNeedMorePowerAreLeftOut) {
  using sim::Power;
  const auto own_cases = cases_of(usual());
  for (const auto power : {Power::processes, Power::links}) {
    auto theirs = usual();
    theirs.set.uri = "mongodb://db1/?replicaSet=rs";
    theirs.set.power = power;
    theirs.set.ttl_period_ms = 60'000;
    const auto their_cases = cases_of(theirs);
    ASSERT_FALSE(their_cases.empty());
    ASSERT_LE(their_cases.size(), own_cases.size());
    std::size_t left_out = 0;
    for (std::size_t i = 0; i < their_cases.size(); ++i) {
      auto own = own_cases[i].plan;
      left_out += std::erase_if(
          own.faults, [&](const auto& fault) { return sim::power_of(fault.kind) > power; });
      EXPECT_EQ(own, their_cases[i].plan);
    }
    EXPECT_GT(left_out, 0u);
  }
}

/// A store of one member whose servers can only be killed, on a script that says so.
TEST(VerifyPlans, OnAnotherStoreOnlyItsOwnFaultsAreGeneratedAndAskedFor) {
  const auto file = testing::TempDir() + "leasehold-verify-store-" + std::to_string(getpid());
  std::ofstream(file) << "#!/bin/sh\necho '{\"name\":\"s\",\"members\":1,\"ports\":[\"c\"],"
                         "\"uri\":\"u\",\"faults\":[\"kill-member\",\"slow-link\"]}'\n";
  std::filesystem::permissions(file, std::filesystem::perms(0755));
  auto options = usual();
  options.seconds = 300;
  options.foreign.emplace();
  options.set.script = std::make_shared<sim::live::StoreScript>(file);
  std::filesystem::remove(file);
  std::set<std::string> kinds;
  for (const auto& one : cases_of(options)) {
    for (const auto& fault : one.plan.faults) kinds.insert(to_string(fault.kind));
  }
  EXPECT_EQ(kinds,
            (std::set<std::string>{"crash", "kill-member", "pause", "slow-link", "wall-clock"}));
  const auto floors = activity_floors(options);
  EXPECT_EQ(floors.at("failover faults"), 5) << "one of six kinds";
  EXPECT_EQ(floors.at("network faults"), 14) << "one of seven";
  EXPECT_EQ(floors.count("clock-jump"), 0u);
  EXPECT_NE(repeat_command(options, 0).find(" --store '" + file + "'"), std::string::npos);
}

/// What such a lock does when its lease is over is seen only if somebody holds it for longer.
TEST(VerifyPlans, HoldingsOfAWorkersLockOutlastItsLeaseAndClockMargin) {
  auto options = usual();
  const auto ours = cases_of(options).front().plan;
  options.foreign.emplace();
  const auto without = cases_of(options).front().plan;
  options.foreign->promises.clock_margin_ms = 1'000;
  const auto with = cases_of(options).front().plan;
  ASSERT_EQ(with.processes.size(), ours.processes.size());
  for (std::size_t i = 0; i < ours.processes.size(); ++i) {
    EXPECT_EQ(without.processes[i].long_hold_leases, 2);
    const auto expiry_ms = with.processes[i].expiry_ms;
    EXPECT_GE(with.processes[i].long_hold_leases * expiry_ms, expiry_ms + 2'000);
    EXPECT_GT(with.processes[i].long_hold_percent, ours.processes[i].long_hold_percent);
  }
  const auto wall_clocks = [](const sim::Plan& plan) {
    return std::count_if(plan.faults.begin(), plan.faults.end(), [](const FaultPlan& fault) {
      return fault.kind == FaultPlan::Kind::wall_clock;
    });
  };
  EXPECT_GT(wall_clocks(with), wall_clocks(ours));
}

TEST(VerifyPlans, ACaseAloneIsTheOneOfTheWholeRun) {
  auto options = usual();
  options.seconds = 110;  // no whole number of seconds for each case
  const auto all = cases_of(options);
  ASSERT_EQ(all.size(), 5u);
  options.only_case = 3;
  const auto one = cases_of(options);
  ASSERT_EQ(one.size(), 1u);
  EXPECT_EQ(one[0].plan, all[3].plan);
  EXPECT_EQ(hash_of(one), sim::hash_of({all[3].plan}));
  EXPECT_NE(hash_of(one), hash_of(all));
  // One that is added has the same length.
  options.only_case = static_cast<int>(all.size());
  const auto added = cases_of(options);
  ASSERT_EQ(added.size(), 1u);
  EXPECT_EQ(added[0].plan.faulty_ms, all[0].plan.faulty_ms);
  EXPECT_NE(added[0].plan.seed, all[0].plan.seed);
}

TEST(VerifyPlans, TheCommandThatRepeatsACaseHasEveryOptionThatShapedIt) {
  auto options = usual();
  options.seconds = 110;
  options.processes = 7;
  options.locks = 3;
  options.lock = "canary";
  options.faults = {"process", "ttl"};
  options.floor_percent = 20;
  options.set.uri = "mongodb://me:secret@db1,db2/?replicaSet=rs";
  EXPECT_EQ(repeat_command(options, 2),
            "leasehold-lab verify --seed 11 --case 2 --seconds 110 --processes 7 --locks 3 --lock "
            "canary --faults process,ttl --uri 'mongodb://me:***@db1,db2/?replicaSet=rs' "
            "--floors 20");
  VerifyOptions planned;
  planned.plan = sim::Plan();
  planned.plan_file = "it's mine.scn";
  EXPECT_EQ(repeat_command(planned, 4),
            "leasehold-lab verify --plan 'it'\\''s mine.scn' --case 4 --lock leasehold");
}

TEST(VerifyPlans, AGivenPlanRunsWithASeedOfItsOwnEachTime) {
  VerifyOptions options;
  options.plan = sim::Plan();
  options.plan->seed = 5;
  options.times = 3;
  const auto cases = cases_of(options);
  ASSERT_EQ(cases.size(), 3u);
  EXPECT_EQ(cases[2].plan.seed, 7u);
}

TEST(VerifyPlans, ASlowTtlMonitorIsWaitedForOnceIfTheSecondsAreEnough) {
  auto options = usual();
  options.set.uri = "mongodb://db1/?replicaSet=rs";
  options.set.ttl_period_ms = 60'000;
  const auto settling = [&] {
    const auto cases = cases_of(options);
    return std::count_if(cases.begin(), cases.end(), [](const auto& c) { return c.settles; });
  };
  options.seconds = 60;
  EXPECT_EQ(settling(), 0);
  options.seconds = 120;
  EXPECT_EQ(settling(), 1);
  EXPECT_TRUE(cases_of(options).back().settles);
  options.set.ttl_period_ms = 1'000;
  EXPECT_EQ(settling(), 6);
}

TEST(VerifyFloors, EachKindOfAChosenPlansFaultsHasToTakeEffect) {
  using enum FaultPlan::Kind;
  auto options = usual();
  options.plan = sim::Plan();
  for (const auto kind : {crash, lost_replies, lost_replies, errors}) {
    options.plan->faults.push_back({.kind = kind});
  }
  EXPECT_EQ(activity_floors(options),
            (Totals{{"crash", 1}, {"lost-replies", 1}, {"errors", 1}}));
  options.set.uri = "mongodb://db1/?replicaSet=rs";
  options.set.power = sim::Power::links;
  EXPECT_EQ(activity_floors(options), (Totals{{"crash", 1}, {"lost-replies", 1}}));
}

/// An administrator and fail points leave its documents alone.
TEST(VerifyFloors, AWorkersRunNeedsFaultsOfProcessesLinksAndClocks) {
  auto options = usual();
  options.foreign.emplace();
  options.seconds = 300;
  const auto floors = activity_floors(options);
  for (const char* what : {"acquisitions", "crash", "pause", "network faults", "clock-jump"}) {
    EXPECT_GT(floors.count(what), 0u) << what;
  }
  for (const char* what : {"ttl faults", "errors faults", "extensions", "queue_turns"}) {
    EXPECT_EQ(floors.count(what), 0u) << what;
  }
  VerifyReport unhurt;
  unhurt.options = options;
  unhurt.totals = {{"acquisitions", 5'000}, {"crash", 50}, {"pause", 50}};
  EXPECT_FALSE(idle(unhurt).empty()) << "its links let all through";
}

/// Little of a worker's documents is certain: else a longer run would be as far from its floor as a
/// short one.
TEST(VerifyFloors, AreNeverZeroAndOfAWorkersDocumentsNoMoreThanThoseOfAMinute) {
  auto options = usual();
  options.seconds = 20;
  options.floor_percent = 5;
  for (const auto& [check, floor] : floors_for(options)) EXPECT_GE(floor, 1) << to_string(check);
  options.seconds = 60;
  options.floor_percent = 100;
  EXPECT_EQ(floors_for(options).at(Check::G5), 3);
  options.foreign.emplace();
  options.seconds = 600;
  EXPECT_EQ(floors_for(options).at(Check::G1), 5);
  EXPECT_EQ(floors_for(options).at(Check::G6), 20);
  EXPECT_EQ(floors_for(options).at(Check::G2), 2'000);
  options.plan = sim::Plan();
  EXPECT_EQ(floors_for(options).at(Check::G5), 1);
}

Finding finding(Check check, std::int64_t checked) {
  return {.check = check, .checked = checked};
}

/// One that saw enough of all in its 60 s.
VerifyReport busy() {
  VerifyReport report;
  report.options = usual();
  report.options.seconds = 60;
  report.elapsed_s = 61;
  for (const auto& [check, floor] : floors_for(report.options)) {
    report.findings.push_back(finding(check, floor));
  }
  report.totals = activity_floors(report.options);
  return report;
}

Finding& found(VerifyReport& report, Check check) {
  return *std::find_if(report.findings.begin(), report.findings.end(),
                       [&](const Finding& f) { return f.check == check; });
}

TEST(VerifyLength, ARunThatSawEnoughEndsWithItsSeconds) {
  EXPECT_EQ(shortfalls(busy()), std::vector<Shortfall>());
  EXPECT_FALSE(goes_on(busy()));
}

TEST(VerifyLength, ForWhatItSawTooSeldomItGoesOnUntilFiveTimesItsSecondsAreOver) {
  using Change = std::function<void(VerifyReport&)>;
  const std::pair<const char*, Change> missing[]{
      {"acquisitions 532 of 600, G1 3 of 5",
       [](auto& report) {
         report.totals["acquisitions"] = 532;
         found(report, Check::G1).checked = 3;
       }},
      {"refinement 0 of 1",
       [](auto& report) {
         report.findings.push_back(finding(Check::refinement, 0));
         conclude(report.findings, {});
       }},
      {"G5 0 of 3", [](auto& report) {
         found(report, Check::G5).leave_open(model::Open::stalled, "a was notified late");
       }}};
  for (const auto& [what, change] : missing) {
    auto report = busy();
    change(report);
    EXPECT_EQ(to_string(shortfalls(report)), what);
    for (const double elapsed_s : {61., 179., 299.}) {
      report.elapsed_s = elapsed_s;
      EXPECT_TRUE(goes_on(report)) << what << elapsed_s;
    }
    report.elapsed_s = 300;
    EXPECT_FALSE(goes_on(report)) << what;
  }
}

TEST(VerifyLength, ItDoesNotGoOnForWhatMoreCasesCannotChange) {
  auto report = busy();
  report.totals["acquisitions"] = 0;
  ASSERT_TRUE(goes_on(report));
  const std::pair<const char*, void (*)(VerifyReport&)> decided[]{
      {"violated", [](auto& r) { found(r, Check::G2).verdict = Verdict::violated; }},
      {"unknown", [](auto& r) { found(r, Check::G2).verdict = Verdict::unknown; }},
      {"interrupted", [](auto& r) { r.interrupted = true; }},
      {"harness failure", [](auto& r) { r.harness_failure = "p0.1 killed by signal 11"; }},
      {"a case alone", [](auto& r) { r.options.only_case = 3; }}};
  for (const auto& [why, change] : decided) {
    auto other = report;
    change(other);
    EXPECT_FALSE(goes_on(other)) << why;
  }
}

/// But for a scripted one, which shows the same each time.
TEST(VerifyLength, AChosenPlanIsRunUpToFiveTimesAsOftenAsWasAsked) {
  auto report = busy();
  report.options.plan = sim::Plan();
  report.options.plan->processes.emplace_back();
  report.options.times = 2;
  found(report, Check::G5).checked = 0;
  for (report.cases = 2; report.cases < 10; ++report.cases) EXPECT_TRUE(goes_on(report));
  EXPECT_FALSE(goes_on(report));
  report.cases = 2;
  report.options.plan->processes[0].scripted = true;
  EXPECT_FALSE(goes_on(report));
  report.options.plan->processes[0].scripted = false;
  found(report, Check::G5).checked = 1;
  EXPECT_FALSE(goes_on(report)) << "one check is enough";
}

/// Such a case takes 106 s there.
TEST(VerifyLength, ForASlowTtlMonitorItGoesOnOnlyIfThereIsTimeToWaitForIt) {
  auto report = busy();
  report.options.set.uri = "mongodb://db1/?replicaSet=rs";
  report.options.set.ttl_period_ms = 60'000;
  found(report, Check::G8).checked = 0;
  EXPECT_TRUE(goes_on(report));
  EXPECT_TRUE(settles_at_last(report));
  report.elapsed_s = 195;
  EXPECT_FALSE(goes_on(report));
  report.totals["acquisitions"] = 0;
  EXPECT_TRUE(goes_on(report));
  EXPECT_FALSE(settles_at_last(report));
}

TEST(Findings, AnUncheckedGuaranteeIsUnknownUntilAnotherRunChecksIt) {
  std::vector<Finding> all{finding(Check::G1, 3), finding(Check::G8, 0)};
  conclude(all, {});
  EXPECT_EQ(all[0].verdict, Verdict::holds);
  EXPECT_EQ(all[1].verdict, Verdict::unknown);
  merge(all, {finding(Check::G8, 2), finding(Check::G1, 1)});
  EXPECT_EQ(all[0].checked, 4);
  EXPECT_EQ(all[1].verdict, Verdict::holds);
  EXPECT_EQ(all[1].why, "");
}

TEST(Findings, CountsOfSeveralRunsAreSumsAndMaximaStayMaxima) {
  const auto with = [](std::int64_t steps, std::int64_t largest) {
    Finding f = finding(Check::refinement, 1);
    f.counts = {{"hidden_steps", steps}, {"largest_set", largest}};
    return f;
  };
  std::vector<Finding> all{with(3, 2)};
  merge(all, {with(4, 5)});
  merge(all, {with(1, 1)});
  EXPECT_EQ(all[0].counts, (Totals{{"hidden_steps", 8}, {"largest_set", 5}}));
}

Finding unknown_for(model::Open by) {
  Finding f = finding(Check::G5, 1);
  f.leave_open(by, "");
  return f;
}

TEST(Findings, AStallHidesNoOtherReason) {
  using enum model::Open;
  for (const bool stall_first : {true, false}) {
    std::vector<Finding> all{unknown_for(stall_first ? stalled : other)};
    merge(all, {unknown_for(stall_first ? other : stalled)});
    EXPECT_EQ(all[0].open, other);
  }
  const auto floors = floors_for(usual());
  EXPECT_TRUE(shortfall(unknown_for(stalled), floors));
  EXPECT_FALSE(shortfall(unknown_for(other), floors));
}

TEST(Findings, AViolationStaysOneInAnIncompleteHistory) {
  model::HistoryBuilder s;
  s.start(1, "a").ask(10, "a", 1).win(10, 20, "a", 1, 100).yes(5, 15, "a", 1);
  auto history = s.end(9'000);
  for (Event& e : history) {
    if (e.kind == Kind::granted) e.token = 7;
  }
  const auto judgement = judge(history);
  EXPECT_EQ(judgement.findings.front().verdict, Verdict::unknown);
  EXPECT_TRUE(breaks(judgement, Check::refinement));
}

/// The first guarantee with a limit of its own stands for all.
TEST(Findings, TooManyExcusesLeaveNothingThatHolds) {
  const auto limit = kExcuseLimits[0];
  const auto with = [&](Verdict verdict, std::int64_t excused, const Demands& demands) {
    Finding f = finding(limit.check, 100);
    f.verdict = verdict;
    f.excused[0] = excused;
    std::vector<Finding> all{f};
    conclude(all, demands);
    return all[0];
  };
  EXPECT_EQ(with(Verdict::holds, 19, {}).verdict, Verdict::holds) << "too few to tell";
  EXPECT_EQ(with(Verdict::holds, 900, {}).why,
            "too many were excused: 900 of 1000 checks (stalls 900), at most " +
                std::to_string(limit.simulated) + " % may be by what is not a pause");
  for (const bool live : {false, true}) {
    const auto percent = live ? limit.live : limit.simulated;
    const std::int64_t most = std::max(100 * percent / (100 - percent), 19);
    EXPECT_EQ(with(Verdict::holds, most, {.live = live}).verdict, Verdict::holds);
    EXPECT_EQ(with(Verdict::holds, most + 1, {.live = live}).verdict, Verdict::unknown);
    EXPECT_EQ(with(Verdict::holds, 900, {.live = live, .chosen = true}).verdict, Verdict::unknown);
    EXPECT_EQ(with(Verdict::violated, 900, {.live = live}).verdict, Verdict::violated);
  }
  EXPECT_EQ(with(Verdict::holds, 100, {.chosen = true}).verdict, Verdict::holds) << "a half";
  EXPECT_EQ(with(Verdict::holds, 101, {.chosen = true}).verdict, Verdict::unknown);
}

TEST(Findings, PausesOfAProcessAreCountedAndNotLimited) {
  Finding f = finding(kExcuseLimits[0].check, 100);
  f.excused[static_cast<std::size_t>(model::Excuse::pause)] = 900;
  std::vector<Finding> all{f};
  conclude(all, {.live = true});
  EXPECT_EQ(all[0].verdict, Verdict::holds);
  EXPECT_EQ(excused_percent(all[0]), 90);
}

TEST(Findings, AStalledRunIsDecidedByTheChecksOfAnother) {
  auto stalled = finding(Check::G5, 4);
  stalled.leave_open(model::Open::stalled, "a was notified late");
  stalled.excused[0] = 1;
  const auto certain = finding(Check::G5, 3);
  for (const bool stall_first : {true, false}) {
    std::vector<Finding> all{stall_first ? stalled : certain};
    merge(all, {stall_first ? certain : stalled});
    EXPECT_EQ(all[0].verdict, Verdict::holds);
    EXPECT_EQ(all[0].checked, 3) << "its own checks are not certain";
    EXPECT_EQ(all[0].all_excused(), 1);
  }
  std::vector<Finding> all{stalled};
  merge(all, {stalled});
  EXPECT_EQ(all[0].verdict, Verdict::unknown);
  auto violated = certain;
  violated.verdict = Verdict::violated;
  merge(all, {violated});
  EXPECT_EQ(all[0].verdict, Verdict::violated);
}

TEST(Findings, OnlyWhatIsViolatedIsMadeSmaller) {
  std::vector<Finding> all{finding(Check::G1, 3), finding(Check::G7, 1),
                           finding(Check::G8, 1)};
  all[1].verdict = Verdict::unknown;
  EXPECT_EQ(first_violated(all), std::nullopt);
  all[2].verdict = Verdict::violated;
  EXPECT_EQ(first_violated(all), Check::G8);
}

Event reread(const char* outcome, std::int64_t matched, std::int64_t order) {
  return {.kind = Kind::reread, .order = order, .outcome = outcome, .count = matched};
}

const Finding& majority_of(const Judgement& judgement) { return judgement.findings.back(); }

TEST(Findings, AnOplogEntryThatAMajorityHadAndThatVanishedIsAViolation) {
  auto judgement = judge({reread("kept", 4, 0)});
  EXPECT_EQ(majority_of(judgement).check, Check::majority);
  EXPECT_EQ(majority_of(judgement).verdict, Verdict::holds);
  EXPECT_EQ(majority_of(judgement).checked, 4);
  judgement = judge({reread("kept", 3, 0), reread("vanished", 0, 77)});
  EXPECT_EQ(majority_of(judgement).verdict, Verdict::violated);
  EXPECT_NE(majority_of(judgement).why.find("77"), std::string::npos);
  EXPECT_EQ(model::overall(judgement.findings), Verdict::violated);
}

TEST(Findings, ATruthThatWasNotReadToItsEndLeavesAllUnknown) {
  for (const auto& f : judge({reread("unread", 0, 0)}).findings) {
    EXPECT_EQ(f.verdict, Verdict::unknown) << to_string(f.check);
  }
}

TEST(Oplog, EntriesThatVanishedOrChangedAreTold) {
  using sim::live::SeenEntry;
  const std::vector<SeenEntry> seen{{1, 10}, {2, 20}, {3, 30}, {4, 40}};
  EXPECT_TRUE(sim::live::vanished(seen, seen, 0).empty());
  const std::vector<SeenEntry> again{{2, 20}, {3, 31}, {5, 50}};
  const std::vector<SeenEntry> expected{{3, 30}, {4, 40}};
  EXPECT_EQ(sim::live::vanished(seen, again, 2), expected) << "the oplog begins at 2 by now";
}

TEST(Stories, AWorkersViolationShowsWhatHappenedBetweenItsDecidingEvents) {
  const auto history = model::workers()
                           .got(10, 20, "a", 1, 1)
                           .put(12, 18, "A")
                           .freed(500, 510)
                           .got(505, 520, "b", 1, 2)
                           .yes(30, 600, "a", 1)
                           .end(900);
  std::vector<model::Index> decide;
  for (model::Index i = 0; i < history.size(); ++i) {
    const auto& e = history[i];
    const bool of_a = e.process == "a" && (e.kind == Kind::granted || e.kind == Kind::held);
    if (of_a || (e.process == "b" && e.kind == Kind::granted)) decide.push_back(i);
  }
  EXPECT_EQ(transcript_of(history, decide),
            (std::vector<std::string>{" >     20  a holds x, token 1",
                                      "      505  b asks for x, for at most 10000 ms",
                                      "      510  x's document disappears",
                                      " >    520  b holds x, token 2",
                                      " >    600  a answers that it holds x"}));
}

TEST(Stalls, TheLongestOfTheMachineIsToldAndNotAProcesss) {
  const auto stall = [](const char* process, const char* victim, std::int64_t from,
                        std::int64_t to) {
    return Event{.at_ns = to * model::kMs,
                 .kind = Kind::stall,
                 .process = process,
                 .victim = victim,
                 .from_ns = from * model::kMs};
  };
  auto stalls = stalls_in({stall("", "machine", 0, 150), stall("", "member-1", 10, 1'910),
                           stall("", "machine", 100, 300), stall("p0.1", "", 0, 9'000)});
  EXPECT_EQ(to_string(stalls),
            "1900 ms (member-1); the machine stood still for 3.4 % of the time");
  EXPECT_FALSE(stalls.mostly());
  EXPECT_EQ(to_string(stalls_in({})), "");
  stalls.add({9'000 * model::kMs, "machine", 9'000 * model::kMs, 9'100 * model::kMs});
  EXPECT_EQ(to_string(stalls), "9000 ms (machine); the machine stood still for 51.8 % of the time");
  EXPECT_TRUE(stalls.mostly());
}

/// Each cause alone: what the user is to do about it.
TEST(Advice, IsGivenForEveryCauseOfAnUnknown) {
  const auto said_of = [](const Finding& f, const Hindrances& hindrances = {}) {
    std::vector<Finding> all{finding(Check::G1, 9), f};
    conclude(all, {.floors = {{Check::G2, 5}}});
    return answer(all, hindrances).advice;
  };
  const auto unknown = [](model::Open by) {
    Finding f = finding(Check::G2, 9);
    f.leave_open(by, "");
    return f;
  };
  auto excused = finding(Check::G5, 1);
  excused.excused[0] = 900;
  const auto fine = finding(Check::G2, 9);
  const std::pair<std::string, const char*> all[]{
      {said_of(finding(Check::G2, 3), {.see_more = "run more"}),
       "seen too seldom: G2 3 of 5; run more"},
      {said_of(finding(Check::G2, 3)),
       "seen too seldom: G2 3 of 5; run a plan that does more of it"},
      {said_of(finding(Check::G3, 0)),
       "seen too seldom: G3 0 of 1; run a plan that does more of it"},
      {said_of(fine, {.too_seldom = "pause 0 of 1", .see_more = "run more"}),
       "seen too seldom: pause 0 of 1; run more"},
      {said_of(unknown(model::Open::stalled)),
       "too much was late (G2): run it on a machine that does less else"},
      {said_of(excused, {.see_more = "run more"}),
       "too much was late (G5): run it on a machine that does less else, or run more"},
      {said_of(fine, {.stood_still = true}),
       "the machine stood still for more than half of the time: give it more of a CPU"},
      {said_of(unknown(model::Open::unread)),
       "the server's oplog was not read to its end: make it larger, or give the user `read` on "
       "`local`"},
      {said_of(fine, {.interrupted = true}), "it was interrupted: let it run to its end"},
      {said_of(fine, {.nobody_ready = true}),
       "no worker became ready: run its command by hand, and see what it says"},
      {said_of(fine, {.harness_failure = "p0.1 died"}),
       "look at the last words of what died, and at memory and disk, and run it again"},
      {said_of(unknown(model::Open::other)),
       "the lines of G2 say what is missing; scenarios/guide/verdict.md says what to do"},
      {answer({}, {}).advice, "run it again: nothing was checked"}};
  for (const auto& [said, expected] : all) EXPECT_EQ(said, expected);
  auto violated = finding(Check::G2, 9);
  violated.verdict = Verdict::violated;
  EXPECT_EQ(said_of(fine), "") << "it holds";
  EXPECT_EQ(said_of(violated, {.interrupted = true}), "") << "more would not change it";
}

TEST(Trend, GrowsOnlyByMoreThanChance) {
  const auto line = trend({0, 10, 20, 30}, {5, 7, 9, 11});
  EXPECT_DOUBLE_EQ(line.mean, 8);
  EXPECT_DOUBLE_EQ(line.growth, 6);
  EXPECT_DOUBLE_EQ(line.error, 0);
  EXPECT_EQ(trend({4}, {7}).growth, 0);
  std::vector<double> minutes, noise, leak;
  for (int minute = 0; minute < 45; ++minute) {
    minutes.push_back(minute);
    // A wave that has not come to its end, as pools make it.
    noise.push_back(36 + 2 * std::sin(1.4 * minute) + (minute > 40 ? 2 : 0));
    leak.push_back(noise.back() + 0.1 * minute);
  }
  const auto flat = trend(minutes, noise), rising = trend(minutes, leak);
  EXPECT_GT(flat.growth, 0.5);
  EXPECT_FALSE(flat.grew(0.5)) << flat.growth << " +- " << flat.error;
  EXPECT_TRUE(rising.grew(0.5)) << rising.growth << " +- " << rising.error;
  EXPECT_FALSE(rising.grew(50));
}

TEST(Growth, IsKnownOfALongRunAlone) {
  const auto verdict = [](const Growth& growth, int minutes) {
    return growth_finding(growth, 60.0 * minutes, false).verdict;
  };
  Growth growth{.measured = 1};
  EXPECT_EQ(verdict(growth, 60), model::Verdict::holds);
  EXPECT_EQ(verdict(growth, 19), model::Verdict::unknown);
  EXPECT_EQ(verdict({}, 60), model::Verdict::unknown) << "no process was measured";
  growth.trends[kDescriptors] = {.mean = 30, .growth = 1, .error = 0.1};
  EXPECT_EQ(verdict(growth, 60), model::Verdict::violated);
}

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

}  // namespace
}  // namespace leasehold::properties

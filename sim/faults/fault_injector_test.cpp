#include "sim/faults/fault_injector.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

#include "sim/record/recorder.hpp"

namespace leasehold::sim {
namespace {

using std::chrono::milliseconds;
using K = FaultPlan::Kind;

constexpr std::int64_t kMs = 1'000'000;

/// Three members and one process, of which only what is asked of them is kept.
struct Recorded final : ProcessControl, MemberControl, DataControl, LinkControl {
  std::vector<ProcessView> running() override { return {{.name = "p0", .holds = true}}; }
  bool kill(const std::string&) override { return true; }
  void start_successor(const std::string&) override { ++successors; }
  void pause(const std::string&, bool) override { paused = true; }
  void resume(const std::string&) override { paused = false; }
  void set_wall_clock(const std::string&, std::int64_t) override {}
  bool saw_its_wall_clock(const std::string&) override { return clocks_are_seen; }

  int size() override { return 3; }
  int primary_now() override { return 0; }
  bool is_primary(int member) override { return member == 0; }
  bool reachable(int) override { return true; }
  bool step_up(int, milliseconds) override { return true; }
  bool step_down() override { return true; }
  void kill(const std::vector<int>&) override {}
  void restart(const std::vector<int>&) override {
    if (--restarts_fail >= 0) throw std::runtime_error("its port was taken");
  }
  void wipe(int) override {}
  void stop(const std::vector<int>&) override {}
  void resume(const std::vector<int>&) override {}
  bool all_have_all_data() override { return true; }
  void set_clock(int member, std::int64_t ahead_ms, std::int64_t rate_ppm) override {
    clocks[member] = {ahead_ms, rate_ppm};
  }
  std::int64_t clock_ahead_ms(int member) override { return clocks[member].first; }
  bool shows_its_clock(int) override { return clocks_are_seen; }
  void set_ttl_monitor(bool on) override { ttl_on = on; }
  std::int64_t ttl_passes() override { return 0; }
  std::optional<std::int64_t> ttl_seconds() override { return index; }
  void set_ttl_seconds(std::optional<std::int64_t> seconds) override { index = seconds; }
  bool drop_locks() override { return true; }
  std::string delete_lock(std::int64_t) override { return "lock-0"; }
  std::vector<std::string> held_locks() override { return {"grave-p9", "lock-0", "lock-1"}; }
  /// With a lease of 1 s, whoever wants it.
  void ask(const core::Command&, Answered answered) override {
    ++asked;
    core::LockDocument document{.name = "lock-1",
                                .lock_id = "00000000000000010000000000000002.1000.7"};
    document.expires_at.since_1970_ms = 1;
    answered({.outcome = core::Outcome::done, .documents = {document}});
  }
  void fail_next(std::int64_t count, int, bool) override { failing = count; }
  std::int64_t stop_failing() override { return std::exchange(failing, 0); }
  std::optional<Inside> hold_inside(const std::string&, std::int64_t, std::int64_t) override {
    return std::nullopt;
  }
  void set_link_rule(const Link& link, const LinkRule& rule) override { rules[link] = rule; }
  void reset_link(const Link&) override {}
  std::int64_t touched(const Link&) override { return touches; }
  int sent_to() override { return leads ? 0 : -1; }
  void settle() override { index_when_settled = index; }

  int successors = 0, restarts_fail = 0, asked = 0;
  bool paused = false, ttl_on = true, clocks_are_seen = true, leads = true;
  std::map<int, std::pair<std::int64_t, std::int64_t>> clocks;
  std::optional<std::int64_t> index = 0, index_when_settled;
  std::int64_t failing = 0, touches = 0;
  std::map<Link, LinkRule> rules;
};

struct Injection : testing::Test {
  explicit Injection(bool has_documents = true, bool has_members = true)
      : data(has_documents ? &cluster : nullptr), members(has_members ? &cluster : nullptr) {
    cluster.leads = has_documents || !has_members;
  }
  void inject(K kind, std::int64_t for_ms, std::int64_t amount = 0) {
    faults.inject({.kind = kind, .for_ms = for_ms, .amount = amount});
  }
  void run_to(std::int64_t ms) {
    while (!calls.empty() && calls.begin()->first <= ms * kMs) {
      const auto due = calls.extract(calls.begin());
      now = due.key();
      due.mapped()();
    }
    now = ms * kMs;
  }
  LinkRule rule() { return cluster.rules[{"p0", 0}]; }
  std::vector<std::string> notes() {
    std::vector<std::string> texts;
    for (const auto& e : history)
      texts.push_back(e.fault + (e.begins ? " begins" : e.ends ? " ends" : " "));
    return texts;
  }

  Recorded cluster;
  DataControl* const data;
  MemberControl* const members;
  std::int64_t now = 0;
  std::multimap<std::int64_t, std::function<void()>> calls;
  model::History history;
  std::map<K, int> counts;
  int insisted = 0;
  FaultInjector faults{
      {.processes = cluster,
       .servers = ServerControl{cluster, members, data},
       .now_ns = [this] { return now; },
       .call_at = [this](std::int64_t at, auto call) { calls.emplace(at, std::move(call)); },
       .emit = [this](model::Event e) { history.push_back(std::move(e)); },
       .count_effect = [this](K kind) { ++counts[kind]; },
       .insist =
           [this](const std::string&, const auto& attempt) {
             for (bool done = false; !done; ++insisted) {
               try {
                 done = attempt();
               } catch (const std::exception&) {
                 if (insisted > 2) throw;
               }
             }
           }},
      1'000};
};

struct InjectionWithoutDocuments : Injection {
  InjectionWithoutDocuments() : Injection(false) {}
};

struct InjectionIntoAUsersSet : Injection {
  InjectionIntoAUsersSet() : Injection(false, false) {}
};

TEST_F(InjectionIntoAUsersSet, DisturbsLinksAndLeavesTheServersAlone) {
  for (const auto kind : fault_kinds(Harm::assumption)) {
    if (power_of(kind) == Power::servers) inject(kind, 100);
  }
  EXPECT_EQ(notes(), std::vector<std::string>());
  inject(K::cut_link, 100);
  EXPECT_TRUE(rule().hold_requests);
  EXPECT_EQ(cluster.rules.size(), 1u) << "the others do not lead";
  faults.heal();
  EXPECT_EQ(rule(), LinkRule{});
}

TEST_F(InjectionWithoutDocuments, FaultsThatNeedThemPassAndTheOthersDoNot) {
  for (const auto& each : kAboutFaults) inject(each.kind, 10, 5);
  run_to(5'000);
  faults.heal();
  for (const auto kind : {K::ttl_off, K::drop_index, K::drop_collection, K::delete_document,
                          K::force_release, K::errors, K::waiting_inside}) {
    EXPECT_EQ(counts.count(kind), 0u) << to_string(kind);
  }
  EXPECT_EQ(counts.count(K::kill_member), 1u);
  EXPECT_EQ(counts.count(K::step_up), 1u);
}

TEST_F(Injection, AtACommandOrAReplyItBeginsAfterTheNthOfItsProcess) {
  faults.inject({.kind = K::lost_replies,
                 .for_ms = 40,
                 .process = 0,
                 .on = FaultPlan::Command::hand_over,
                 .nth = 2});
  EXPECT_TRUE(faults.awaits_a_command());
  faults.saw_command(0, "hand-over", false);
  faults.saw_command(1, "hand-over", false);
  faults.saw_command(0, "delete", false);
  run_to(5);
  EXPECT_EQ(notes(), std::vector<std::string>());
  faults.saw_command(0, "hand-over", false);
  EXPECT_EQ(notes(), std::vector<std::string>()) << "not within the sending";
  run_to(10);
  EXPECT_EQ(notes(), (std::vector<std::string>{"lost-replies begins"}));
  EXPECT_EQ(faults.begun_at_commands(), 1);
  EXPECT_FALSE(faults.awaits_a_command());
  run_to(100);
  EXPECT_EQ(notes().size(), 2u);
  faults.inject({.kind = K::ttl_off, .on = FaultPlan::Command::remove, .at_reply = true});
  faults.saw_command(0, "delete", false);
  run_to(110);
  EXPECT_EQ(faults.begun_at_commands(), 1);
  faults.saw_command(0, "delete", true);
  run_to(120);
  EXPECT_EQ(faults.begun_at_commands(), 2);
}

TEST_F(Injection, RulesOfOneLinkCombineWithTheLongerDelay) {
  inject(K::slow_link, 300, 20);
  inject(K::late_requests, 200, 30);
  inject(K::lost_replies, 100);
  const auto slow = milliseconds(20), late = milliseconds(30);
  EXPECT_EQ(rule(),
            (LinkRule{.hold_replies = true, .delay_requests = late, .delay_replies = slow}));
  inject(K::refuse_link, 50);
  inject(K::refuse_link, 60);
  EXPECT_TRUE(rule().refuse);
  EXPECT_FALSE((cluster.rules[{"p0", 1}].refuse)) << "it does not lead";
  run_to(50);
  EXPECT_TRUE(rule().refuse) << "the end of one leaves the other";
  run_to(60);
  EXPECT_FALSE(rule().refuse);
  run_to(200);
  EXPECT_EQ(rule(), (LinkRule{.delay_requests = slow, .delay_replies = slow}));
  inject(K::ttl_off, 500);
  inject(K::ttl_off, 200);
  run_to(400);
  EXPECT_FALSE(cluster.ttl_on) << "of the monitor, too";
  run_to(700);
  EXPECT_TRUE(cluster.ttl_on);
}

TEST_F(Injection, EndingADriftKeepsALaterJumpOfTheClock) {
  inject(K::clock_drift, 500, 1'000);
  run_to(100);
  inject(K::clock_jump, 0, 70);
  run_to(600);
  EXPECT_EQ(cluster.clocks[0], std::pair(std::int64_t{70}, std::int64_t{0}));
}

TEST_F(Injection, AClockThatWasMovedCountsOnceAnotherTimeThanTheTrueOneWasSeen) {
  const auto move_all = [&](std::int64_t amount) {
    inject(K::wall_clock, 100, amount);
    inject(K::clock_jump, 0, amount);
    run_to(now / kMs + 100);
  };
  cluster.clocks_are_seen = false;
  move_all(70);
  EXPECT_EQ(counts[K::wall_clock] + counts[K::clock_jump], 0);
  cluster.clocks_are_seen = true;
  move_all(60);
  EXPECT_EQ(counts[K::wall_clock], 1);
  EXPECT_EQ(counts[K::clock_jump], 1);
}

TEST_F(Injection, AFaultOfALinkCountsOnceSomethingWasTouched) {
  inject(K::slow_link, 200, 30);
  run_to(200);
  EXPECT_EQ(counts[K::slow_link], 0);
  inject(K::slow_link, 200, 30);
  ++cluster.touches;
  run_to(400);
  EXPECT_EQ(counts[K::slow_link], 1);
}

TEST_F(Injection, HealingEndsAllAndTheIndexLastAndNothingBeginsAfterThat) {
  inject(K::crash, 0);
  run_to(100);
  EXPECT_EQ(cluster.successors, 1);
  inject(K::crash, 0);
  inject(K::pause, 1'000);
  inject(K::drop_index, 1'000);
  inject(K::split_members, 1'000);
  faults.inject({.kind = K::lost_replies, .on = FaultPlan::Command::acquire});
  EXPECT_TRUE(cluster.paused);
  EXPECT_EQ(cluster.index, std::nullopt);
  faults.heal();
  EXPECT_FALSE(cluster.paused);
  EXPECT_EQ(cluster.index_when_settled, std::nullopt);
  EXPECT_EQ(cluster.index, 0);
  for (const auto& [link, rule] : cluster.rules) EXPECT_EQ(rule, LinkRule{});
  const auto said = history.size();
  faults.saw_command(0, "acquire", false);
  run_to(2'000);
  inject(K::ttl_off, 100);
  EXPECT_EQ(history.size(), said) << "none begins or ends after that";
  EXPECT_EQ(cluster.successors, 1);
}

TEST_F(Injection, RetriesToEndAFaultAndHealingNamesOneThatDoesNotEndAndWhy) {
  cluster.restarts_fail = 1;
  inject(K::kill_member, 100);
  run_to(100);
  EXPECT_TRUE(history.back().begins);
  run_to(300);
  EXPECT_TRUE(history.back().ends);
  cluster.restarts_fail = 100;
  inject(K::kill_member, 100);
  try {
    faults.heal();
    FAIL() << "it did not end";
  } catch (const std::exception& error) {
    EXPECT_EQ(error.what(), std::string("kill-member: its port was taken"));
  }
}

TEST_F(Injection, ALockThatIsExtendedMeanwhileIsNotTakenByForce) {
  inject(K::force_release, 0);
  run_to(3'000);
  EXPECT_EQ(cluster.asked, 2) << "for the holder, and for the lock";
  EXPECT_EQ(counts[K::force_release], 0);
}

}  // namespace
}  // namespace leasehold::sim

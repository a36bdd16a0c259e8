#include <gtest/gtest.h>

#include "sim/virtual/event_queue.hpp"
#include "sim/virtual/expression.hpp"
#include "sim/virtual/replica_set.hpp"
#include "sim/virtual/world.hpp"

namespace leasehold::sim::virt {
namespace {

TEST(EventQueue, RunsByTimeThenByAsking) {
  EventQueue queue;
  std::string order;
  queue.at(20, [&] { order += 'c'; });
  queue.at(10, [&] {
    order += 'a';
    queue.at(5, [&] { order += 'b'; });  // the past is now
  });
  queue.at(20, [&] { order += 'd'; });
  while (queue.step()) {
  }
  EXPECT_EQ(order, "abcd");
  EXPECT_EQ(queue.now(), 20);
}

Object make(std::initializer_list<std::pair<std::string, Value>> fields) {
  Object object;
  for (const auto& [key, value] : fields) object.set(key, value);
  return object;
}

TEST(Expression, DatesOverflowsAndNothing) {
  const Object root = make({{"a", std::int32_t{2}}, {"when", Date{1'000}}});
  const Scope scope{root, Date{5'000}, Timestamp{7, 3}};
  const auto of = [&](const char* op, std::vector<Value> arguments) {
    return evaluate(make({{op, Array{std::move(arguments)}}}), scope);
  };
  EXPECT_EQ(of("$add", {std::string("$when"), std::int64_t{5}}), Value(Date{1'005}));
  EXPECT_EQ(of("$add", {std::string("$a"), std::int32_t{3}}), Value(std::int32_t{5}));
  EXPECT_EQ(of("$add", {std::string("$nobody"), std::int32_t{3}}), Value(Null{}));
  EXPECT_TRUE(of("$add", {std::numeric_limits<std::int64_t>::max(), std::int64_t{1}}).is<double>());
  EXPECT_EQ(of("$max", {std::string("$nobody"), std::string("$when")}), Value(Date{1'000}));
  EXPECT_EQ(of("$indexOfBytes", {std::string("abc"), std::string("bc")}), Value(std::int32_t{1}));
  EXPECT_THROW(of("$indexOfBytes", {std::int32_t{1}, std::string("x")}), ServerError);
  EXPECT_EQ(evaluate(make({{"$tsSecond", std::string("$$CLUSTER_TIME")}}), scope),
            Value(std::int64_t{7}));
}

/// Three members, and the writes that a majority has.
struct Set {
  EventQueue queue;
  Random random{1};
  std::vector<std::int64_t> committed;
  ReplicaSet servers{queue, random, {}, [this](const Entry& entry) {
                       if (entry.fenced) committed.push_back(entry.fenced->token);
                     }};
  std::vector<std::string> answers;

  void write(int member, std::int64_t token) {
    servers.fenced_write(member, {"r", "p", "o", token, token},
                         [this](ReplicaSet::Answer answer, const Object& reply) {
                           const bool clean = answer == ReplicaSet::Answer::reply &&
                                              reply.find("ok")->truth() &&
                                              reply.find("writeConcernError") == nullptr;
                           answers.push_back(clean ? "acknowledged" : "not");
                         });
  }
  void run_ms(std::int64_t ms) {
    bool over = false;
    queue.after(ms * kMs, [&over] { over = true; });
    while (!over && queue.step()) {
    }
  }
};

TEST(ReplicaSet, AcknowledgesWhatAMajorityHas) {
  Set set;
  set.write(0, 1);
  EXPECT_TRUE(set.answers.empty());
  set.run_ms(5);
  EXPECT_EQ(set.answers, (std::vector<std::string>{"acknowledged"}));
  EXPECT_EQ(set.committed, (std::vector<std::int64_t>{1}));
}

TEST(ReplicaSet, AMinoritysWriteIsRolledBackAndNeverAcknowledged) {
  Set set;
  set.write(0, 1);
  set.run_ms(5);
  set.servers.set_link(0, 1, false);
  set.servers.set_link(0, 2, false);
  set.write(0, 2);
  set.run_ms(4'000);  // another is elected, and the old one has stepped down
  const int primary = set.servers.primary();
  EXPECT_NE(primary, 0);
  set.write(primary, 3);
  set.servers.set_link(0, 1, true);
  set.servers.set_link(0, 2, true);
  set.run_ms(2'000);
  EXPECT_EQ(set.answers, (std::vector<std::string>{"acknowledged", "not", "acknowledged"}));
  EXPECT_EQ(set.committed, (std::vector<std::int64_t>{1, 3}));
  EXPECT_EQ(set.servers.rolled_back(), 1);
}

TEST(ReplicaSet, ASecondaryTakesNoWrites) {
  Set set;
  set.write(1, 1);
  EXPECT_EQ(set.answers, (std::vector<std::string>{"not"}));
}

TEST(ReplicaSet, AKilledPrimaryIsReplacedAndComesBack) {
  Set set;
  set.servers.kill(0);
  set.write(0, 1);
  EXPECT_EQ(set.answers, (std::vector<std::string>{"not"}));
  set.run_ms(3'000);
  const int primary = set.servers.primary();
  ASSERT_GT(primary, 0);
  set.servers.restart(0);
  set.write(primary, 2);
  set.run_ms(2'000);
  EXPECT_EQ(set.committed, (std::vector<std::int64_t>{2}));
}

Plan small_plan() {
  Plan plan;
  plan.seed = 3;
  plan.faulty_ms = 2'000;
  plan.processes.resize(3);
  plan.processes[1].drift_ppm = 3'000;
  plan.processes[2].callers = 3;
  plan.processes[2].waiting = Waiting::adaptive;
  plan.faults.push_back({FaultPlan::Kind::crash, 500, 0, 1, 0});
  plan.faults.push_back({FaultPlan::Kind::step_up, 900, 0, 1, 0});
  return plan;
}

TEST(World, SamePlanSameBytes) {
  const auto once = run(small_plan());
  const auto twice = run(small_plan());
  EXPECT_GT(once.history.size(), 200u);
  EXPECT_EQ(hash(once.history), hash(twice.history));
  EXPECT_EQ(first_difference(once.history, twice.history), "");
  auto other = small_plan();
  other.seed = 4;
  EXPECT_NE(hash(once.history), hash(run(other).history));
}

TEST(World, AHistoryIsTheSameOnEveryMachineAndInEveryBuild) {
  EXPECT_EQ(hash(run(small_plan()).history), 3'190'841'379'064'980'284u);
}

TEST(World, NamesTheFirstEventThatDiffers) {
  const auto once = run(small_plan()).history;
  auto leaked = once;
  leaked[100].at_ns += 1;  // as if a real clock had been asked
  EXPECT_NE(first_difference(once, leaked).find("line 101: "), std::string::npos);
  leaked = once;
  leaked.pop_back();
  EXPECT_NE(first_difference(once, leaked).find("ends"), std::string::npos);
}

TEST(Plans, AreReadBackAsTheyWereWritten) {
  auto plan = small_plan();
  plan.processes[0].long_hold_leases = 2;
  plan.election_timeout_ms = 30'000;
  EXPECT_EQ(plan_from_scn(to_scn(plan)), plan);
  EXPECT_EQ(to_scn(plan_from_scn(to_scn(plan))), to_scn(plan));
}

TEST(Plans, SayWhatIsWrongAndWhere) {
  const auto error_of = [](const std::string& text) {
    try {
      (void)plan_from_scn(text);
    } catch (const std::exception& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(error_of("lock leasehold\nfault fire at=1\n"), "line 2: unknown fault 'fire'");
  EXPECT_EQ(error_of("process expiry=soon"), "line 1: expiry is 'soon': it must be a whole number");
  EXPECT_EQ(error_of("process colour=1"), "line 1: unknown key 'colour'");
  EXPECT_EQ(error_of("dance"), "line 1: unknown word 'dance'");
  EXPECT_EQ(error_of("locks 2 3"), "line 1: '3' is too much");
  EXPECT_EQ(error_of("lock"), "line 1: lock needs a name");
  EXPECT_EQ(error_of("fault crash at=1 process=-7"),
            "line 1: process is -7: it must be -1, any, or a place in the plan");
  EXPECT_EQ(error_of("seed 12abc"), "line 1: seed is '12abc': it must be a whole number");
  EXPECT_EQ(error_of("process callers=4294967297"),
            "line 1: callers is '4294967297': it is too large");
  EXPECT_EQ(error_of("process long-leases=0"), "line 1: long-leases is 0: it must be 1 to 1000");
  EXPECT_EQ(error_of("election-timeout 0"), "line 1: election-timeout is 0: it must be at least 1");
  EXPECT_EQ(error_of("process\nstep acquire at=0 process=1"),
            "line 2: process is 1: the plan has only 1");
  EXPECT_EQ(error_of("step release at=0 caller=1\nprocess"),
            "line 1: caller is 1: the plan has only 1");
}

}  // namespace
}  // namespace leasehold::sim::virt

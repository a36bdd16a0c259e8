#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <set>
#include <thread>

#include "model/workers/promises.hpp"
#include "properties/campaigns/judgement.hpp"
#include "scenarios/lab/ran_fixture.hpp"
#include "scenarios/workers/worker_process.hpp"
#include "sim/live/live_test.hpp"
#include "sim/live/own_set/user_set.hpp"
#include "sim/live/run/harness.hpp"

/// Faults on a set whose configuration names its members, as somebody started it by hand.
namespace leasehold::lab {
namespace {

using sim::FaultPlan;
using sim::LinkRule;
using sim::live::fresh_database;
using sim::live::Json;
using sim::live::MongoClient;
using sim::live::Traffic;
using sim::live::UserSet;
using sim::live::WorkerProcess;
using std::chrono::milliseconds;
using Is = WorkerProcess::Is;

sim::live::ReplicaSet& their_set() { return sim::live::shared_set(); }

const std::string kWorker = "/usr/bin/python3 " LEASEHOLD_WORKERS "/pymongo_worker.py";

Traffic traffic_of(UserSet& set, const std::string& process) {
  Traffic sum;
  for (int m = 0; m < set.size(); ++m) {
    const auto each = set.proxy().traffic(process, m);
    sum.to_members += each.to_members;
    sum.from_members += each.from_members;
  }
  return sum;
}

/// From which ports the members heard of clients whose name begins so: what their logs say.
std::set<int> ports_in_logs(const std::string& name) {
  std::set<int> ports;
  for (const auto& file : their_set().log_files()) {
    std::ifstream in(file);
    for (std::string line; std::getline(in, line);) {
      if (line.find("\"client metadata\"") == std::string::npos) continue;
      const auto said = Json::parse(line).at("attr");
      const auto application = said.at("doc").value("application", Json::object());
      if (!application.value("name", "").starts_with(name)) continue;
      const std::string remote = said.at("remote");
      ports.insert(std::stoi(remote.substr(remote.rfind(':') + 1)));
    }
  }
  return ports;
}

/// Every connection that a member ever had of these clients came from a proxy.
void expect_all_behind(UserSet& set, const std::string& name) {
  const auto proxies = set.proxy().ports_used();
  const auto clients = ports_in_logs(name);
  EXPECT_FALSE(clients.empty());
  EXPECT_TRUE(std::includes(proxies.begin(), proxies.end(), clients.begin(), clients.end()))
      << "a member was reached past the proxies";
}

TEST(OwnSet, ADriverFindsProxiesInPlaceOfTheMembers) {
  UserSet set(their_set().uri());
  ASSERT_EQ(set.size(), 3);
  EXPECT_EQ(set.primary(), 0) << "the primary of the beginning comes first";
  MongoClient client(set.uri() + "&appName=finder");
  const auto hello = client.must("admin", {{"hello", 1}});
  std::set<std::string> seen;
  for (const auto& member : client.members()) seen.insert(member.host);
  for (const Json& host : hello.at("hosts")) EXPECT_TRUE(seen.contains(host.get<std::string>()));
  EXPECT_EQ(hello.at("me"), hello.at("primary"));
  EXPECT_EQ(seen.size(), 3u);
  for (int m = 0; m < set.size(); ++m) EXPECT_FALSE(seen.contains(set.address(m)));
  expect_all_behind(set, "finder");
}

/// One process of a lock that knows nothing of us, and what the proxies count of it.
class CountedWorker {
 public:
  CountedWorker(UserSet& set, const std::string& name)
      : set_(set), name_(name), process_(kWorker, set.uri(), name, database, 20'000) {
    EXPECT_EQ(process_.acquire(1, 0), Is::granted);  // it is connected then
    EXPECT_EQ(process_.release(1), Is::released);
  }

  WorkerProcess* operator->() { return &process_; }
  [[nodiscard]] Traffic traffic() { return traffic_of(set_, name_); }
  void rule(const LinkRule& rule) {
    for (int m = 0; m < set_.size(); ++m) set_.proxy().set(name_, m, rule);
    std::this_thread::sleep_for(milliseconds(50));  // what was being written is counted by then
  }
  void reset() {
    for (int m = 0; m < set_.size(); ++m) set_.proxy().reset(name_, m);
  }
  Json on_server(const Json& command) {
    return set_.member(set_.primary()).must(database, command);
  }

  const std::string database = fresh_database();

 private:
  UserSet& set_;
  const std::string name_;
  WorkerProcess process_;
};

TEST(OwnSet, APythonWorkersLinksAreCutAndSlowToTheByte) {
  sim::live::undisturbed([] {
    UserSet set(their_set().uri());
    CountedWorker worker(set, "cut.1");
    EXPECT_GT(worker.traffic().to_members, 0);
    EXPECT_GT(worker.traffic().from_members, 0);

    worker.rule({.hold_requests = true, .hold_replies = true});
    const auto cut = worker.traffic();
    worker->ask_for(2, 0);
    std::this_thread::sleep_for(milliseconds(600));
    EXPECT_EQ(worker.traffic().to_members, cut.to_members);
    EXPECT_EQ(worker.traffic().from_members, cut.from_members);
    worker.rule({});
    EXPECT_EQ(worker->answer(2), Is::granted);
    EXPECT_GT(worker.traffic().to_members, cut.to_members);
    EXPECT_EQ(worker->release(2), Is::released);

    worker.rule({.delay_requests = milliseconds(200), .delay_replies = milliseconds(200)});
    const sim::live::Stopwatch watch;
    EXPECT_EQ(worker->acquire(3, 0), Is::granted);
    EXPECT_GE(watch.elapsed(), milliseconds(800)) << "two commands, each there and back";
    expect_all_behind(set, "cut.1");
  });
}

TEST(OwnSet, APythonWorkersLostReplyIsOfACommandThatWasExecuted) {
  sim::live::undisturbed([] {
    UserSet set(their_set().uri());
    CountedWorker worker(set, "lost.1");
    const Json all{{"q", Json::object()}, {"limit", 0}};
    worker.on_server({{"delete", "python.locks"}, {"deletes", {all}}});

    worker.rule({.hold_replies = true});
    const auto before = worker.traffic();
    worker->ask_for(2, 0);
    EXPECT_TRUE(sim::live::eventually([&] {
      return sim::live::integer(worker.on_server({{"count", "python.locks"}})["n"]) == 1;
    })) << "its first command makes the document";
    EXPECT_GT(worker.traffic().to_members, before.to_members);
    EXPECT_EQ(worker.traffic().from_members, before.from_members);
    worker.reset();
    worker.rule({});
    EXPECT_EQ(worker->answer(2), Is::granted) << "its driver tries once more";
    expect_all_behind(set, "lost.1");
  });
}

model::Promises promises() {
  return model::promises_from_json(content_of(LEASEHOLD_WORKERS "/pymongo.json"));
}

sim::Plan plan_of(int processes, std::int64_t faulty_ms, std::vector<FaultPlan> faults) {
  sim::Plan plan{
      .seed = 4, .locks = 2, .faulty_ms = faulty_ms, .faults = std::move(faults)};
  // Each has something to say at any time.
  plan.processes.assign(static_cast<std::size_t>(processes), {.long_hold_percent = 0});
  return plan;
}

TEST(OwnSet, EachFaultOfALinkTakesEffectOnAForeignLock) {
  using K = FaultPlan::Kind;
  UserSet set(their_set().uri());
  sim::live::Janitor janitor;
  auto run = sim::live::LiveRun::on(set, fresh_database(), janitor);
  run.foreign = sim::live::ForeignLock{kWorker, promises()};
  std::set<std::string> past_proxies{"not asked"};
  run.on_progress = [&](const sim::live::Progress& now) { past_proxies = now.past_proxies; };
  const auto plan =
      plan_of(3, 4'600,
              {{.kind = K::cut_link, .at_ms = 2'000, .for_ms = 450},
               {.kind = K::slow_link, .at_ms = 2'500, .for_ms = 450, .amount = 40},
               {.kind = K::lost_replies, .at_ms = 3'000, .for_ms = 450},
               {.kind = K::late_requests, .at_ms = 3'500, .for_ms = 450, .amount = 40},
               {.kind = K::refuse_link, .at_ms = 4'000, .for_ms = 450}});
  const auto result = sim::live::run_live(plan, run);
  for (const auto& fault : plan.faults) {
    const std::string kind = to_string(fault.kind);
    EXPECT_EQ(result.took_effect.count(kind), 1u) << kind;
  }
  for (const auto& f : properties::judge(result.history, run.foreign->promises).findings) {
    EXPECT_TRUE(f.verdict == model::Verdict::holds || f.never_tested())
        << to_string(f.check) << ": " << f.why;
  }
  for (int i = 0; i < 3; ++i) {
    EXPECT_GT(traffic_of(set, "p" + std::to_string(i) + ".1").to_members, 0) << i;
  }
  EXPECT_EQ(past_proxies, std::set<std::string>());
  expect_all_behind(set, "p");
}

TEST(OwnSet, AWorkerThatDoesNotUseItsUriIsNoticed) {
  UserSet set(their_set().uri());
  sim::live::Janitor janitor;
  auto run = sim::live::LiveRun::on(set, fresh_database(), janitor);
  const auto hosts = their_set().uri().substr(0, their_set().uri().find("/?"));
  run.foreign = sim::live::ForeignLock{
      "sh -c \"sed -u 's#mongodb:..[^/]*#" + hosts + "#' | " + kWorker + "\"", promises()};
  std::set<std::string> noticed;
  run.on_progress = [&](const sim::live::Progress& now) { noticed = now.past_proxies; };
  (void)sim::live::run_live(plan_of(2, 2'000, {}), run);
  EXPECT_EQ(noticed, (std::set<std::string>{"p0.1", "p1.1"}));
}

}  // namespace
}  // namespace leasehold::lab

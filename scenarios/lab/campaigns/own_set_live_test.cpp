#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <set>

#include "model/workers/promises.hpp"
#include "scenarios/lab/campaigns/foreign_run_fixture.hpp"
#include "scenarios/lab/ran_fixture.hpp"
#include "sim/live/live_test.hpp"
#include "sim/live/own_set/user_set.hpp"

/// Faults on a set whose configuration names its members, as somebody started it by hand.
namespace leasehold::lab {
namespace {

using sim::live::fresh_database;
using sim::live::Json;
using sim::live::MongoClient;
using sim::live::UserSet;

sim::live::ReplicaSet& their_set() { return sim::live::shared_set(); }

const std::string kWorker = "/usr/bin/python3 " LEASEHOLD_WORKERS "/pymongo_worker.py";

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

/// Every connection that a member had of these clients came from a proxy, but for earlier ones.
void expect_all_behind(UserSet& set, const std::string& name, const std::set<int>& earlier) {
  auto clients = ports_in_logs(name);
  for (const int port : earlier) clients.erase(port);
  const auto proxies = set.proxy().ports_used();  // after the logs, so that those are in it
  EXPECT_FALSE(clients.empty());
  EXPECT_TRUE(std::includes(proxies.begin(), proxies.end(), clients.begin(), clients.end()))
      << "a member was reached past the proxies";
}

TEST(OwnSet, ADriverFindsProxiesInPlaceOfTheMembers) {
  UserSet set(their_set().uri());
  ASSERT_EQ(set.size(), 3);
  EXPECT_EQ(set.proxy().sent_to(), 0) << "the primary of the beginning comes first";
  const auto earlier = ports_in_logs("finder");  // of a try before
  MongoClient client(set.uri() + "&appName=finder");
  const auto hello = client.must("admin", {{"hello", 1}});
  std::set<std::string> seen;
  // The driver names a member once it has heard it.
  EXPECT_TRUE(sim::live::eventually([&] {
    for (const auto& member : client.members()) seen.insert(member.host);
    return seen.size() == 3;
  }));
  for (const Json& host : hello.at("hosts")) EXPECT_TRUE(seen.contains(host.get<std::string>()));
  EXPECT_EQ(hello.at("me"), hello.at("primary"));
  EXPECT_EQ(seen.size(), 3u);
  for (int m = 0; m < set.size(); ++m) {
    EXPECT_FALSE(seen.contains(sim::live::address_of(their_set().mongod(m).port())));
  }
  expect_all_behind(set, "finder", earlier);
}

model::Promises promises() {
  return model::promises_from_json(content_of(LEASEHOLD_WORKERS "/pymongo.json"));
}

TEST(OwnSet, EachFaultOfALinkTakesEffectOnAForeignLock) {
  UserSet set(their_set().uri());
  const auto earlier = ports_in_logs("p");
  sim::live::Janitor janitor;
  auto run = sim::live::LiveRun::on(set, fresh_database(), janitor);
  run.foreign = sim::live::ForeignLock{kWorker, promises()};
  expect_each_takes_effect(busy_plan(3, 4'600, faults_of_links(2'000)), std::move(run));
  expect_all_behind(set, "p", earlier);
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
  (void)sim::live::run_live(busy_plan(2, 2'000), run);
  EXPECT_EQ(noticed, (std::set<std::string>{"p0.1", "p1.1"}));
}

}  // namespace
}  // namespace leasehold::lab

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "scenarios/lab/lab.hpp"
#include "sim/live/servers/replica_set.hpp"

namespace leasehold::lab {
namespace {

namespace fs = std::filesystem;
using sim::live::MemberClock;
using sim::live::MongoClient;

/// The file in which `up` tells the other subcommands where everything is.
struct Cluster {
  pid_t pid = 0;
  std::string uri;
  struct Member {
    int port = 0;
    std::string clock;
  };
  std::vector<Member> members;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Cluster::Member, port, clock)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Cluster, pid, uri, members)

Cluster read_cluster(const std::string& file) {
  std::ifstream in(file);
  if (!in) throw UsageError("no cluster is up (" + file + " is not there); cluster up starts one");
  Cluster cluster;
  try {
    cluster = nlohmann::json::parse(in).get<Cluster>();
  } catch (const std::exception&) {
    refuse("--state", file, "it must be a file that cluster up wrote");
  }
  if (kill(cluster.pid, 0) != 0) {
    throw UsageError("no cluster is up (the one of " + file + " is gone); cluster up starts one");
  }
  return cluster;
}

MongoClient client_of(const Cluster::Member& member) {
  return MongoClient(sim::live::direct_uri(member.port) + "&serverSelectionTimeoutMS=1000");
}

const Cluster::Member& member_of(const Cluster& cluster, int index) {
  require_range("member", index, 0, static_cast<std::int64_t>(cluster.members.size()) - 1);
  return cluster.members[static_cast<std::size_t>(index)];
}

int up(const std::string& file) {
  std::string running;
  try {
    running = read_cluster(file).uri;
  } catch (const UsageError&) {
    // None is.
  }
  if (!running.empty()) throw UsageError("a cluster is up already: " + running);
  require_writable("state", file);
  sim::live::ReplicaSet set({.faulty = true});
  Cluster cluster{getpid(), set.uri(), {}};
  for (int i = 0; i < set.size(); ++i) {
    cluster.members.push_back({set.mongod(i).port(), set.mongod(i).clock().file()});
  }
  const auto fresh = file + ".new";
  std::ofstream(fresh) << nlohmann::json(cluster).dump(2) << '\n';
  fs::rename(fresh, file);  // others read a whole one
  catch_interruptions();
  fmt::print("up: {}\ndata and logs in {}\ncluster down, or Ctrl-C, ends it\n", set.uri(),
             set.folder());
  std::fflush(stdout);
  while (!interrupted()) std::this_thread::sleep_for(std::chrono::milliseconds(50));
  fs::remove(file);
  return kHolds;
}

int status(const Cluster& cluster) {
  fmt::print("{}\n", cluster.uri);
  for (std::size_t i = 0; i < cluster.members.size(); ++i) {
    const auto& member = cluster.members[i];
    std::string state = "does not answer";
    try {
      const auto hello = client_of(member).run("admin", {{"hello", 1}});
      state = hello.value("isWritablePrimary", false) ? "primary"
              : hello.value("secondary", false)       ? "secondary"
                                                      : "other";
    } catch (const std::exception&) {
      // It is listed as "does not answer".
    }
    const auto ahead =
        std::chrono::duration_cast<std::chrono::milliseconds>(MemberClock(member.clock).ahead());
    fmt::print("member {}  127.0.0.1:{}  {:<15} clock {:+} ms\n", i, member.port, state,
               ahead.count());
  }
  return kHolds;
}

int step_up(const Cluster& cluster, int index) {
  auto client = client_of(member_of(cluster, index));
  sim::live::until_true(
      "step-up",
      [&] {
        (void)client.run("admin", {{"replSetStepUp", 1}});
        return client.run("admin", {{"hello", 1}}).value("isWritablePrimary", false);
      },
      std::chrono::seconds(20));
  fmt::print("member {} is primary\n", index);
  return kHolds;
}

int skew(const Cluster& cluster, int index, std::int64_t ms, std::int64_t ppm) {
  MemberClock clock(member_of(cluster, index).clock);
  clock.set(std::chrono::milliseconds(ms), ppm);
  fmt::print("member {}'s clock is {:+} ms off, running {:+} ppm\n", index, ms, ppm);
  return kHolds;
}

int down(const Cluster& cluster, const std::string& file) {
  kill(cluster.pid, SIGTERM);
  sim::live::until_true("ending the cluster", [&] { return !fs::exists(file); });
  fmt::print("down\n");
  return kHolds;
}

}  // namespace

int cluster(const std::vector<std::string>& words) {
  std::string what;
  std::string file =
      sim::live::temporary_folder() / ("leasehold-cluster-" + std::to_string(getuid()) + ".json");
  int member = 0;
  std::int64_t ms = 0, ppm = 0;
  po::options_description options(
      "A real replica set for trying things: `up` runs until `down`. Options");
  options.add_options()("what", po::value(&what), "up, status, step-up, skew or down")(
      "member", po::value(&member)->default_value(member), "which, from 0")(
      "ms", po::value(&ms)->default_value(ms), "skew: how far its clock is ahead")(
      "ppm", in_range("ppm", ppm, -900'000, 1'000'000)->default_value(ppm),
      "skew: how much too fast it runs from now on")(
      "state", po::value(&file)->default_value(file)->value_name("FILE"),
      "where `up` writes down what it started");
  po::positional_options_description positional;
  positional.add("what", 1).add("member", 1).add("ms", 1);
  parse("cluster up|status|step-up MEMBER|skew MEMBER MS|down [OPTIONS]", options, words,
        positional);
  if (what == "up") return up(file);
  if (what == "status") return status(read_cluster(file));
  if (what == "step-up") return step_up(read_cluster(file), member);
  if (what == "skew") return skew(read_cluster(file), member, ms, ppm);
  if (what == "down") return down(read_cluster(file), file);
  throw UsageError("cluster '" + what + "': it must be up, status, step-up, skew or down");
}

}  // namespace leasehold::lab

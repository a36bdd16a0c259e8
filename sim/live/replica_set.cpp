#include "sim/live/replica_set.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <stdexcept>
#include <thread>

namespace leasehold::sim::live {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using SteadyClock = std::chrono::steady_clock;

constexpr milliseconds kStartLimit{60'000};

/// Ports that were free a moment ago, all different.
std::vector<int> free_ports(int count) {
  std::vector<int> sockets, ports;
  for (int i = 0; i < count; ++i) {
    const int s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    if (s < 0 || bind(s, generic, size) != 0 || getsockname(s, generic, &size) != 0) {
      throw std::runtime_error("no free port to be had");
    }
    sockets.push_back(s);
    ports.push_back(ntohs(address.sin_port));
  }
  for (const int s : sockets) close(s);
  return ports;
}

/// Repeats until it says true, or throws what it last complained of.
void until_true(const std::string& what, const std::function<bool()>& attempt) {
  const auto limit = SteadyClock::now() + kStartLimit;
  std::string complaint;
  while (SteadyClock::now() < limit) {
    try {
      if (attempt()) return;
    } catch (const NoMongod&) {
      throw;
    } catch (const std::exception& error) {
      complaint = error.what();
    }
    std::this_thread::sleep_for(milliseconds(10));
  }
  throw std::runtime_error(what + " failed: " + complaint);
}

/// Whether somebody listens. Asked before the driver is: it leaves a server that refused alone for
/// five seconds.
bool listens(int port) {
  const int s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const bool connected = connect(s, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  close(s);
  return connected;
}

std::string address_of(int port) { return "127.0.0.1:" + std::to_string(port); }

}  // namespace

std::string find_mongod() {
  std::vector<std::string> candidates;
  if (const char* named = std::getenv("LEASEHOLD_MONGOD")) {
    if (access(named, X_OK) == 0) return named;
    throw NoMongod(std::string("LEASEHOLD_MONGOD is ") + named + ": it must be a program");
  }
  if (const char* path = std::getenv("PATH")) {
    std::string rest = path;
    while (!rest.empty()) {
      const auto colon = rest.find(':');
      candidates.push_back(rest.substr(0, colon) + "/mongod");
      rest = colon == std::string::npos ? "" : rest.substr(colon + 1);
    }
  }
  const char* cache = std::getenv("XDG_CACHE_HOME");
  const char* home = std::getenv("HOME");
  const std::string cache_home = cache != nullptr && *cache != '\0' ? std::string(cache)
                                 : home != nullptr                  ? std::string(home) + "/.cache"
                                                                    : "/root/.cache";
  candidates.push_back(cache_home + "/leasehold/mongod");
  for (const auto& candidate : candidates) {
    if (access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  throw NoMongod("no mongod: run scripts/setup, put mongod on the PATH, or set LEASEHOLD_MONGOD");
}

ReplicaSet::ReplicaSet(ReplicaSetOptions options) : options_(options) {
  init_driver();
  const std::string mongod = find_mongod();
  const auto ports = free_ports(options_.members);
  for (const int port : ports) start_member(port, mongod);
  for (auto& m : members_) {
    until_true("starting " + mongod, [&] {
      if (!m.process.running()) {
        throw NoMongod(mongod + " ended at once: it could not start, or its port was taken");
      }
      return listens(m.port) && integer(m.client->run("admin", {{"ping", 1}})["ok"]) == 1;
    });
  }
  uri_ = "mongodb://";
  for (const int port : ports) uri_ += (port == ports.front() ? "" : ",") + address_of(port);
  uri_ += "/";
  if (options_.standalone) return;
  uri_ += "?replicaSet=rs";
  initiate();
}

ReplicaSet::~ReplicaSet() {
  for (auto& m : members_) m.process.kill();
}

void ReplicaSet::start_member(int port, const std::string& mongod) {
  const std::string data = folder() + "/" + std::to_string(port);
  fs::create_directory(data);
  std::vector<std::string> command{mongod,
                                   "--port",
                                   std::to_string(port),
                                   "--bind_ip",
                                   "127.0.0.1",
                                   "--dbpath",
                                   data,
                                   "--logpath",
                                   data + ".log",
                                   "--nounixsocket",
                                   "--wiredTigerCacheSizeGB",
                                   "0.25",
                                   "--wiredTigerEngineConfigString",
                                   "log=(file_max=1MB,prealloc=false)",
                                   "--setParameter",
                                   "enableTestCommands=1",
                                   "--setParameter",
                                   "diagnosticDataCollectionEnabled=false",
                                   "--setParameter",
                                   "ttlMonitorSleepSecs=1"};
  if (!options_.standalone) {
    // Without these a paused or restarted member holds up majority writes for many seconds.
    for (const char* word : {"--replSet", "rs", "--oplogSize", "64", "--setParameter",
                             "oplogNetworkTimeoutBufferSeconds=1", "--setParameter",
                             "oplogFetcherSteadyStateMaxFetcherRestarts=0", "--setParameter",
                             "oplogRetriedFindMaxSeconds=1", "--setParameter",
                             "oplogInitialFindMaxSeconds=2", "--setParameter",
                             "failpoint.forceBgSyncSyncSourceRetryWaitMS="
                             "{mode:\"alwaysOn\",data:{sleepMS:50}}",
                             "--setParameter",
                             "failpoint.forceSyncSourceRetryWaitForInitialSync="
                             "{mode:\"alwaysOn\",data:{retryMS:50}}"}) {
      command.emplace_back(word);
    }
  }
  Member m;
  m.port = port;
  m.process = ChildProcess(command, ChildProcess::Io::nothing);
  janitor_.watch(m.process.pid());
  m.client = std::make_unique<MongoClient>(
      "mongodb://" + address_of(port) +
      "/?directConnection=true&serverSelectionTimeoutMS=1000&socketTimeoutMS=20000");
  members_.push_back(std::move(m));
}

void ReplicaSet::initiate() {
  Json config{{"_id", "rs"},
              {"members", Json::array()},
              {"settings",
               {{"electionTimeoutMillis", options_.election_timeout_ms},
                {"heartbeatIntervalMillis", options_.heartbeat_ms},
                {"catchUpTimeoutMillis", 0}}}};
  for (int i = 0; i < size(); ++i) {
    config["members"].push_back(
        {{"_id", i}, {"host", address_of(members_[static_cast<std::size_t>(i)].port)}});
  }
  member(0).must("admin", {{"replSetInitiate", config}});
  step_up(0);
  until_true("the first majority write", [&] {
    const auto reply =
        member(0).run("leasehold_start", {{"insert", "start"},
                                          {"documents", {{{"x", 1}}}},
                                          {"writeConcern", {{"w", size()}, {"wtimeout", 1'000}}}});
    return integer(reply["ok"]) == 1 && !reply.contains("writeConcernError");
  });
}

MongoClient& ReplicaSet::member(int index) {
  return *members_.at(static_cast<std::size_t>(index)).client;
}

std::vector<std::string> ReplicaSet::log_files() const {
  std::vector<std::string> files;
  for (const auto& m : members_) files.push_back(folder() + "/" + std::to_string(m.port) + ".log");
  return files;
}

int ReplicaSet::primary() {
  int found = -1;
  until_true("finding the primary", [&] {
    for (int i = 0; i < size() && found < 0; ++i) {
      if (member(i).run("admin", {{"hello", 1}}).value("isWritablePrimary", false)) found = i;
    }
    return found >= 0;
  });
  return found;
}

bool ReplicaSet::step_up(int index) {
  bool was_not = false;
  until_true("step-up", [&] {
    if (member(index).run("admin", {{"hello", 1}}).value("isWritablePrimary", false)) return true;
    was_not = true;
    (void)member(index).run("admin", {{"replSetStepUp", 1}});
    return member(index).run("admin", {{"hello", 1}}).value("isWritablePrimary", false);
  });
  return was_not;
}

void ReplicaSet::stop(int index) {
  members_.at(static_cast<std::size_t>(index)).process.send_signal(SIGSTOP);
}

void ReplicaSet::resume(int index) {
  members_.at(static_cast<std::size_t>(index)).process.send_signal(SIGCONT);
}

void ReplicaSet::fail_point(int index, const std::string& name, const Json& mode,
                            const Json& data) {
  Json command{{"configureFailPoint", name}, {"mode", mode}};
  if (!data.is_null()) command["data"] = data;
  // A member that changed its office has closed our connection: the first try only notices.
  until_true("fail point " + name, [&] {
    member(index).must("admin", command);
    return true;
  });
}

}  // namespace leasehold::sim::live

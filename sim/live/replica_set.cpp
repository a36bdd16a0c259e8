#include "sim/live/replica_set.hpp"

#include <ctime>
#include <filesystem>
#include <stdexcept>
#include <thread>

#include "sim/live/data_snapshot.hpp"

namespace leasehold::sim::live {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

bool says_primary(const Json& hello) { return hello.value("isWritablePrimary", false); }

/// Rises with every election.
std::string election_of(const Json& hello) {
  return hello.contains("electionId") ? hello["electionId"].value("$oid", "") : "";
}

}  // namespace

milliseconds date(const Json& value) {
  const Json& d = value.at("$date");
  if (!d.is_string()) return milliseconds(integer(d));
  std::tm parts{};
  int ms = 0;
  const auto text = d.get<std::string>();
  const char* rest = strptime(text.c_str(), "%Y-%m-%dT%H:%M:%S", &parts);
  if (rest != nullptr && *rest == '.') ms = std::atoi(rest + 1);
  return milliseconds(static_cast<std::int64_t>(timegm(&parts)) * 1'000 + ms);
}

ReplicaSet::ReplicaSet(ReplicaSetOptions options) : options_(options) {
  init_driver();
  const std::string program = find_mongod();
  const auto prepared = options_.standalone ? std::nullopt : data_snapshot(program);
  if (options_.faulty) proxy_ = std::make_unique<FaultProxy>();
  for (const int port : free_ports(options_.members)) {
    const auto data = folder() + "/" + std::to_string(port);
    if (prepared) fs::copy(*prepared, data, fs::copy_options::recursive);
    members_.emplace_back(MongodOptions{.program = program,
                                        .data = data,
                                        .port = port,
                                        .standalone = options_.standalone,
                                        .own_clock = options_.faulty},
                          janitor_);
    advertised_.push_back(proxy_ ? proxy_->add_member(port) : port);
  }
  for (auto& m : members_) m.wait_until_ready();
  uri_ = "mongodb://";
  for (const int port : advertised_) {
    uri_ += (port == advertised_.front() ? "" : ",") + address_of(port);
  }
  uri_ += options_.standalone ? "/" : "/?replicaSet=rs";
  if (!options_.standalone) initiate(prepared.has_value());
}

Json ReplicaSet::config() const {
  Json config{{"_id", "rs"},
              {"version", 2},
              {"members", Json::array()},
              {"settings",
               {{"electionTimeoutMillis", options_.election_timeout_ms},
                {"heartbeatIntervalMillis", options_.heartbeat_ms},
                {"catchUpTimeoutMillis", 0}}}};
  for (std::size_t i = 0; i < advertised_.size(); ++i) {
    config["members"].push_back({{"_id", i}, {"host", address_of(advertised_[i])}});
  }
  return config;
}

void ReplicaSet::initiate(bool prepared) {
  if (prepared) {
    // The data knows a set already, at other addresses.
    for (int i = 0; i < size(); ++i) {
      until_true("replSetReconfig", [&] {
        member(i).must("admin", {{"replSetReconfig", config()}, {"force", true}});
        return true;
      });
    }
  } else {
    auto first = config();
    first["version"] = 1;
    member(0).must("admin", {{"replSetInitiate", first}});
  }
  step_up(0);
  until_true("the first majority write", [&] { return confirms(size(), milliseconds(1'000)); });
}

std::vector<std::string> ReplicaSet::log_files() const {
  std::vector<std::string> files;
  for (const auto& m : members_) files.push_back(m.log_file());
  return files;
}

int ReplicaSet::primary_now() {
  int found = -1;
  std::string latest;
  for (int i = 0; i < size(); ++i) {
    if (!mongod(i).answers()) continue;
    Json hello;
    try {
      hello = member(i).run("admin", {{"hello", 1}});
    } catch (const std::exception&) {
      continue;  // it has no time for us
    }
    if (!says_primary(hello) || (found >= 0 && election_of(hello) <= latest)) continue;
    found = i;
    latest = election_of(hello);
  }
  return found;
}

int ReplicaSet::primary() {
  int found = -1;
  until_true(
      "finding the primary", [&] { return (found = primary_now()) >= 0; },
      std::chrono::seconds(30));
  return found;
}

bool ReplicaSet::is_primary(int index) {
  if (!mongod(index).answers()) return false;
  try {
    return says_primary(member(index).run("admin", {{"hello", 1}}));
  } catch (const std::exception&) {
    return false;
  }
}

bool ReplicaSet::step_up(int index) {
  if (is_primary(index)) return false;
  until_true("step-up", [&] {
    (void)member(index).run("admin", {{"replSetStepUp", 1}});
    return is_primary(index);
  });
  return true;
}

bool ReplicaSet::try_step_up(int index, milliseconds limit) {
  if (is_primary(index)) return false;
  const auto until = std::chrono::steady_clock::now() + limit;
  // Each election that fails takes the primary from an overloaded set: less and less often.
  for (auto pause = milliseconds(20);; pause *= 2) {
    if (std::chrono::steady_clock::now() >= until || !mongod(index).answers()) return false;
    (void)member(index).run("admin", {{"replSetStepUp", 1}});
    if (is_primary(index)) return true;
    std::this_thread::sleep_for(pause);
  }
}

bool ReplicaSet::step_down() {
  const int primary = primary_now();
  if (primary < 0) return false;
  (void)member(primary).run(
      "admin", {{"replSetStepDown", 2}, {"secondaryCatchUpPeriodSecs", 0}, {"force", true}});
  return !is_primary(primary);
}

bool ReplicaSet::confirms(const Json& w, milliseconds limit) {
  const int primary = primary_now();
  if (primary < 0) return false;
  const auto reply = member(primary).run(
      "leasehold_start", {{"insert", "start"},
                          {"documents", {{{"x", 1}}}},
                          {"writeConcern", {{"w", w}, {"wtimeout", limit.count()}}}});
  return integer(reply["ok"]) == 1 && !reply.contains("writeConcernError");
}

std::int64_t ReplicaSet::fail_point(int index, const std::string& name, const Json& mode,
                                    const Json& data) {
  Json command{{"configureFailPoint", name}, {"mode", mode}};
  if (!data.is_null()) command["data"] = data;
  return integer(member(index).must("admin", command)["count"]);
}

}  // namespace leasehold::sim::live

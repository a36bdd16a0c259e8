#include "sim/live/servers/replica_set.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <stdexcept>

#include "sim/live/servers/mongod.hpp"

namespace leasehold::sim::live {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

/// A member that meets a full disk in the middle of a run only dies.
void require_room(const std::string& folder, int members) {
  constexpr std::uintmax_t kMiB = 1 << 20, kOfAMember = 320;  // its journal
  rlimit limit{};
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < kOfAMember * kMiB) {
    throw std::runtime_error("no file may have more than " + std::to_string(limit.rlim_cur) +
                             " bytes (ulimit -f): a member's may have " +
                             std::to_string(kOfAMember) + " MiB");
  }
  const auto free = fs::space(folder).available / kMiB;
  if (free >= kOfAMember * static_cast<std::uintmax_t>(members)) return;
  throw std::runtime_error("'" + folder + "' has " + std::to_string(free) +
                           " MiB free: each member needs " + std::to_string(kOfAMember) +
                           "; TMPDIR names another folder");
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

ReplicaSet::ReplicaSet(ReplicaSetOptions options) : options_(std::move(options)) {
  init_driver();
  const std::string program = find_mongod();
  // The snapshot is of a set of members that are all alike.
  const bool usual = !options_.standalone && options_.fields.empty();
  require_room(folder(), options_.members);
  const auto prepared = usual ? data_snapshot(program) : std::nullopt;
  if (options_.faulty) proxy_ = std::make_unique<FaultProxy>();
  for (const int port : free_ports(options_.members)) {
    const auto data = folder() + "/" + std::to_string(port);
    if (prepared) fs::copy(*prepared, data, fs::copy_options::recursive);
    members_.emplace_back(MongodOptions{.program = program,
                                        .data = data,
                                        .port = port,
                                        .standalone = options_.standalone,
                                        .own_settings = options_.own_settings,
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
  Json settings{{"electionTimeoutMillis", options_.election_timeout_ms}};
  if (!options_.own_settings) {
    settings["heartbeatIntervalMillis"] = options_.heartbeat_ms;
    settings["catchUpTimeoutMillis"] = 0;
  }
  Json config{{"_id", "rs"}, {"version", 2}, {"members", Json::array()}, {"settings", settings}};
  for (std::size_t i = 0; i < advertised_.size(); ++i) {
    Json member{{"_id", i}, {"host", address_of(advertised_[i])}};
    if (i < options_.fields.size() && options_.fields[i].is_object()) {
      member.update(options_.fields[i]);
    }
    config["members"].push_back(std::move(member));
  }
  return config;
}

/// Those that confirm a write as soon as they can.
int ReplicaSet::prompt_members() const {
  return size() - static_cast<int>(std::count_if(
                      options_.fields.begin(), options_.fields.end(), [](const Json& member) {
                        return member.contains("arbiterOnly") ||
                               member.contains("secondaryDelaySecs");
                      }));
}

void ReplicaSet::initiate(bool prepared) {
  if (prepared) {
    // The data has a set already, at other addresses.
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
  until_true("the first majority write",
             [&] { return confirms(prompt_members(), milliseconds(1'000)); });
}

std::vector<std::string> ReplicaSet::log_files() const {
  std::vector<std::string> files;
  for (const auto& m : members_) files.push_back(m.log_file());
  return files;
}

}  // namespace leasehold::sim::live

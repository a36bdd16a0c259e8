#include "sim/live/user_set.hpp"

#include <algorithm>
#include <stdexcept>

#include "sim/live/mongod.hpp"

namespace leasehold::sim::live {
namespace {

constexpr const char* kLimits =
    "serverSelectionTimeoutMS=1000&connectTimeoutMS=1000&socketTimeoutMS=5000&appName=harness";

std::vector<std::string> addresses_in(const Json& hello) {
  std::vector<std::string> all;
  for (const char* list : {"hosts", "passives", "arbiters"}) {
    for (const Json& host : hello.value(list, Json::array())) {
      all.push_back(host.get<std::string>());
    }
  }
  const auto primary = std::find(all.begin(), all.end(), hello.value("primary", ""));
  if (primary != all.end()) std::rotate(all.begin(), primary, primary + 1);
  return all;
}

[[noreturn]] void not_ours(const char* what) {
  throw std::logic_error(std::string("somebody else's replica set: ") + what);
}

}  // namespace

UserSet::UserSet(const std::string& uri) {
  const auto hello = MongoClient(with_option(uri, kLimits)).must("admin", {{"hello", 1}});
  std::vector<std::string> proxies;
  for (const auto& address : addresses_in(hello)) {
    const auto alone = with_option(with_hosts(uri, {address}), "directConnection=true");
    members_.push_back({address, std::make_unique<MongoClient>(with_option(alone, kLimits))});
    proxies.push_back(address_of(proxy_.add_member(address)));
  }
  if (members_.empty()) throw std::runtime_error("the server names no members of a replica set");
  uri_ = with_hosts(uri, proxies);
}

bool UserSet::answers(int index) {
  try {
    return integer(member(index).run("admin", {{"ping", 1}})["ok"]) == 1;
  } catch (const NoReply&) {
    return false;
  }
}

std::int64_t UserSet::fail_point(int index, const std::string& name, const Json& mode,
                                 const Json& data) {
  const bool off = mode == Json("off");
  if (!off) fail_points_.emplace(index, name);
  const auto entered = MemberSet::fail_point(index, name, mode, data);
  if (off) fail_points_.erase({index, name});
  return entered;
}

bool UserSet::runs_ttl_monitor(int index) {
  const auto reply = member(index).must("admin", {{"getParameter", 1}, {"ttlMonitorEnabled", 1}});
  return reply.value("ttlMonitorEnabled", true);
}

void UserSet::run_ttl_monitor(int index, bool on) {
  member(index).must("admin", {{"setParameter", 1}, {"ttlMonitorEnabled", on}});
}

void UserSet::set_ttl_monitor(bool on) {
  for (int i = 0; i < size(); ++i) {
    const bool is_off = ttl_off_.contains(i);
    if (on && is_off) {
      run_ttl_monitor(i, true);
      ttl_off_.erase(i);
    } else if (!on && !is_off && answers(i) && runs_ttl_monitor(i)) {
      ttl_off_.insert(i);
      run_ttl_monitor(i, false);
    }
  }
}

std::vector<std::string> UserSet::put_back() {
  std::vector<std::string> left;
  const auto attempt = [&](int index, const std::string& what, const auto& act) {
    try {
      act();
    } catch (const std::exception& error) {
      left.push_back(what + " of " + address(index) + " (" + error.what() + ")");
    }
  };
  const auto fail_points = fail_points_;
  for (const auto& [index, name] : fail_points) {
    attempt(index, "the fail point " + name,
            [&, i = index, &point = name] { fail_point(i, point, "off"); });
  }
  const auto ttl_off = ttl_off_;
  for (const int index : ttl_off) {
    attempt(index, "ttlMonitorEnabled, which is false,", [&] {
      run_ttl_monitor(index, true);
      ttl_off_.erase(index);
    });
  }
  return left;
}

void UserServers::kill(const std::vector<int>&) { not_ours("kill"); }
void UserServers::restart(const std::vector<int>&) { not_ours("restart"); }
void UserServers::wipe(int) { not_ours("wipe"); }
void UserServers::stop(const std::vector<int>&) { not_ours("stop"); }
void UserServers::resume(const std::vector<int>&) { not_ours("resume"); }
void UserServers::set_clock(int, std::int64_t, std::int64_t) { not_ours("set_clock"); }
std::int64_t UserServers::clock_ahead_ms(int) { not_ours("clock_ahead_ms"); }
bool UserServers::shows_its_clock(int) { not_ours("shows_its_clock"); }

void UserServers::settle() {
  until_true("putting back what was changed", [this] {
    const auto left = set_.put_back();
    if (!left.empty()) throw std::runtime_error(left.front());
    return true;
  });
  wait_for_writes("majority");
}

}  // namespace leasehold::sim::live

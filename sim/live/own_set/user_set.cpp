#include "sim/live/own_set/user_set.hpp"

#include <algorithm>
#include <cstdlib>
#include <stdexcept>

#include "sim/live/servers/mongod.hpp"

namespace leasehold::sim::live {
namespace {

const std::string kLimits =
    "serverSelectionTimeoutMS=1000&connectTimeoutMS=1000&socketTimeoutMS=5000&appName=harness";

constexpr int kMostClients = 100'000;

Json ttl_monitor(bool on) { return {{"setParameter", 1}, {"ttlMonitorEnabled", on}}; }

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
  throw std::logic_error(std::string("not a set of ours: ") + what);
}

}  // namespace

UserSet::UserSet(const std::string& uri) {
  const auto hello = MongoClient(with_option(uri, kLimits)).must("admin", {{"hello", 1}});
  std::vector<std::string> proxies;
  for (const auto& address : addresses_in(hello)) {
    const auto alone = with_option(with_hosts(uri, {address}), kLimits + "&directConnection=true");
    members_.push_back({address, alone, std::make_unique<MongoClient>(alone)});
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
  const auto what = "fail point " + name + " of " + address(index);
  const Json off = "off";
  if (mode != off) remember(what, index, {{"configureFailPoint", name}, {"mode", off}});
  const auto entered = MemberSet::fail_point(index, name, mode, data);
  if (mode == off) forget(what);
  return entered;
}

bool UserSet::runs_ttl_monitor(int index) {
  const auto reply = member(index).must("admin", {{"getParameter", 1}, {"ttlMonitorEnabled", 1}});
  return reply.value("ttlMonitorEnabled", true);
}

void UserSet::set_ttl_monitor(bool on) {
  for (int i = 0; i < size(); ++i) {
    const auto what = "ttlMonitorEnabled of " + address(i);
    const bool is_off = changed_.contains(what);
    if (on && is_off) {
      member(i).must("admin", ttl_monitor(true));
      forget(what);
    } else if (!on && !is_off && answers(i) && runs_ttl_monitor(i)) {
      remember(what, i, ttl_monitor(true));
      member(i).must("admin", ttl_monitor(false));
    }
  }
}

std::set<std::string> UserSet::past_proxies(const std::vector<std::string>& names,
                                            const std::string& known) {
  auto asked = names;
  asked.push_back(known);
  const Json clients{{"allUsers", true}, {"idleConnections", true}};
  const Json ask{
      {"aggregate", 1},
      {"pipeline",
       Json::array({{{"$currentOp", clients}}, {{"$match", {{"appName", {{"$in", asked}}}}}}})},
      {"cursor", {{"batchSize", kMostClients}}}};
  std::set<std::string> found;
  for (int i = 0; i < size(); ++i) {
    Json reply;
    try {
      reply = member(i).must("admin", ask);
    } catch (const std::exception&) {
      continue;  // it does not answer, or this user may not see it
    }
    // Asked for after the answer, so that those of the answer are in it.
    const auto ours = proxy_.ports_used();
    std::set<std::string> proxied, others;
    for (const Json& each : reply.at("cursor").at("firstBatch")) {
      const auto [host, port] = host_and_port(each.value("client", ""));
      if (host.empty()) continue;
      const bool is_ours = ours.contains(std::atoi(port.c_str()));
      (is_ours ? proxied : others).insert(each.value("appName", ""));
    }
    if (proxied.contains(known) && !others.contains(known)) found.merge(others);
  }
  return found;
}

void UserSet::remember(const std::string& what, int index, const Json& command) {
  if (!undo_process_) undo_process_ = std::make_unique<UndoProcess>();
  undo_process_->remember(what, at(index).uri, command);
  changed_[what] = {index, command};
}

void UserSet::forget(const std::string& what) {
  if (changed_.erase(what) > 0) undo_process_->forget(what);
}

std::vector<std::string> UserSet::put_back() {
  std::vector<std::string> left;
  const auto changed = changed_;
  for (const auto& [what, undo] : changed) {
    try {
      member(undo.member).must("admin", undo.command);
      forget(what);
    } catch (const std::exception& error) {
      left.push_back(what + " (" + error.what() + ")");
    }
  }
  return left;
}

void UserMembers::kill(const std::vector<int>&) { not_ours("kill"); }
void UserMembers::restart(const std::vector<int>&) { not_ours("restart"); }
void UserMembers::wipe(int) { not_ours("wipe"); }
void UserMembers::stop(const std::vector<int>&) { not_ours("stop"); }
void UserMembers::resume(const std::vector<int>&) { not_ours("resume"); }
void UserMembers::set_clock(int, std::int64_t, std::int64_t) { not_ours("set_clock"); }
std::int64_t UserMembers::clock_ahead_ms(int) { not_ours("clock_ahead_ms"); }
bool UserMembers::shows_its_clock(int) { not_ours("shows_its_clock"); }

void UserMembers::settle() {
  until_true("putting back what was changed", [this] {
    const auto left = set_.put_back();
    if (!left.empty()) throw std::runtime_error(left.front());
    return true;
  });
  wait_for_writes("majority");
}

}  // namespace leasehold::sim::live

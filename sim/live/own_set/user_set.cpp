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

bool UserSet::reachable(int index) {
  try {
    return integer(member(index).run("admin", {{"ping", 1}})["ok"]) == 1;
  } catch (const NoReply&) {
    return false;
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
      const auto [host, port] = mongo::host_and_port(each.value("client", ""));
      if (host.empty()) continue;
      const bool is_ours = ours.contains(std::atoi(port.c_str()));
      (is_ours ? proxied : others).insert(each.value("appName", ""));
    }
    if (proxied.contains(known) && !others.contains(known)) found.merge(others);
  }
  return found;
}

}  // namespace leasehold::sim::live

#include "sim/live/own_set/user_set.hpp"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <stdexcept>
#include <utility>

#include "mongo/client/handles.hpp"

namespace leasehold::sim::live {

namespace {

using std::chrono::milliseconds;

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
  const auto primary = std::ranges::find(all, hello.value("primary", ""));
  if (primary != all.end()) std::rotate(all.begin(), primary, primary + 1);
  return all;
}

constexpr const char* kPatience = "serverSelectionTimeoutMS=5000&socketTimeoutMS=10000";
constexpr const char* kRemedy = "or leave the faults of links out with --faults process";
constexpr std::int64_t kMajorityLimit_ms = 5'000;
/// What the lock and the processes do, as actions of a role; the first waits for a majority.
constexpr std::pair<const char*, const char*> kRights[] = {
    {"insert", R"({"insert": "preflight", "documents": [{"x": 0}],
                   "writeConcern": {"w": "majority", "wtimeout": 5000}})"},
    {"find", R"({"find": "preflight"})"},
    {"update", R"({"update": "preflight", "updates": [{"q": {}, "u": {"$set": {"x": 1}}}]})"},
    {"createIndex",
     R"({"createIndexes": "preflight", "indexes": [{"key": {"x": 1}, "name": "x_1"}]})"},
    {"changeStream",
     R"({"aggregate": "preflight", "pipeline": [{"$changeStream": {}}], "cursor": {}})"},
    {"remove", R"({"delete": "preflight", "deletes": [{"q": {}, "limit": 0}]})"}};

bool is_ok(const Json& reply) { return reply.contains("ok") && integer(reply["ok"]) == 1; }

std::string complaint(const Json& reply) { return reply.value("errmsg", "it failed"); }

class Look {
 public:
  Look(const std::string& uri, std::string database, std::int64_t clock_margin_ms)
      : uri_(uri),
        database_(std::move(database)),
        clock_margin_(clock_margin_ms),
        client_(with_option(uri, kPatience)) {}

  Preflight go() {
    if (!reach()) return std::move(out_);
    version();
    if (!is_a_set()) return std::move(out_);
    rights();
    oplog();
    ttl_monitor();
    default_write_concern();
    clocks();
    return std::move(out_);
  }

 private:
  bool reach() {
    try {
      hello_ = client_.must("admin", {{"hello", 1}});
      return true;
    } catch (const std::exception& error) {
      out_.unreachable = true;
      lack("no primary of " + without_password(uri_) + " answered within 5 s (" + error.what() +
           "): start the set, or fix the URI, its user, or the network");
      return false;
    }
  }

  void lack(const std::string& sentence) { out_.missing.push_back(sentence); }
  void note(const std::string& sentence) { out_.notes.push_back(sentence); }

  void version() {
    const auto reply = client_.run("admin", {{"buildInfo", 1}});
    if (!is_ok(reply)) return note("the version is not readable: " + complaint(reply));
    if (is_supported(reply)) return;
    lack("the server's version is " + reply.value("version", "?") +
         ": it must be 5.1 or later; upgrade it");
  }

  bool is_a_set() {
    if (hello_.contains("setName")) return true;
    if (hello_.value("msg", "") == "isdbgrid") {
      lack("it is a mongos: name the members of a replica set, whose oplog can be read");
    } else {
      lack("it is no member of a replica set: start it with --replSet and call rs.initiate()");
    }
    return false;
  }

  /// Does each action of the lock and the processes once.
  void rights() {
    std::string refused, reason;
    for (const auto& [right, command] : kRights) {
      const auto reply = client_.run(database_, Json::parse(command));
      if (right == kRights[0].first && reply.contains("writeConcernError")) {
        lack("a majority did not confirm a write within 5 s: start the members that are down");
      }
      if (is_ok(reply) && !reply.contains("writeErrors")) continue;
      refused += (refused.empty() ? "" : ", ") + std::string(right);
      reason = complaint(reply);
    }
    if (!refused.empty()) {
      lack("the user may not " + refused + " in database '" + database_ + "' (" + reason +
           "): grant it the role readWriteAnyDatabase");
    }
    try {
      drop_database(uri_, database_);
    } catch (const std::exception& error) {
      if (refused.empty()) {
        lack(std::string("the user may not drop what a run wrote (") + error.what() +
             "): grant it the role readWriteAnyDatabase");
      }
    }
  }

  void oplog() {
    const auto reply = client_.run("local", {{"find", "oplog.rs"},
                                             {"limit", 1},
                                             {"singleBatch", true},
                                             {"readConcern", {{"level", "majority"}}}});
    if (is_ok(reply)) return;
    lack("the user may not find in local.oplog.rs, from which writes are read (" +
         complaint(reply) + "): grant it {role: \"read\", db: \"local\"}");
  }

  void ttl_monitor() {
    const auto reply = client_.run(
        "admin", {{"getParameter", 1}, {"ttlMonitorEnabled", 1}, {"ttlMonitorSleepSecs", 1}});
    if (!is_ok(reply)) {
      return note("the TTL monitor's period is not readable (" + complaint(reply) +
                  "; the role clusterMonitor may): 60 s are assumed");
    }
    out_.ttl_period_ms = integer(reply.at("ttlMonitorSleepSecs")) * 1'000;
    if (reply.value("ttlMonitorEnabled", true)) return;
    lack(
        "the TTL monitor is off, so that a dead holder's document stays for ever: "
        "set the parameter ttlMonitorEnabled to true on each member");
  }

  void default_write_concern() {
    const auto reply = client_.run("admin", {{"getDefaultRWConcern", 1}});
    if (!is_ok(reply)) {
      return note("the default write concern is not readable: " + complaint(reply));
    }
    const auto concern = reply.value("defaultWriteConcern", Json::object());
    if (concern.value("w", Json(1)) == "majority") return;
    note("the default write concern is " + concern.dump() +
         ": the lock asks for majority itself, and so must every write that its token guards");
  }

  /// Each member's clock against ours, as far as the time of the question allows.
  void clocks() {
    std::map<milliseconds, std::string> hosts;  // by how far they are ahead of ours
    milliseconds blur{0};
    for (const auto& member : client_.members()) {
      try {
        (void)client_.run_once("admin", {{"ping", 1}}, {}, member.id);  // it connects
        const auto before = real_time();
        const auto reply = client_.run_once("admin", {{"hello", 1}}, {}, member.id);
        const auto after = real_time();
        const milliseconds shown(date_ms(reply.at("localTime")));
        hosts.emplace(shown - (before + after) / 2, member.host);
        blur = std::max(blur, (after - before) / 2);
      } catch (const std::exception&) {
        note(member.host + " does not answer from here: its clock was not compared");
      }
    }
    if (hosts.empty()) return;
    const auto& [first, behind] = *hosts.begin();
    const auto& [last, ahead] = *hosts.rbegin();
    if (last - first - 2 * blur <= clock_margin_) return;
    lack("the clocks of " + ahead + " and " + behind + " are " +
         std::to_string((last - first).count()) + " ms apart: the plans allow for " +
         std::to_string(clock_margin_.count()) + " ms; synchronise them (chrony, NTP)");
  }

  const std::string uri_, database_;
  const milliseconds clock_margin_;
  MongoClient client_;
  Json hello_;
  Preflight out_;
};

}  // namespace

UserSet::UserSet(const std::string& uri) {
  const auto hello = MongoClient(with_option(uri, kLimits)).must("admin", {{"hello", 1}});
  std::vector<std::string> proxies;
  for (const auto& address : addresses_in(hello)) {
    const auto alone = with_option(with_hosts(uri, {address}), kLimits + "&directConnection=true");
    member_uris_.push_back(alone);
    members_.emplace_back(alone);
    proxies.push_back(address_of(proxy_.add_member(address)));
  }
  if (members_.empty()) throw std::runtime_error("the server names no members of a replica set");
  uri_ = with_hosts(uri, proxies);
  proxy_.primary = [this] {
    std::vector<MongoClient*> clients;
    for (auto& each : members_) clients.push_back(&each);
    return primary_among(clients);
  };
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
  for (auto& each : members_) {
    Json reply;
    try {
      reply = each.must("admin", ask);
    } catch (const std::exception&) {
      continue;  // it does not answer, or this user may not see it
    }
    // Asked for after the answer, so that those of the answer are in it.
    const auto ours = proxy_.ports_used();
    std::set<std::string> proxied, others;
    for (const Json& client : reply.at("cursor").at("firstBatch")) {
      const auto [host, port] = mongo::host_and_port(client.value("client", ""));
      if (host.empty()) continue;
      const bool is_ours = ours.contains(std::atoi(port.c_str()));
      (is_ours ? proxied : others).insert(client.value("appName", ""));
    }
    if (proxied.contains(known) && !others.contains(known)) found.merge(others);
  }
  return found;
}

std::string why_no_proxies(const std::string& uri) {
  init_driver();  // and silence: an odd option is no error here
  bson_error_t error;
  const mongo::UriHandle parsed(mongoc_uri_new_with_error(uri.c_str(), &error));
  if (!parsed) return "";
  const auto refused = [](const std::string& what, const std::string& why) {
    return "--uri " + what + ": " + why + ", " + kRemedy;
  };
  if (mongoc_uri_get_tls(parsed.get())) {
    return refused("has TLS", "a proxy cannot see who speaks; name a set without TLS");
  }
  if (uri.starts_with("mongodb+srv:")) {
    return refused("is 'mongodb+srv:'", "name the members themselves, with 'mongodb:'");
  }
  if (mongoc_uri_get_option_as_bool(parsed.get(), MONGOC_URI_DIRECTCONNECTION, false)) {
    return refused("has directConnection", "links of a whole set are disturbed; leave it out");
  }
  if (mongoc_uri_get_appname(parsed.get()) != nullptr) {
    return refused("has appName", "processes are known by it; leave it out");
  }
  return "";
}

Preflight look_before_running(const std::string& uri, const std::string& database,
                              std::int64_t clock_margin_ms) {
  try {
    return Look(uri, database, clock_margin_ms).go();
  } catch (const std::exception& error) {
    return {.missing = {std::string(error.what()) + ": fix the URI, or the network to the set"}};
  }
}

void drop_database(const std::string& uri, const std::string& database) {
  MongoClient client(with_option(uri, kPatience));
  const auto listed = client.must(database, {{"listCollections", 1}, {"nameOnly", true}});
  for (const auto& collection : listed.at("cursor").at("firstBatch")) {
    client.must(database, {{"drop", collection.at("name")},
                           {"writeConcern", {{"w", "majority"}, {"wtimeout", kMajorityLimit_ms}}}});
  }
}

}  // namespace leasehold::sim::live

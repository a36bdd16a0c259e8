#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "cli/admin/admin.hpp"
#include "mongo/replies.hpp"
#include "runtime/threads/clock.hpp"

namespace leasehold::cli {
namespace {

constexpr const char* kSetOfOne =
    "a set of one member: no lock can be taken or extended while it is down, and what its disk "
    "loses is lost, held locks included";

std::string words_of_error(const Json& reply) {
  return mongo::without_command(reply.value("errmsg", "refused"));
}

bool ok(const Json& reply) { return mongo::integer(reply["ok"]) == 1; }

enum Servers { kUnfit = 0, kSet = 1, kCluster = 2, kAny = 3 };

/// What the checks look at, and what they say of it, each of its subject.
class Visit {
 public:
  explicit Visit(const Server& server) : admin(server) {}

  Admin admin;
  Servers servers = kUnfit;
  Json config, status;  ///< of a set
  const char* subject = "server";

  /// A command on the locks' database.
  Json ask(const Json& command, const mongo::JsonClient::Read& read = {}) {
    return admin.run(admin.database(), command, read);
  }
  void find(const char* database, const char* collection, const std::string& id,
            const mongo::JsonClient::Read& read) {
    admin.run(database,
              {{"find", collection}, {"filter", {{"_id", id}}}, {"singleBatch", true}}, read);
  }
  void fine(const std::string& finding) { add("fine", finding, ""); }
  void note(const std::string& finding, const std::string& fix = "") { add("note", finding, fix); }
  void problem(const std::string& finding, const std::string& fix = "") {
    add("problem", finding, fix);
    is_wrong = true;
  }
  /// The role may not ask.
  void unknown(const Json& reply) { note("not known: " + words_of_error(reply)); }
  void print_all(bool json) const {
    if (json) return print_json(all_);
    const auto line = [](const std::string& first, const std::string& second,
                         const std::string& third) {
      print(column(first, 8) + ' ' + column(second, 14) + ' ' + printable(third) + '\n');
    };
    for (const Json& one : all_) {
      line(one["level"], one["subject"], one["finding"]);
      if (one["fix"] != "") line("", "", "  " + one["fix"].get<std::string>());
    }
  }
  bool is_wrong = false;

 private:
  void add(const char* level, const std::string& finding, const std::string& fix) {
    all_.push_back({{"level", level}, {"subject", subject}, {"finding", finding}, {"fix", fix}});
  }
  Json all_ = Json::array();
};

/// Whether locks can be held here at all.
Servers examine_server(Visit& at) {
  std::optional<std::string> refusal;
  bool is_cluster = false, is_shard = false;
  const Json said = at.admin.run("admin", {{"hello", 1}}, [&](const bson_t& hello) {
    refusal = mongo::refusal_of_hello(hello);
    is_cluster = mongo::is_mongos(hello);
  });
  if (refusal) {
    const bool is_standalone = !said.contains("setName") && !said.contains("msg");
    at.problem(*refusal, is_standalone ? "a set of one: mongod --replSet rs, then rs.initiate() in "
               "mongosh, and replicaSet=rs in the URI" : "");
    return kUnfit;
  }
  // The TTL monitor of a shard fails in a database that the cluster does not know of (tried with
  // MongoDB 7.0).
  if (!is_cluster) {
    at.find("admin", "system.version", "shardIdentity",
            [&](const bson_t& found) { is_shard = mongo::is_of_a_shard(found); });
  }
  if (is_shard) {
    at.problem(mongo::kIsAShard);
    return kUnfit;
  }
  const Json info = at.admin.run("admin", {{"buildInfo", 1}});
  at.fine((is_cluster ? "a sharded cluster, MongoDB " : "a replica set, MongoDB ") +
          info.value("version", "?"));
  return is_cluster ? kCluster : kSet;
}

/// Says whether the collection is sharded, if a cluster has it.
void examine_sharding(Visit& at) {
  std::optional<core::Reply> refusal;
  at.find("config", "collections", at.admin.space(),
          [&](const bson_t& found) { refusal = mongo::refusal_of_sharding(found); });
  if (!refusal) return at.fine("the collection is not sharded, or by _id");
  if (refusal->code == 0) return at.problem(refusal->message);
  at.note(refusal->message);
}

/// Members with a vote that apply what is written at once are those that confirm a lock's writes.
void examine_majority(Visit& at) {
  if (!ok(at.status) || at.status["members"].size() == 1) return;
  if (!ok(at.config)) return at.unknown(at.config);
  int prompt = 0, arbiters = 0;
  std::string late;
  for (const Json& member : at.config["config"]["members"]) {
    if (mongo::integer(member.value("votes", Json(1))) == 0) continue;
    const auto delay = mongo::integer(member.value("secondaryDelaySecs", Json(0)));
    const bool arbiter = member.value("arbiterOnly", false);
    arbiters += arbiter ? 1 : 0;
    prompt += arbiter || delay > 0 ? 0 : 1;
    if (delay == 0) continue;
    late += (late.empty() ? "" : ", ") + member.value("host", "?") + " is " +
            std::to_string(delay) + " s late";
  }
  const auto needed = mongo::integer(at.status["writeMajorityCount"]);
  if (prompt > needed) return;
  std::string why = arbiters == 0 ? "" : "; arbiters hold no data: " + std::to_string(arbiters);
  if (!late.empty()) why += "; " + late;
  const auto members = std::to_string(needed) + " members that hold data";
  if (prompt < needed) {
    return at.problem("a write needs " + members + ", " + std::to_string(prompt) +
                      " confirm it at once" + why, "a member with data, a vote and no delay "
                      "instead");
  }
  at.note("a write needs all " + members + ": while one of them is down or behind, no lock can be "
          "taken, extended or released" + why, "one more member with data, a vote and no delay");
}

void examine_members(Visit& at) {
  if (at.servers == kCluster) return at.note("those of shards are not seen through a mongos");
  if (!ok(at.status)) return at.unknown(at.status);
  int up = 0, all = 0;
  std::string down;
  for (const Json& member : at.status["members"]) {
    ++all;
    if (mongo::integer(member["health"]) == 1) {
      ++up;
    } else {
      down += (down.empty() ? "" : ", ") + member.value("name", "?");
    }
  }
  if (all == 1) return at.note(kSetOfOne, "three are usual");
  const std::string count = std::to_string(up) + " of " + std::to_string(all) + " are up";
  if (down.empty()) return at.fine(count);
  const auto say = up * 2 > all + 1 ? &Visit::note : &Visit::problem;
  (at.*say)(count + "; not " + down, "locks need a majority of the members");
}

/// A set with an arbiter names no default, and then it is w: 1.
void examine_default_write_concern(Visit& at) {
  const Json defaults = at.admin.run("admin", {{"getDefaultRWConcern", 1}});
  if (!ok(defaults)) return at.unknown(defaults);
  const auto concern = defaults.find("defaultWriteConcern");
  const bool known = concern != defaults.end() && concern->contains("w");
  const Json w = known ? (*concern)["w"] : Json(1);
  const std::string what =
      known ? "the set's default is w: " + w.dump() : "the set names no default, which is w: 1";
  if (!w.is_number() || w.get<double>() > 1) return at.fine(what);
  at.problem(what + "; locks are majority writes all the same, but what the holder of a lock "
             "writes may be rolled back", "db.adminCommand({setDefaultRWConcern: 1, "
             "defaultWriteConcern: {w: \"majority\"}})");
}

void examine_journal(Visit& at) {
  if (!ok(at.config)) return at.unknown(at.config);
  if (at.config["config"].value("writeConcernMajorityJournalDefault", true)) {
    return at.fine("majority writes are journaled");
  }
  at.problem("majority writes are acknowledged from memory (writeConcernMajorityJournalDefault is "
             "false): a crash of several members may lose a lock",
             "set it to true by rs.reconfig()");
}

/// A write that changes nothing asks for the right to write. A majority confirms it as soon as it
/// has what was written before, which may be long ago. So a linearizable read follows, because the
/// primary writes an entry of its own for that, and waits for a majority.
void examine_writes(Visit& at) {
  constexpr int kPatience_ms = 5'000;
  const Json nothing{{"q", {{"_id", "leasehold doctor"}, {"lockId", {{"$lt", {{"$minKey", 1}}}}}}},
                     {"u", {{"$set", {{"lockId", ""}}}}}};
  const Json reply = at.ask({{"update", at.admin.collection()},
                             {"updates", Json::array({nothing})},
                             {"writeConcern", {{"w", "majority"}, {"wtimeout", kPatience_ms}}}});
  if (!ok(reply)) {
    return at.problem("no lock can be taken: " + words_of_error(reply), "give credentials in the "
                      "URI whose role may find, insert, update and remove here");
  }
  const auto no_majority = [&at](const Json& error) {
    at.problem("no lock can be taken: " + words_of_error(error),
               "locks need a majority, of members with data");
  };
  for (const char* failed : {"writeErrors", "writeConcernError"}) {
    if (!reply.contains(failed)) continue;
    return no_majority(reply[failed].is_array() ? reply[failed][0] : reply[failed]);
  }
  const Json read = at.ask({{"find", at.admin.collection()},
                            {"filter", nothing["q"]},
                            {"singleBatch", true},
                            {"readConcern", {{"level", "linearizable"}}},
                            {"maxTimeMS", kPatience_ms}});
  if (!ok(read)) return no_majority(read);
  at.fine("a majority confirms them");
}

/// What the collection was made with decides whether a document can stay in it.
void examine_options(Visit& at) {
  const Json listed =
      at.ask({{"listCollections", 1}, {"filter", {{"name", at.admin.collection()}}}});
  if (!ok(listed)) return at.unknown(listed);
  const Json& found = listed["cursor"]["firstBatch"];
  if (found.empty()) return;  // made with the first lock
  const Json options = found[0].value("options", Json::object());
  const auto type = found[0].value("type", "collection");
  const auto problem = [&at](const std::string& finding) {
    at.problem(finding, "use a plain collection: --collection");
  };
  if (type != "collection") {
    problem("'" + at.admin.collection() + "' is a " + type);
  } else if (options.contains("capped") && options["capped"] != false) {
    problem("'" + at.admin.collection() +
            "' is capped: the server deletes the locks that are held to make room");
  } else if (options.contains("collation")) {
    problem("'" + at.admin.collection() + "' has a collation: names that differ may be one lock");
  } else if (options.contains("validator")) {
    at.note("'" + at.admin.collection() + "' has a validator: it may refuse lock documents");
  } else {
    at.fine("made without options");
  }
}

std::set<std::string> actions_on(const Json& privileges, const std::string& database,
                                 const std::string& collection) {
  std::set<std::string> actions;
  for (const Json& privilege : privileges) {
    const Json& resource = privilege["resource"];
    const auto covers = [&resource](const char* field, const std::string& name) {
      const auto own = resource.value(field, std::string("?"));
      return own.empty() || own == name;
    };
    const bool ours = resource.value("anyResource", false) ||
                      (covers("db", database) && covers("collection", collection));
    if (!ours) continue;
    for (const Json& action : privilege["actions"]) actions.insert(action.get<std::string>());
  }
  return actions;
}

void examine_permissions(Visit& at) {
  const Json status = at.admin.must(
      "admin", mongo::from_json({{"connectionStatus", 1}, {"showPrivileges", true}}));
  const Json& auth = status["authInfo"];
  if (auth["authenticatedUsers"].empty()) return at.note("no log-in");
  const auto actions =
      actions_on(auth["authenticatedUserPrivileges"], at.admin.database(), at.admin.collection());
  const auto missing = [&actions](std::initializer_list<const char*> wanted) {
    std::string list;
    for (const char* action : wanted) {
      if (!actions.contains(action)) list += (list.empty() ? "" : ", ") + std::string(action);
    }
    return list;
  };
  const auto place = at.admin.space();
  if (const auto needed = missing({"find", "insert", "update", "remove"}); !needed.empty()) {
    at.problem("missing on " + place + ": " + needed, "no lock can be taken without them");
  } else {
    at.fine("locks can be taken in " + place);
  }
  if (!missing({"createIndex"}).empty()) {
    at.note("missing on " + place + ": createIndex", "an administrator has to create the TTL "
            "index");
  }
  if (!missing({"changeStream"}).empty()) {
    at.note("missing on " + place + ": changeStream",
            "calls that wait poll, which makes long waits longer");
  }
}

void examine_index(Visit& at) {
  const auto& name = at.admin.collection();
  std::string verdict;
  const Json listed = at.ask({{"listIndexes", name}}, [&verdict](const bson_t& reply) {
    verdict = mongo::judge_indexes(reply);
  });
  if (!ok(listed)) {
    const bool none_yet = mongo::integer(listed["code"]) == mongo::kNamespaceNotFound;
    if (none_yet) return at.note("no lock was taken yet; the first one creates it");
    return at.unknown(listed);
  }
  if (verdict.empty()) return at.fine("correct");
  const std::string on = "db.getCollection(\"" + name + "\")";
  at.problem(verdict, on + ".dropIndex({expiresAt: 1}) if there is one, then " + on +
             ".createIndex({expiresAt: 1}, {name: \"expiresAt_ttl\", expireAfterSeconds: 0})");
}

/// Server clock less our clock, in ms, from the middle of the shortest of a few round trips: the
/// first one opens a connection, and any of them may be delayed.
std::optional<double> clock_offset_ms(Admin& admin, std::uint32_t member) {
  constexpr int kTrips = 4;
  const auto clock = runtime::boottime_clock();
  const auto now_ms = [&clock] {
    return static_cast<double>(clock->now().time_since_epoch().count()) / 1e6;
  };
  double shortest = std::numeric_limits<double>::max(), offset = 0;
  try {
    for (int trip = 0; trip < kTrips; ++trip) {
      const auto before = now_ms();
      const Json hello = admin.client().run_once("admin", {{"hello", 1}}, {}, member);
      const auto after = now_ms();
      if (after - before >= shortest) continue;
      shortest = after - before;
      offset = static_cast<double>(date_ms(hello["localTime"])) - (before + after) / 2;
    }
  } catch (const mongo::NoReply&) {
    return std::nullopt;
  }
  return offset;
}

void examine_clocks(Visit& at) {
  const std::string whose = at.servers == kCluster ? "routers" : "members";
  constexpr double kNoticeable_ms = 1'000;
  std::vector<std::pair<double, std::string>> offsets;
  for (const auto& member : at.admin.client().members()) {
    if (const auto offset = clock_offset_ms(at.admin, member.id)) {
      offsets.emplace_back(*offset, member.host);
    }
  }
  if (offsets.size() < 2) return at.note("fewer than two " + whose + " answered");
  std::ranges::sort(offsets);
  const auto& [slowest, behind] = offsets.front();
  const auto& [fastest, ahead] = offsets.back();
  const auto apart = static_cast<std::int64_t>(std::llround(fastest - slowest));
  if (fastest - slowest < kNoticeable_ms) {
    return at.fine("the " + whose + "' are at most " + std::to_string(apart) + " ms apart");
  }
  at.problem("those of " + ahead + " and " + behind + " are " + std::to_string(apart) +
             " ms apart; locks tolerate clock_margin (30000 ms by default)",
             "run NTP on every server");
}

void examine_documents(Visit& at) {
  constexpr std::size_t kMany = 50'000;
  constexpr std::int64_t kTtlPass_ms = 180'000;
  std::size_t all = 0, stale = 0, corrupt = 0;
  std::string first;
  try {
    at.admin.each_lock([&](const SeenLock& lock) {
      ++all;
      if (!lock.is_corrupt()) {
        stale += !lock.is_free() && lock.left_ms() < -kTtlPass_ms ? 1 : 0;
      } else if (++corrupt == 1) {
        first = "'" + lock.document.name + "': " + lock.holder();
      }
    });
  } catch (const Failure& failure) {
    return at.note(std::string("not known: ") + failure.what());
  }
  const std::string count = std::to_string(all) + " lock documents";
  if (corrupt > 0) {
    at.problem(count + ", " + std::to_string(corrupt) + " of them corrupt, which block "
               "their locks for ever; the first is " + first,
               "leasehold release NAME --force --now; one whose _id is no string by hand");
  }
  if (stale > 0) {
    at.problem(count + ", " + std::to_string(stale) + " of them expired more than 3 min "
               "ago: the TTL monitor does not remove them", "look at the TTL index and at "
               "ttlMonitorEnabled");
  }
  if (all >= kMany) {
    at.problem(count + ": too many", "look for lock names that are generated anew each time");
  } else if (corrupt + stale == 0) {
    at.fine(count);
  }
}

/// The .NET package 2.8 uses one name in its code and another in its pages. People copy both, and
/// users of the one do not exclude users of the other.
void examine_other_collection(Visit& at) {
  const std::string dotted = "distributed.locks", underscored = "distributed_locks";
  if (at.admin.collection() != dotted && at.admin.collection() != underscored) return;
  const auto& other = at.admin.collection() == dotted ? underscored : dotted;
  const Json listed =
      at.ask({{"listCollections", 1}, {"filter", {{"name", other}}}, {"nameOnly", true}});
  if (!ok(listed)) return at.unknown(listed);
  if (listed["cursor"]["firstBatch"].empty()) return;
  at.problem("there is a collection '" + other + "' too, as DistributedLock.MongoDB 2.8 names it; "
             "locks in it and in '" + at.admin.collection() + "' do not exclude each other",
             "if both are for the same locks: --collection " + other +
             " (ProviderOptions::collection)");
}

constexpr struct {
  const char* subject;
  Servers of;
  void (*look)(Visit& at);
} kChecks[] = {{"majority", kSet, examine_majority},
               {"members", kAny, examine_members},
               {"clocks", kAny, examine_clocks},
               {"journal", kSet, examine_journal},
               {"sharding", kCluster, examine_sharding},
               {"writes", kAny, examine_writes},
               {"write concern", kAny, examine_default_write_concern},
               {"permissions", kAny, examine_permissions},
               {"collection", kAny, examine_options},
               {"TTL index", kAny, examine_index},
               {"collection", kAny, examine_other_collection},
               {"documents", kAny, examine_documents}};

}  // namespace

int doctor(const std::vector<std::string>& words) {
  po::options_description options("Options");
  options.add_options()("json", "print JSON");
  options.add(server_options());
  const auto values = parse(
      "leasehold doctor [OPTIONS]\n\nReports what is wrong with the replica set and the lock "
      "collection, and how to fix it;\nchanges nothing. Exit code 1 if there is a problem.",
      options, words);
  Visit visit(server_of(values));
  visit.servers = examine_server(visit);
  if (visit.servers == kSet) {
    visit.config = visit.admin.run("admin", {{"replSetGetConfig", 1}});
    visit.status = visit.admin.run("admin", {{"replSetGetStatus", 1}});
  }
  for (const auto& check : kChecks) {
    visit.subject = check.subject;
    if ((visit.servers & check.of) != 0) check.look(visit);
  }
  visit.print_all(values.contains("json"));
  return visit.is_wrong ? kFound : kDone;
}

}  // namespace leasehold::cli

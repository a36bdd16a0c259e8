#include <algorithm>

#include "cli/admin/admin.hpp"
#include "cli/admin/lock_life.hpp"

namespace leasehold::cli {
namespace {

using std::chrono::milliseconds;

constexpr const char* kTraceUsage =
    "leasehold trace NAME [OPTIONS]\n\n"
    "Shows the life of a lock, read off the oplog: its holders, when, with which fencing token, "
    "how\n"
    "long it was held, and how it ended. The role must be allowed to read the oplog (database\n"
    "local). Times are by the primary's clock at that time. Exit code 1 if there is nothing.";

/// Reads the lock's writes and the elections, oldest first. How many writes. Fails if the role may
/// not read them.
int read_oplog(Admin& admin, const std::string& name, milliseconds since, LockLife& life) {
  const Json server = admin.must("admin", mongo::from_json({{"hello", 1}}));
  if (server.value("msg", "") == "isdbgrid") {
    throw Failure(kUnavailable,
                  "the oplog is not seen through a mongos: give the URI of the shard that has the "
                  "lock");
  }
  const auto now_s = date_ms(server["localTime"]) / 1'000;
  const auto from_s = std::max<std::int64_t>(0, now_s - since.count() / 1'000);
  const Json election{{"op", "n"}, {"o.msg", "new primary"}};
  int writes = 0;
  admin.each("local",
             {{"find", "oplog.rs"},
              {"filter",
               {{"ts", {{"$gte", {{"$timestamp", {{"t", from_s}, {"i", 0}}}}}}},
                {"$or", Json::array({admin.oplog_of(name), election})}}},
              {"projection", {{"ts", 1}, {"op", 1}, {"o", 1}, {"wall", 1}}},
              {"maxTimeMS", 60'000}},
             [&](const bson_t& bytes) {
               for (const Json& write : writes_of(mongo::to_json(bytes), admin.space(), name)) {
                 life.read(write);
                 writes += write.value("op", "") != "n" ? 1 : 0;
               }
             });
  return writes;
}

Json to_json(const LifeStep& step) {
  Json json{{"at", date(step.at_ms)}, {"step", to_string(step.kind)}};
  if (step.times > 1) json["times"] = step.times;
  if (step.last_ms != step.at_ms) json["last"] = date(step.last_ms);
  if (!step.holder.empty()) json["holder"] = step.holder;
  if (!step.from.empty()) json["from"] = step.from;
  if (step.token != 0) json["fencingToken"] = std::to_string(step.token);
  if (step.held_ms != 0) json["heldMs"] = step.held_ms;
  return json;
}

std::string sentence(const LifeStep& step) {
  const std::string held = step.held_ms > 0 ? ", after " + span(step.held_ms) : "";
  const std::string token = ", token " + std::to_string(step.token);
  switch (step.kind) {
    case LifeStep::Kind::taken: return "taken by " + step.holder + token;
    case LifeStep::Kind::extended:
      return "extended " + (step.times == 1 ? std::string("once")
                                            : std::to_string(step.times) + " times, the last " +
                                                  span(step.last_ms - step.at_ms) + " later");
    case LifeStep::Kind::taken_over:
      return "taken over by " + step.holder + token + "; the lease of " + step.from + " was over";
    case LifeStep::Kind::handed_on:
      return "passed to " + step.holder + token + "; handed over by " + step.from +
             ", or that one was presumed dead" + held;
    case LifeStep::Kind::joined: return "joined by " + step.holder + token;
    case LifeStep::Kind::left: return "left by " + step.holder;
    case LifeStep::Kind::forced: return "taken from " + step.from + " by force" + held;
    case LifeStep::Kind::released:
      return "released" + (step.holder.empty() ? "" : " by " + step.holder) + held;
    case LifeStep::Kind::removed:
      return "removed after the lease of " + step.holder + " was over" + held;
    case LifeStep::Kind::new_primary: return "-- a new primary was elected --";
  }
  return "?";
}

void print_life(const LockLife& life, bool json) {
  if (!json) {
    for (const LifeStep& step : life.steps()) {
      print(date(step.at_ms) + "  " + printable(sentence(step)) + '\n');
    }
    const auto holder = life.holder();
    return print(holder.empty() ? "now free\n" : "now held by " + printable(holder) + '\n');
  }
  Json list = Json::array();
  for (const LifeStep& step : life.steps()) list.push_back(to_json(step));
  print_json(list);
}

}  // namespace

int trace(const std::vector<std::string>& words) {
  po::options_description options("Options");
  options.add_options()("name", po::value<std::string>()->required()->value_name("NAME"),
                        "the lock")(
      "since", po::value<std::string>()->default_value("1h")->value_name("DURATION"),
      "how far back")("json", "print JSON");
  options.add(server_options());
  const auto values = parse_with_name(kTraceUsage, options, words);
  const auto since = duration_of("since", values["since"].as<std::string>());
  Admin admin(server_of(values));
  const auto name = lock_name_in(values);
  LockLife life;
  if (read_oplog(admin, name, since, life) == 0) {
    throw Failure(kFound, "lock '" + name + "': the oplog has no write of it in the last " +
                              span(since.count()));
  }
  print_life(life, values.contains("json"));
  return kDone;
}

}  // namespace leasehold::cli

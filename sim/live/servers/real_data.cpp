#include "sim/live/servers/real_data.hpp"

#include "mongo/commands.hpp"
#include "mongo/replies.hpp"

namespace leasehold::sim::live {
namespace {

constexpr int kWriteTimeout_ms = 2'000;
constexpr const char* kFailing = "failCommand";
constexpr const char* kHolding = "hangBeforeFindAndModifyPerformsUpdate";

}  // namespace

std::int64_t RealData::ttl_passes() {
  std::int64_t passes = 0;
  for (int i = 0; i < members_.size(); ++i) {
    if (!members_.reachable(i)) continue;
    const auto status = members_.member(i).run("admin", {{"serverStatus", 1}});
    passes += integer(status.at("metrics").at("ttl").at("passes"));
  }
  return passes;
}

/// Does not wait for one, because other faults would not end in the meantime.
MongoClient& RealData::primary_client() {
  const int primary = members_.primary_now();
  if (primary < 0) throw std::runtime_error("no member is primary");
  return members_.member(primary);
}

/// As an administrator: on the primary, for a majority.
Json RealData::administer(Json command) {
  command["writeConcern"] = {{"w", "majority"}, {"wtimeout", kWriteTimeout_ms}};
  return primary_client().must(database(), command);
}

/// As `listIndexes` tells it; null: there is none.
Json RealData::ttl_index() {
  const auto reply = primary_client().run(database(), {{"listIndexes", collection()}});
  if (integer(reply["ok"]) != 1) return {};
  for (const Json& index : reply["cursor"]["firstBatch"]) {
    if (index.contains("expireAfterSeconds")) return index;
  }
  return {};
}

std::optional<std::int64_t> RealData::ttl_seconds() {
  const Json found = ttl_index();
  if (found.is_null()) return std::nullopt;
  if (index_.is_null()) index_ = found;
  return integer(found["expireAfterSeconds"]);
}

/// Looks first, because an earlier primary's changes may have been rolled back since.
void RealData::set_ttl_seconds(std::optional<std::int64_t> seconds) {
  const auto found = ttl_seconds();
  if (found == seconds) return;
  if (!seconds) {
    administer({{"dropIndexes", collection()}, {"index", index_["name"]}});
  } else if (!found) {
    const Json made{
        {"key", index_["key"]}, {"name", index_["name"]}, {"expireAfterSeconds", *seconds}};
    administer({{"createIndexes", collection()}, {"indexes", {made}}});
  } else {
    const Json changed{{"name", index_["name"]}, {"expireAfterSeconds", *seconds}};
    administer({{"collMod", collection()}, {"index", changed}});
  }
}

bool RealData::drop_locks() {
  administer({{"drop", collection()}});
  return true;
}

std::string RealData::delete_lock(std::int64_t pick) {
  const auto reply =
      primary_client().must(database(), {{"find", collection()}, {"sort", {{"_id", 1}}}});
  const Json& found = reply["cursor"]["firstBatch"];
  if (found.empty()) return "";
  const Json& id = found[static_cast<std::size_t>(pick) % found.size()]["_id"];
  const Json one{{"q", {{"_id", id}}}, {"limit", 1}};
  const auto deleted = administer({{"delete", collection()}, {"deletes", {one}}});
  if (integer(deleted["n"]) != 1) return "";
  return id.is_string() ? id.get<std::string>() : id.dump();
}

std::vector<std::string> RealData::held_locks() {
  const Json dated{{"expiresAt", {{"$gt", {{"$date", 0}}}}}};
  const auto reply = primary_client().must(
      database(), {{"find", collection()}, {"filter", dated}, {"sort", {{"_id", 1}}}});
  std::vector<std::string> held;
  for (const Json& document : reply["cursor"]["firstBatch"]) {
    if (document["_id"].is_string()) held.push_back(document["_id"]);
  }
  return held;
}

void RealData::ask(const core::Command& command, Answered answered) {
  core::Reply reply;
  primary_client().run_bytes(
      database(), *mongo::build(command, collection()).get(),
      [&](const bson_t& answer) { reply = mongo::read_reply(command, answer); });
  answered(reply);
}

std::int64_t RealData::end_fail_point(int member, const std::string& name) {
  if (members_.reachable(member)) return members_.fail_point(member, name, "off");
  members_.when_reachable(member, [&members = members_, member, name] {
    members.fail_point(member, name, "off");
  });
  return 0;
}

void RealData::fail_next(std::int64_t count, int code, bool executed) {
  stop_failing();
  const int primary = members_.primary_now();
  if (primary < 0) return;
  Json data{{"failCommands", Json::array({"findAndModify", "update", "delete", "insert"})},
            {"namespace", failing_at_}};
  if (executed) {
    data["writeConcernError"] = {{"code", code}, {"errmsg", "injected"}};
  } else {
    data["errorCode"] = code;
  }
  failing_ = primary;
  members_.fail_point(primary, kFailing, {{"times", count}}, data);
}

std::int64_t RealData::stop_failing() {
  const auto failed = failing_ < 0 ? 0 : end_fail_point(failing_, kFailing);
  failing_ = -1;
  return failed;
}

/// Updates wait, with the time of their start, until the end.
std::optional<DataControl::Inside> RealData::hold_inside(const std::string&,
                                                         std::int64_t wait_ms, std::int64_t) {
  const int primary = members_.primary_now();
  if (primary < 0) return std::nullopt;
  return Inside{member_name(primary), wait_ms,
                [this, primary] { members_.fail_point(primary, kHolding, "alwaysOn"); },
                [this, primary] { return end_fail_point(primary, kHolding) > 0; }};
}

}  // namespace leasehold::sim::live

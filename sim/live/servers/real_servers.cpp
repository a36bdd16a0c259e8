#include "sim/live/servers/real_servers.hpp"

#include <algorithm>

#include "mongo/commands.hpp"
#include "mongo/replies.hpp"

namespace leasehold::sim::live {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kResolution{1};
constexpr int kClockTries = 20;
constexpr milliseconds kConfirmation{4'000};  ///< below a client's 5 s
constexpr milliseconds kCatchUp{2'000};
constexpr const char* kFailing = "failCommand";
constexpr const char* kHolding = "hangBeforeFindAndModifyPerformsUpdate";

milliseconds real_time() {
  return std::chrono::duration_cast<milliseconds>(
      std::chrono::system_clock::now().time_since_epoch());
}

}  // namespace

void RealMembers::kill(const std::vector<int>& members) {
  for (const int m : members) servers_.mongod(m).begin_kill();
  for (const int m : members) servers_.mongod(m).kill();
}

void RealMembers::restart(const std::vector<int>& members) {
  for (const int m : members) servers_.mongod(m).begin_restart();
  for (const int m : members) servers_.mongod(m).restart();
}

void RealMembers::stop(const std::vector<int>& members) {
  for (const int m : members) servers_.mongod(m).stop();
}

void RealMembers::resume(const std::vector<int>& members) {
  for (const int m : members) servers_.mongod(m).resume();
}

bool RealMembers::all_have_all_data() {
  return servers_.confirms(servers_.size(), kCatchUp, database_);
}

void RealMembers::set_clock(int member, std::int64_t ahead_ms, std::int64_t rate_ppm) {
  auto& clock = servers_.mongod(member).clock();
  clock.set(milliseconds(ahead_ms));
  if (rate_ppm != 0) clock.drift(rate_ppm);
}

std::int64_t RealMembers::clock_ahead_ms(int member) {
  return std::chrono::round<milliseconds>(servers_.mongod(member).clock().ahead()).count();
}

/// True time lies between question and answer. A quick answer shows a small difference.
bool RealMembers::shows_its_clock(int member) {
  const bool ahead = clock_ahead_ms(member) > 0;
  for (int i = 0; i < kClockTries; ++i) {
    const auto before = real_time();
    const auto hello = servers_.member(member).run("admin", {{"hello", 1}});
    const auto shown = date(hello.at("localTime")), after = real_time();
    if (ahead ? shown > after + kResolution : shown < before - kResolution) return true;
  }
  return false;
}

void RealMembers::settle() {
  for (int i = 0; i < servers_.size(); ++i) set_clock(i, 0, 0);
  until_true("starting the TTL monitors",
             [this] { return servers_.set_ttl_monitor(true), true; });
  wait_for_writes("majority");
  if (!all_have_all_data()) renew_secondaries();
}

void RealMembers::wait_for_writes(const Json& w) {
  until_true("a write after the faults",
             [&] { return servers_.confirms(w, kConfirmation, database_); });
}

/// A mongod may leave its connections alone for half a minute after its clock moved back; a new
/// process has no such memory.
void RealMembers::renew_secondaries() {
  const int primary = servers_.primary();
  for (int i = 0; i < servers_.size(); ++i) {
    if (i == primary) continue;
    servers_.mongod(i).kill();
    servers_.mongod(i).restart();
    wait_for_writes("majority");
  }
  wait_for_writes(servers_.size());
}

std::int64_t RealData::ttl_passes() {
  std::int64_t passes = 0;
  for (int i = 0; i < members_.size(); ++i) {
    if (!members_.answers(i)) continue;
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
  command["writeConcern"] = {{"w", "majority"}, {"wtimeout", kCatchUp.count()}};
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
  return members_.answers(member) ? members_.fail_point(member, name, "off") : 0;
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

int ProxiedLinks::sent_to() { return std::max(members_.primary_now(), 0); }

void ProxiedLinks::set_link_rule(const Link& link, const LinkRule& rule) {
  members_.proxy().set(link.peer, link.member, rule);
}

void ProxiedLinks::reset_link(const Link& link) {
  members_.proxy().reset(link.peer, link.member);
}

std::int64_t ProxiedLinks::touched(const Link& link) {
  return members_.proxy().touched(link.peer, link.member);
}

}  // namespace leasehold::sim::live

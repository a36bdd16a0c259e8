#include "sim/live/real_servers.hpp"

namespace leasehold::sim::live {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kHealLimit{60'000};
constexpr milliseconds kCatchUp{2'000};
constexpr milliseconds kClockError{150};  ///< of asking a member on a busy machine
constexpr const char* kFailing = "failCommand";
constexpr const char* kHolding = "hangBeforeFindAndModifyPerformsUpdate";

milliseconds real_time() {
  return std::chrono::duration_cast<milliseconds>(
      std::chrono::system_clock::now().time_since_epoch());
}

/// Of those that answer now.
void switch_ttl_monitors(ReplicaSet& servers, bool on) {
  for (int i = 0; i < servers.size(); ++i) {
    if (!servers.mongod(i).answers()) continue;
    servers.member(i).must("admin", {{"setParameter", 1}, {"ttlMonitorEnabled", on}});
  }
}

}  // namespace

bool RealMembers::step_up(int member, milliseconds limit) {
  return servers_.try_step_up(member, limit);
}

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

bool RealMembers::all_have_all_data() { return servers_.confirms(servers_.size(), kCatchUp); }

void RealMembers::set_clock(int member, std::int64_t ahead_ms, std::int64_t rate_ppm) {
  auto& clock = servers_.mongod(member).clock();
  clock.set(milliseconds(ahead_ms));
  if (rate_ppm != 0) clock.drift(rate_ppm);
}

std::int64_t RealMembers::clock_ahead_ms(int member) {
  return std::chrono::round<milliseconds>(servers_.mongod(member).clock().ahead()).count();
}

bool RealMembers::shows_its_clock(int member) {
  const auto hello = servers_.member(member).run("admin", {{"hello", 1}});
  const auto ahead = date(hello.at("localTime")) - real_time();
  return std::chrono::abs(ahead - milliseconds(clock_ahead_ms(member))) < kClockError;
}

void RealData::set_ttl_monitor(bool on) { switch_ttl_monitors(servers_, on); }

std::int64_t RealData::ttl_passes() {
  std::int64_t passes = 0;
  for (int i = 0; i < servers_.size(); ++i) {
    if (!servers_.mongod(i).answers()) continue;
    const auto status = servers_.member(i).run("admin", {{"serverStatus", 1}});
    passes += integer(status.at("metrics").at("ttl").at("passes"));
  }
  return passes;
}

/// Does not wait for one: who waits here ends no other fault in the meantime.
MongoClient& RealData::primary_client() {
  const int primary = servers_.primary_now();
  if (primary < 0) throw std::runtime_error("no member is primary");
  return servers_.member(primary);
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

/// Looks first: what an earlier primary did may have been rolled back since.
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

std::int64_t RealData::end_fail_point(int member, const std::string& name) {
  return servers_.mongod(member).answers() ? servers_.fail_point(member, name, "off") : 0;
}

void RealData::fail_next(std::int64_t count, int code, bool executed) {
  stop_failing();
  const int primary = servers_.primary_now();
  if (primary < 0) return;
  Json data{{"failCommands", Json::array({"findAndModify", "update", "delete"})},
            {"namespace", locks_}};
  if (executed) {
    data["writeConcernError"] = {{"code", code}, {"errmsg", "injected"}};
  } else {
    data["errorCode"] = code;
  }
  failing_ = primary;
  servers_.fail_point(primary, kFailing, {{"times", count}}, data);
}

std::int64_t RealData::stop_failing() {
  const auto failed = failing_ < 0 ? 0 : end_fail_point(failing_, kFailing);
  failing_ = -1;
  return failed;
}

/// Updates wait, with the time of their start, until the end.
std::optional<DataControl::Inside> RealData::hold_inside(const std::string&, std::int64_t wait_ms,
                                                         std::int64_t) {
  const int primary = servers_.primary_now();
  if (primary < 0) return std::nullopt;
  return Inside{member_name(primary), wait_ms,
                [this, primary] { servers_.fail_point(primary, kHolding, "alwaysOn"); },
                [this, primary] { return end_fail_point(primary, kHolding) > 0; }};
}

void RealLinks::set_link_rule(const Link& link, const LinkRule& rule) {
  servers_.proxy().set(link.peer, link.member, rule);
}

void RealLinks::reset_link(const Link& link) { servers_.proxy().reset(link.peer, link.member); }

std::int64_t RealLinks::touched(const Link& link) {
  return servers_.proxy().touched(link.peer, link.member);
}

void RealMembers::settle() {
  for (int i = 0; i < servers_.size(); ++i) set_clock(i, 0, 0);
  until_true("starting the TTL monitors",
             [this] { return switch_ttl_monitors(servers_, true), true; });
  wait_for_writes("majority");
  if (!all_have_all_data()) renew_secondaries();
}

void RealMembers::wait_for_writes(const Json& w) {
  until_true(
      "a write after the faults", [&] { return servers_.confirms(w, milliseconds(500)); },
      kHealLimit);
}

/// A mongod whose clock moved back may leave its connections alone for half a minute; a new process
/// does not know.
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

}  // namespace leasehold::sim::live

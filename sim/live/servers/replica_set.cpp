#include "sim/live/servers/replica_set.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>

#include "mongo/commands.hpp"
#include "mongo/replies.hpp"

namespace leasehold::sim::live {

namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

constexpr milliseconds kResolution{1};
constexpr int kClockTries = 20;
constexpr milliseconds kConfirmation{4'000};  ///< below a client's 5 s
constexpr milliseconds kCatchUp{2'000};

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

/// Rises with every election.
std::string election_of(const Json& hello) {
  return hello.contains("electionId") ? hello["electionId"].value("$oid", "") : "";
}

/// Empty: it does not answer, or is no primary.
Json hello_of_primary(MongoClient& member) {
  try {
    auto hello = member.run("admin", {{"hello", 1}});
    if (hello.value("isWritablePrimary", false)) return hello;
  } catch (const std::exception&) {
  }
  return {};
}

constexpr int kWriteTimeout_ms = 2'000;
constexpr const char* kFailing = "failCommand";
constexpr const char* kHolding = "hangBeforeFindAndModifyPerformsUpdate";

/// Acts as an administrator of a replica set of ours. A call returns within some seconds, whatever
/// state the servers are in.
class RealData final : public DataControl {
 public:
  RealData(ReplicaSet& members, const std::string& administered, std::string failing)
      : members_(members),
        database_(administered.substr(0, administered.find('.'))),
        collection_(administered.substr(administered.find('.') + 1)),
        failing_at_(std::move(failing)) {}

  void set_ttl_monitor(bool on) override { members_.set_ttl_monitor(on); }
  std::int64_t ttl_passes() override {
    std::int64_t passes = 0;
    for (int i = 0; i < members_.size(); ++i) {
      if (!members_.reachable(i)) continue;
      const auto status = members_.member(i).run("admin", {{"serverStatus", 1}});
      passes += integer(status.at("metrics").at("ttl").at("passes"));
    }
    return passes;
  }

  std::optional<std::int64_t> ttl_seconds() override {
    const auto reply = primary_client().run(database_, {{"listIndexes", collection_}});
    if (integer(reply["ok"]) != 1) return std::nullopt;
    for (const Json& index : reply["cursor"]["firstBatch"]) {
      if (!index.contains("expireAfterSeconds")) continue;
      if (index_.is_null()) index_ = index;
      return integer(index["expireAfterSeconds"]);
    }
    return std::nullopt;
  }

  /// Looks first, because an earlier primary's changes may have been rolled back since.
  void set_ttl_seconds(std::optional<std::int64_t> seconds) override {
    const auto found = ttl_seconds();
    if (found == seconds) return;
    if (!seconds) {
      administer({{"dropIndexes", collection_}, {"index", index_["name"]}});
    } else if (!found) {
      const Json made{
          {"key", index_["key"]}, {"name", index_["name"]}, {"expireAfterSeconds", *seconds}};
      administer({{"createIndexes", collection_}, {"indexes", {made}}});
    } else {
      const Json changed{{"name", index_["name"]}, {"expireAfterSeconds", *seconds}};
      administer({{"collMod", collection_}, {"index", changed}});
    }
  }

  bool drop_locks() override {
    administer({{"drop", collection_}});
    return true;
  }

  std::string delete_lock(std::int64_t pick) override {
    const Json found = documents(Json::object());
    if (found.empty()) return "";
    const Json& id = found[static_cast<std::size_t>(pick) % found.size()]["_id"];
    const Json one{{"q", {{"_id", id}}}, {"limit", 1}};
    const auto deleted = administer({{"delete", collection_}, {"deletes", {one}}});
    if (integer(deleted["n"]) != 1) return "";
    return id.is_string() ? id.get<std::string>() : id.dump();
  }

  std::vector<std::string> held_locks() override {
    std::vector<std::string> held;
    for (const Json& document : documents({{"expiresAt", {{"$gt", {{"$date", 0}}}}}})) {
      if (document["_id"].is_string()) held.push_back(document["_id"]);
    }
    return held;
  }

  void ask(const core::Command& command, Answered answered) override {
    core::Reply reply;
    primary_client().run_bytes(
        database_, *mongo::build(command, collection_).get(),
        [&](const bson_t& answer) { reply = mongo::read_reply(command, answer); });
    answered(reply);
  }

  /// At the primary of now.
  void fail_next(std::int64_t count, int code, bool executed) override {
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

  std::int64_t stop_failing() override {
    const auto failed = failing_ < 0 ? 0 : end_fail_point(failing_, kFailing);
    failing_ = -1;
    return failed;
  }

  /// At the present primary, for all processes: updates wait, with the time of their start, until
  /// the end.
  std::optional<Inside> hold_inside(const std::string&, std::int64_t wait_ms,
                                    std::int64_t) override {
    const int primary = members_.primary_now();
    if (primary < 0) return std::nullopt;
    return Inside{member_name(primary), wait_ms,
                  [this, primary] { members_.fail_point(primary, kHolding, "alwaysOn"); },
                  [this, primary] { return end_fail_point(primary, kHolding) > 0; }};
  }

 private:
  /// Does not wait for one, because other faults would not end in the meantime.
  MongoClient& primary_client() {
    const int primary = members_.primary_now();
    if (primary < 0) throw std::runtime_error("no member is primary");
    return members_.member(primary);
  }

  /// On the primary, for a majority.
  Json administer(Json command) {
    command["writeConcern"] = {{"w", "majority"}, {"wtimeout", kWriteTimeout_ms}};
    return primary_client().must(database_, command);
  }

  Json documents(const Json& filter) {
    const auto reply = primary_client().must(
        database_, {{"find", collection_}, {"filter", filter}, {"sort", {{"_id", 1}}}});
    return reply["cursor"]["firstBatch"];
  }

  /// Returns how often it was entered; 0 if the member lost its fail points.
  std::int64_t end_fail_point(int member, const std::string& name) {
    if (members_.reachable(member)) return members_.fail_point(member, name, "off");
    members_.when_reachable(member, [&members = members_, member, name] {
      members.fail_point(member, name, "off");
    });
    return 0;
  }

  ReplicaSet& members_;
  const std::string database_, collection_, failing_at_;
  Json index_;        ///< the TTL index at first sight; null: never seen
  int failing_ = -1;  ///< the member with failing commands
};

}  // namespace

int primary_among(const std::vector<MongoClient*>& members) {
  int found = -1;
  std::string latest;
  for (std::size_t i = 0; i < members.size(); ++i) {
    const auto hello = members[i] == nullptr ? Json() : hello_of_primary(*members[i]);
    if (hello.empty() || (found >= 0 && election_of(hello) <= latest)) continue;
    found = static_cast<int>(i);
    latest = election_of(hello);
  }
  return found;
}

int ReplicaSet::primary_now() {
  std::vector<MongoClient*> members;
  for (auto& m : members_) members.push_back(m.answers() ? &m.client() : nullptr);
  return primary_among(members);
}

int ReplicaSet::primary() {
  int found = -1;
  until_true(
      "finding the primary", [&] { return (found = primary_now()) >= 0; },
      std::chrono::seconds(30));
  return found;
}

ReplicaSet::ReplicaSet(ReplicaSetOptions options) : options_(std::move(options)) {
  init_driver();
  const std::string program = find_mongod();
  require_room(folder(), options_.members);
  if (options_.faulty) {
    proxy_ = std::make_unique<FaultProxy>();
    proxy_->primary = [this] { return primary_now(); };
  }
  for (const int port : free_ports(options_.members)) {
    members_.emplace_back(program, port, options_, janitor_);
    advertised_.push_back(proxy_ ? proxy_->add_member(port) : port);
  }
  for (auto& m : members_) m.wait_until_ready();
  uri_ = "mongodb://";
  for (const int port : advertised_) {
    uri_ += (port == advertised_.front() ? "" : ",") + address_of(port);
  }
  uri_ += options_.standalone ? "/" : "/?replicaSet=rs";
  if (!options_.standalone) initiate();
}

Json ReplicaSet::config() const {
  Json settings{{"electionTimeoutMillis", options_.election_timeout_ms}};
  if (!options_.own_settings) {
    settings["heartbeatIntervalMillis"] = options_.heartbeat_ms;
    settings["catchUpTimeoutMillis"] = 0;
  }
  Json config{{"_id", "rs"}, {"version", 1}, {"members", Json::array()}, {"settings", settings}};
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
  const auto others = std::ranges::count_if(options_.fields, [](const Json& member) {
    return member.contains("arbiterOnly") || member.contains("secondaryDelaySecs");
  });
  return options_.members - static_cast<int>(others);
}

void ReplicaSet::initiate() {
  member(0).must("admin", {{"replSetInitiate", config()}});
  step_up(0);
  until_true("the first majority write",
             [&] { return confirms(prompt_members(), milliseconds(1'000)); });
}

bool ReplicaSet::is_primary(int index) {
  return reachable(index) && !hello_of_primary(member(index)).empty();
}

bool ReplicaSet::step_up(int index) {
  if (is_primary(index)) return false;
  until_true("step-up", [&] {
    (void)member(index).run("admin", {{"replSetStepUp", 1}});
    return is_primary(index);
  });
  return true;
}

bool ReplicaSet::step_up(int index, milliseconds limit) {
  if (is_primary(index)) return false;
  const auto until = std::chrono::steady_clock::now() + limit;
  // Each failed election takes the primary from an overloaded set, so it asks less and less often.
  for (auto pause = milliseconds(20);; pause *= 2) {
    if (std::chrono::steady_clock::now() >= until || !reachable(index)) return false;
    (void)member(index).run("admin", {{"replSetStepUp", 1}});
    if (is_primary(index)) return true;
    std::this_thread::sleep_for(pause);
  }
}

bool ReplicaSet::step_down() {
  const int primary = primary_now();
  if (primary < 0) return false;
  (void)member(primary).run(
      "admin", {{"replSetStepDown", 2}, {"secondaryCatchUpPeriodSecs", 0}, {"force", true}});
  return !is_primary(primary);
}

bool ReplicaSet::confirms(const Json& w, milliseconds limit) {
  const int primary = primary_now();
  if (primary < 0) return false;
  return confirmed(member(primary).run(
      "leasehold_start", {{"insert", "start"},
                          {"documents", {{{"x", 1}}}},
                          {"writeConcern", {{"w", w}, {"wtimeout", limit.count()}}}}));
}

std::int64_t ReplicaSet::fail_point(int index, const std::string& name, const Json& mode,
                                    const Json& data) {
  Json command{{"configureFailPoint", name}, {"mode", mode}};
  if (!data.is_null()) command["data"] = data;
  return integer(member(index).must("admin", command)["count"]);
}

void ReplicaSet::set_ttl_monitor(bool on) {
  for (int i = 0; i < size(); ++i) {
    when_reachable(i, [this, i, on] {
      member(i).must("admin", {{"setParameter", 1}, {"ttlMonitorEnabled", on}});
    });
  }
}

void ReplicaSet::when_reachable(int index, std::function<void()> act) {
  if (reachable(index)) return act();
  later_[index].push_back(std::move(act));
}

void ReplicaSet::make_up_for(int index) {
  if (!reachable(index)) return;
  for (const auto& act : std::exchange(later_[index], {})) {
    until_true("what a member missed", [&act] { return act(), true; });
  }
}

void ReplicaSet::restart(const std::vector<int>& members) {
  for (const int m : members) mongod(m).begin_restart();
  for (const int m : members) mongod(m).wait_until_ready();
  for (const int m : members) make_up_for(m);
}

void ReplicaSet::resume(const std::vector<int>& members) {
  LocalMembers::resume(members);
  for (const int m : members) make_up_for(m);
}

bool ReplicaSet::all_have_all_data() { return confirms(size(), kCatchUp); }

/// True time lies between question and answer. A quick answer shows a small difference.
bool ReplicaSet::shows_its_clock(int index) {
  const bool ahead = clock_ahead_ms(index) > 0;
  for (int i = 0; i < kClockTries; ++i) {
    const auto before = real_time();
    const auto hello = member(index).run("admin", {{"hello", 1}});
    const auto shown = milliseconds(date_ms(hello.at("localTime"))), after = real_time();
    if (ahead ? shown > after + kResolution : shown < before - kResolution) return true;
  }
  return false;
}

void ReplicaSet::settle() {
  for (int i = 0; i < size(); ++i) set_clock(i, 0, 0);
  until_true("starting the TTL monitors", [this] { return set_ttl_monitor(true), true; });
  wait_for_writes("majority");
  if (!all_have_all_data()) renew_secondaries();
}

void ReplicaSet::wait_for_writes(const Json& w) {
  until_true("a write after the faults", [&] { return confirms(w, kConfirmation); });
}

/// A mongod may leave its connections alone for half a minute after its clock moved back; a new
/// process has no such memory.
void ReplicaSet::renew_secondaries() {
  const int primary = this->primary();
  for (int i = 0; i < size(); ++i) {
    if (i == primary) continue;
    kill({i});
    restart({i});
    wait_for_writes("majority");
  }
  wait_for_writes(size());
}

std::unique_ptr<DataControl> data_of(ReplicaSet& set, const std::string& administered,
                                     const std::string& failing) {
  return std::make_unique<RealData>(set, administered, failing);
}

}  // namespace leasehold::sim::live

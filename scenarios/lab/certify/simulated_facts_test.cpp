#include <gtest/gtest.h>

#include <map>
#include <mutex>
#include <thread>

#include "scenarios/lab/certify/facts.hpp"
#include "sim/plan/fault.hpp"
#include "sim/virtual/event_queue.hpp"
#include "sim/virtual/servers/shards.hpp"

/// Which of the facts the simulated servers have: the trials of `certify` on them.
namespace leasehold::lab {
namespace {

using namespace sim::simulated;
using sim::Random;

/// Simulated servers in real time, for several threads.
class SimulatedServers {
 public:
  explicit SimulatedServers(std::optional<std::uint64_t> cluster)
      : shards_(queue_, random_, {},
                {[this](const Entry& entry) { truth_.emplace_back(entry.time, entry.change); }},
                cluster) {
    run_to(std::chrono::milliseconds(1'000));  // the members have heard of each other
  }

  /// The reply comes when it is due by the real clock, too.
  Object ask(const Object& command, int member) {
    std::unique_lock lock(mutex_);
    run_to(real_time());
    auto reply = answer(command, member < 0 ? shards_.primary() : member);
    const auto due = std::chrono::milliseconds(queue_.now() / kMs) - real_time();
    lock.unlock();
    std::this_thread::sleep_for(due);
    return reply;
  }

  [[nodiscard]] bool is_sharded() const { return shards_.is_sharded(); }

 private:
  [[nodiscard]] std::chrono::milliseconds real_time() const {
    return our_clock() - began_ + std::chrono::milliseconds(1'000);
  }

  void run_to(std::chrono::milliseconds time) {
    bool over = false;
    queue_.at(time.count() * kMs, [&over] { over = true; });
    while (!over && queue_.step()) {
    }
  }

  Object answer(const Object& command, int member) {
    const Key& name = command.fields.at(0).first;
    if (name == "hello"_key) return hello(member);
    if (name == "getParameter"_key) {
      return make({{"ok", 1.0}, {"ttlMonitorEnabled", true}, {"ttlMonitorSleepSecs", 1}});
    }
    if (name == "find"_key && command.find("readConcern"_key) != nullptr) {
      return read_truth(command);
    }
    std::optional<Object> reply;
    try {
      const auto sent =
          std::make_shared<const Object>(name == "find"_key ? plain(command) : command);
      shards_.command(member, {.command = sent},
                      [&reply](ServerAnswer, const Object& given) { reply = given; });
      while (!reply && queue_.step()) {
      }
    } catch (const Unsupported& what) {
      throw NotTried(std::string("not simulated: ") + what.what(), true);
    }
    return *reply;
  }

  [[nodiscard]] Object hello(int member) const {
    const bool primary = is_sharded() || member == shards_.primary();
    Object said = make({{"ok", 1.0},
                        {"isWritablePrimary", primary},
                        {"secondary", !primary},
                        {"maxWireVersion", 21}});
    said.set("localTime", Date{shards_.serving().clock_ms(member)});
    if (is_sharded()) {
      said.set("msg", std::string("isdbgrid"));
      return said;
    }
    said.set("setName", std::string("simulated"));
    said.set("primary", sim::member_name(shards_.primary()));
    said.set("me", sim::member_name(member));
    const Timestamp last = truth_.empty() ? Timestamp{} : truth_.back().first;
    said.set("lastWrite", make({{"majorityOpTime", make({{"ts", last}})}}));
    return said;
  }

  /// What a majority had at the time that is asked for.
  [[nodiscard]] Object read_truth(const Object& command) const {
    const auto* concern = command.find("readConcern"_key)->as<Object>();
    if (*concern->find("level"_key) == Value(std::string("linearizable"))) {
      throw NotTried("not simulated: a linearizable read", true);
    }
    const Value* at = concern->find("atClusterTime"_key);
    const auto name =
        *command.find("filter"_key)->as<Object>()->find("_id"_key)->as<std::string>();
    Document found;
    for (const auto& [time, change] : truth_) {
      if (change.id == name && (at == nullptr || time <= *at->as<Timestamp>())) {
        found = change.after;
      }
    }
    Array batch;
    if (found) batch.items.emplace_back(found);
    return make({{"cursor", make({{"firstBatch", batch}})}, {"ok", 1.0}});
  }

  /// The simulated server knows finds by a list of names alone.
  static Object plain(const Object& command) {
    const Value* id = command.find("filter"_key)->as<Object>()->find("_id"_key);
    if (!id->is<std::string>()) return command;
    Object fields;
    for (const char* field : {"lockId", "acquiredAt", "expiresAt", "fencingToken", "n"}) {
      fields.set(field, std::int32_t{1});
    }
    return make({{"find", *command.find("find"_key)},
                 {"filter", make({{"_id", make({{"$in", Array{{*id}}}})}})},
                 {"projection", fields},
                 {"singleBatch", true}});
  }

  const std::chrono::milliseconds began_ = our_clock();
  std::mutex mutex_;
  EventQueue queue_;
  Random random_{1};
  std::vector<std::pair<Timestamp, Change>> truth_;  ///< what a majority has
  Shards shards_;
};

/// "holds", or why it was not tried, or what was seen instead.
std::string found(const Fact& fact, bool sharded) {
  const auto servers =
      std::make_shared<SimulatedServers>(sharded ? std::optional<std::uint64_t>(1) : std::nullopt);
  const Servers connection{
      [servers](const std::string&, const mongo::Bson& command, std::uint32_t member) {
        const Bytes reply(
            servers->ask(to_object(*command.get()), static_cast<int>(member) - 1));
        return mongo::Bson(bson_copy(reply.get()));
      },
      [] {
        return std::vector<MongoClient::Member>{{1, "member-0"}, {2, "member-1"}, {3, "member-2"}};
      }};
  TrialSite site([&] { return connection; }, "d", "locks");
  const auto finding = try_fact(fact, site);
  return finding.is == Finding::Is::holds ? "holds" : finding.seen;
}

/// What the simulated servers have no words for: no command of the lock has them.
const std::map<std::string, std::string> kNotSimulated{
    {"duplicate-key-is-11000", "not simulated: command insert"},
    {"duplicate-key-names-its-index", "not simulated: a command without writeConcern"},
    {"unconfirmed-is-reported", "not simulated: w"},
    {"linearizable-read-is-current", "not simulated: a linearizable read"},
    {"unknown-words-are-refused", "not simulated: a command without writeConcern"},
    {"repeated-write-is-marked", "not simulated: field txnNumber"},
    {"reply-shows-its-own-write", "not simulated: a command without wtimeout"},
    {"corrupt-document-is-held", "not simulated: command insert"},
    {"batch-goes-on-past-an-error", "not simulated: a command without wtimeout"},
    {"now-is-one-in-a-write", "not simulated: a command without writeConcern"},
    {"index-is-made-as-asked", "not simulated: command listIndexes"},
};

class SimulatedFacts : public testing::TestWithParam<bool> {};

TEST_P(SimulatedFacts, HoldOrAreNotSimulated) {
  int hold = 0;
  for (const Fact& fact : facts()) {
    if (fact.trial == nullptr) continue;
    const auto seen = found(fact, GetParam());
    const bool of_a_set = GetParam() && (seen == "no secondary answers" ||
                                         seen == "through a mongos no lock uses a change stream");
    if (of_a_set) continue;
    const auto left_out = kNotSimulated.find(fact.name);
    EXPECT_EQ(seen, left_out == kNotSimulated.end() ? "holds" : left_out->second) << fact.name;
    hold += seen == "holds" ? 1 : 0;
  }
  EXPECT_EQ(hold, GetParam() ? 19 : 23);
  EXPECT_EQ(facts().size(), 38u) << "rows of scenarios/SERVERS.md";
}

INSTANTIATE_TEST_SUITE_P(All, SimulatedFacts, testing::Bool(), [](const auto& tested) {
  return tested.param ? "OfTwoShards" : "OfASet";
});

}  // namespace
}  // namespace leasehold::lab

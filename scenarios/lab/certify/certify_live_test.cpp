#include <gtest/gtest.h>

#include <algorithm>
#include <future>
#include <memory>
#include <utility>

#include "scenarios/lab/certify/facts.hpp"
#include "scenarios/lab/ran_fixture.hpp"
#include "sim/live/live_test.hpp"

/// `leasehold-lab certify` as people run it.
namespace leasehold::lab {
namespace {

using sim::live::make_a_shard;
using sim::live::ReplicaSet;
using sim::live::shared_set;

class Certify : public testing::Test {
 protected:
  void SetUp() override { setenv("LEASEHOLD_URI", shared_set().uri().c_str(), 1); }
  [[nodiscard]] std::vector<std::string> words(std::vector<std::string> more = {}) const {
    more.insert(more.begin(), {LEASEHOLD_LAB_PROGRAM, "certify", "--database", database_});
    return more;
  }
  [[nodiscard]] Ran certify(std::vector<std::string> more = {}) const {
    return run_program(words(std::move(more)));
  }
  [[nodiscard]] std::size_t collections() {
    const Json listed = client_.must(database_, {{"listCollections", 1}, {"nameOnly", true}});
    return listed["cursor"]["firstBatch"].size();
  }

  const std::string database_ = sim::live::fresh_database();
  MongoClient client_{shared_set().uri()};
};

TEST_F(Certify, AGoodSetIsCertifiedWithinAMinuteAndNothingStays) {
  const sim::live::Stopwatch watch;
  const auto ran = certify();
  EXPECT_LT(watch.elapsed(), std::chrono::seconds(60));
  EXPECT_TRUE(ended(ran, 0, "\ncertified: 34 facts hold, 4 were not tried\n"));
  EXPECT_TRUE(has(ran, "\nnot tried election-keeps-what-is-confirmed"));
  EXPECT_EQ(collections(), 0u);
}

TEST_F(Certify, TwoAtOnceDoNotMeet) {
  auto other = std::async(std::launch::async, [&] { return certify({"--json"}); });
  const auto ran = certify({"--json"});
  EXPECT_EQ(other.get().exit_code, 0);
  EXPECT_EQ(ran.exit_code, 0) << ran.out;
  EXPECT_EQ(Json::parse(ran.out)["facts"][0]["finding"], "holds");
  EXPECT_EQ(collections(), 0u);
}

TEST_F(Certify, ASignalEndsItAndNothingStays) {
  for (const int signal : {SIGINT, SIGTERM}) {
    sim::live::ChildProcess child(words(), sim::live::ChildProcess::Io::nothing);
    EXPECT_TRUE(sim::live::eventually([&] { return collections() == 1; }));
    child.send_signal(signal);
    ASSERT_TRUE(child.wait_ms(20'000));
    EXPECT_TRUE(WIFEXITED(child.exit_status()) && WEXITSTATUS(child.exit_status()) == 2);
    EXPECT_EQ(collections(), 0u);
  }
}

TEST_F(Certify, ASetOfOneIsCertifiedAndWhatFailsIsNamed) {
  ReplicaSet set({.members = 1});
  setenv("LEASEHOLD_URI", set.uri().c_str(), 1);
  EXPECT_TRUE(ended(certify(), 0, "\nnot tried secondary-refuses-writes "));
  set.member(0).must("admin", {{"setParameter", 1}, {"ttlMonitorEnabled", false}});
  const auto bad = certify();
  EXPECT_TRUE(ended(bad, 1, "\nfails     expired-document-is-removed"));
  EXPECT_TRUE(has(bad, "else documents of dead holders stay"));
  EXPECT_TRUE(has(bad, "\nnot certified: these facts fail: expired-document-is-removed\n"));
}

TEST_F(Certify, AShardAndAStandaloneFailAtOnceWithTheReason) {
  ReplicaSet set({.members = 1}), alone({.standalone = true});
  make_a_shard(set);
  for (const auto& [uri, why] :
       {std::pair(set.uri(), "the set is a shard"), {alone.uri(), "the server is a standalone"}}) {
    const auto ran = certify({"--uri", uri});
    EXPECT_TRUE(ran.out.starts_with("fails     hello-tells-what-a-member-is"));
    EXPECT_TRUE(ended(ran, 1, why,
                      "\nnot certified: these facts fail: hello-tells-what-a-member-is\n"));
  }
}

TEST_F(Certify, NoServerIsOneClearError) {
  const auto ran = certify({"--uri", "mongodb://127.0.0.1:1/?serverSelectionTimeoutMS=500"});
  EXPECT_EQ(ran.exit_code, 69) << ran.out;
  EXPECT_EQ(std::count(ran.out.begin(), ran.out.end(), '\n'), 1) << ran.out;
}

/// Servers that break a fact, by what stands before a real set, and lies. Locks notice such a
/// server, or the laboratory notices a mutant with the same error.
using Said = std::optional<Json>;

constexpr const char* kCollection = "certify";

/// One command on its way to a real server.
struct Question {
  const Json& command;
  /// The real reply to the command as it is.
  std::function<Json()> reply;
  /// The real reply to another command on the trials' database.
  std::function<Json(const Json& command)> ask;

  [[nodiscard]] bool is(const char* name) const { return command.begin().key() == name; }
  [[nodiscard]] bool upserts() const {
    return is("findAndModify") && command.value("upsert", false);
  }
};
/// What is said instead; nothing: the truth. Called by several threads.
using Teller = std::function<Said(const Question&)>;

Connect lying(const Teller& teller) {
  return [teller] {
    auto servers = connect_to(shared_set().uri());
    servers.ask = [real = servers.ask, teller](const std::string& database,
                                               const mongo::Bson& command, std::uint32_t member) {
      const Json asked = mongo::to_json(*command.get());
      const auto really = [&](const mongo::Bson& bytes, std::uint32_t whom) {
        return mongo::to_json(*real(database, bytes, whom).get());
      };
      const auto said = teller({asked, [&] { return really(command, member); },
                                [&](const Json& other) {
                                  return really(mongo::from_json(other), 0);
                                }});
      return said ? mongo::from_json(*said) : real(database, command, member);
    };
    return servers;
  };
}

/// The reply to commands of this name, changed.
template <typename Change>
Teller of(const char* command, Change change) {
  return [command, change](const Question& q) -> Said {
    if (!q.is(command)) return std::nullopt;
    Json reply = q.reply();
    change(reply);
    return reply;
  };
}
/// The reply to a findAndModify that shows a document, changed.
template <typename Change>
Teller of_attempts(Change change) {
  return of("findAndModify", [change](Json& reply) {
    if (reply.contains("value") && reply["value"].is_object()) change(reply);
  });
}
/// Another command instead of one of this name.
template <typename Change>
Teller instead_of(const char* name, Change change) {
  return [name, change](const Question& q) -> Said {
    if (!q.is(name)) return std::nullopt;
    Json command = q.command;
    change(command);
    return q.ask(command);
  };
}
/// After each attempt that was refused, or was the owner's second.
Teller after_updates(const Json& change) {
  return [change](const Question& q) -> Said {
    if (!q.upserts()) return std::nullopt;
    Json reply = q.reply();
    if (reply["lastErrorObject"].contains("upserted")) return reply;
    q.ask({{"update", q.command["findAndModify"]},
           {"updates", Json::array({{{"q", q.command["query"]}, {"u", change}}})},
           {"writeConcern", {{"w", "majority"}}}});
    return reply;
  };
}
Json delete_of(const Question& q, const Json& query) {
  return {{"delete", q.command["findAndModify"]},
          {"deletes", Json::array({{{"q", query}, {"limit", 1}}})}};
}
void move(Json& number, int by) { number = number.get<std::int64_t>() + by; }

/// An attempt that is refused finds the lock free after all.
Said lease_that_ends_early(const Question& q) {
  if (!q.is("findAndModify")) return std::nullopt;
  Json reply = q.reply();
  if (reply["lastErrorObject"].contains("upserted")) return reply;
  q.ask(delete_of(q, {{"_id", q.command["query"]["_id"]}}));
  return q.reply();
}

/// As if every type were a date or a text.
Said types_ignored(const Question& q) {
  if (!q.upserts()) return std::nullopt;
  q.ask(delete_of(q, q.command["query"]));
  return q.reply();
}

Said operation_time_of_the_last_write(const Question& q) {
  if (!q.is("findAndModify")) return std::nullopt;
  Json reply = q.reply();
  reply["operationTime"] = q.ask({{"insert", q.command["findAndModify"]},
                                  {"documents", Json::array({Json::object()})},
                                  {"writeConcern", {{"w", "majority"}}}})["operationTime"];
  return reply;
}

Said hand_over_that_inserts(const Question& q) {
  if (!q.is("findAndModify") || q.upserts()) return std::nullopt;
  Json command = q.command;
  command["query"].erase("lockId");
  command["upsert"] = true;
  return q.ask(command);
}

Teller event_left_out() {
  return of("getMore", [left = std::make_shared<bool>(false)](Json& reply) {
    Json& batch = reply["cursor"]["nextBatch"];
    const bool has_one = batch.is_array() && !batch.empty();
    if (has_one && !std::exchange(*left, true)) batch.erase(batch.begin());
  });
}

struct Lie {
  const char* name;
  const char* fact;  ///< that has to fail
  Teller teller;
};

std::vector<Lie> lies() {
  return {
      {"MaxLowersADate", "attempt-knows-its-earlier-win",
       after_updates(Json::array({{{"$set",
                                    {{"expiresAt", {{"$subtract", {"$expiresAt", 1'000}}}}}}}}))},
      {"AnOwnerIsNotRecognised", "attempt-knows-its-earlier-win",
       of("findAndModify", [](Json& reply) {
         if (reply["lastErrorObject"].contains("upserted")) return;
         reply["value"]["lockId"] = "another";
       })},
      {"CLUSTERTIMEIsThatOfTheWrite", "cluster-time-is-below-the-write",
       of_attempts([](Json& reply) {
         if (!reply["value"].contains("fencingToken")) return;
         reply["value"]["fencingToken"] = mongo::packed_timestamp(reply["operationTime"]);
       })},
      {"WMajorityDoesNotWait", "confirmed-is-of-a-majority",
       of("hello", [](Json& reply) {
         move(reply["lastWrite"]["majorityOpTime"]["ts"]["$timestamp"]["t"], -1);
       })},
      {"TypesAreIgnored", "corrupt-document-is-held", types_ignored},
      {"ADeleteFindsByNameAlone", "delete-is-by-owner",
       instead_of("delete", [](Json& asked) { asked["deletes"][0]["q"].erase("lockId"); })},
      {"ADeleteIsCountedAndNotExecuted", "delete-is-by-owner",
       [](const Question& q) -> Said {
         if (!q.is("delete")) return std::nullopt;
         Json command = q.command;
         command["deletes"][0]["q"]["_id"] = "nobody's";
         Json reply = q.ask(command);
         reply["n"] = 1;
         return reply;
       }},
      {"AnEventIsLeftOut", "each-grant-is-reported-once", event_left_out()},
      {"StatementsThatFoundNothingAreCounted", "extensions-are-counted",
       [](const Question& q) -> Said {
         if (!q.is("update")) return std::nullopt;
         Json reply = q.reply();
         reply["n"] = q.command["updates"].size();
         return reply;
       }},
      {"AHandOverIgnoresItsQuery", "hand-over-needs-its-owner", hand_over_that_inserts},
      {"ALeaseEndsEarly", "lock-expires-by-the-primary", lease_that_ends_early},
      {"NOWIsAMinuteBehind", "now-is-the-primarys",
       of_attempts([](Json& reply) {
         Json& at = reply["value"]["acquiredAt"];
         at = {{"$date", {{"$numberLong", std::to_string(sim::live::date_ms(at) - 60'000)}}}};
       })},
      {"OperationTimeIsBeforeTheWrite", "operation-time-is-the-writes",
       of_attempts([](Json& reply) { move(reply["operationTime"]["$timestamp"]["i"], -1); })},
      {"OperationTimeIsOfTheLastWriteOfAll", "operation-time-is-the-writes",
       operation_time_of_the_last_write},
      {"ARefusedAttemptWrites", "refused-attempt-changes-nothing",
       after_updates({{"$inc", {{"fencingToken", 1}}}})},
      {"ARepetitionIsNotMarked", "repeated-write-is-marked",
       of("findAndModify", [](Json& reply) { reply.erase("retriedStmtId"); })},
      {"WriteConcernErrorIsLeftOut", "unconfirmed-is-reported",
       of("findAndModify", [](Json& reply) { reply.erase("writeConcernError"); })},
      {"AnUnknownStageIsLeftOut", "unknown-words-are-refused",
       instead_of("findAndModify", [](Json& command) {
         command["update"] = Json::array({{{"$set", {{"n", 1}}}}});
       })},
  };
}

/// On a database of its own, which is gone after it.
Finding found(const char* name, const Connect& connect) {
  const auto database = sim::live::fresh_database();
  const auto fact = std::ranges::find(facts(), name, &Fact::name);
  Finding finding;
  {
    TrialSite site(connect, database, kCollection);
    site[0].must(R"({"create": "@"})");
    finding = try_fact(*fact, site);
  }
  MongoClient(shared_set().uri()).must(database, {{"dropDatabase", 1}});
  return finding;
}

class Lies : public testing::TestWithParam<Lie> {};

TEST_P(Lies, AreFound) {
  const auto lied = found(GetParam().fact, lying(GetParam().teller));
  EXPECT_TRUE(lied.is == Finding::Is::fails) << lied.seen;
  EXPECT_TRUE(lied.prevents);
}

INSTANTIATE_TEST_SUITE_P(Each, Lies, testing::ValuesIn(lies()),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace leasehold::lab

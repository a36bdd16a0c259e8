#include <regex>

#include "scenarios/command/command_fixture.hpp"

/// `leasehold doctor` on sets that are made ill, or that are not as usual.
namespace leasehold::lab {
namespace {

using sim::live::make_a_shard;
using sim::live::ReplicaSet;

/// A replica set of its own, to be made ill.
class Doctor : public testing::Test {
 protected:
  static std::string says(const std::string& uri, int code) {
    setenv("LEASEHOLD_URI", uri.c_str(), 1);
    const auto ran = run_program({LEASEHOLD_COMMAND_PROGRAM, "doctor"});
    EXPECT_EQ(ran.exit_code, code) << ran.out;
    return ran.out;
  }
  static constexpr const char* kDatabase = "leasehold";
  static constexpr int kNoAnswer = 69;
};

TEST_F(Doctor, FindsAStandaloneAlsoWhereASetIsAskedFor) {
  ReplicaSet alone({.standalone = true});
  EXPECT_TRUE(has(says(alone.uri(), 1), "problem  server         the server is a standalone"));
  setenv("LEASEHOLD_URI", sim::live::with_option(alone.uri(), "replicaSet=rs").c_str(), 1);
  const auto said = run_program({LEASEHOLD_COMMAND_PROGRAM, "doctor"}).out;
  EXPECT_TRUE(has(said, "rs.initiate() make it a set of one")) << said;
}

TEST_F(Doctor, FindsAShardOnWhichNoLockIsTaken) {
  ReplicaSet set({.members = 1});
  const auto before = says(set.uri(), 0);
  EXPECT_FALSE(has(before, "is a shard")) << before;
  EXPECT_TRUE(has(before, "a set of one member: ")) << before;
  for (const char* subject : {"server", "members", "clocks", "journal", "writes", "write concern",
                              "permissions", "TTL index", "documents"}) {
    EXPECT_TRUE(std::regex_search(before, std::regex("(fine|note) +" + std::string(subject) + " ")))
        << subject << " in\n" << before;
  }
  EXPECT_TRUE(set.step_down());
  EXPECT_EQ(run_program({LEASEHOLD_COMMAND_PROGRAM, "ls"}).exit_code, 0) << "it is elected again";
  make_a_shard(set);
  EXPECT_TRUE(has(says(set.uri(), 1), "the set is a shard of a cluster"));
  const auto refused = run_program({LEASEHOLD_COMMAND_PROGRAM, "run", "-n", "job", "--", "true"});
  EXPECT_NE(refused.exit_code, 0);
  EXPECT_TRUE(has(refused.out, "the set is a shard of a cluster")) << refused.out;
}

TEST_F(Doctor, FindsAMemberWhoseClockIsAhead) {
  ReplicaSet set({.faulty = true});
  EXPECT_TRUE(has(says(set.uri(), 0), "fine     clocks"));
  set.mongod(1).clock().set(seconds(5));
  // The member may take the jump for a silence of the primary, and stand for election.
  Ran ran;
  EXPECT_TRUE(eventually([&] {
    ran = run_program({LEASEHOLD_COMMAND_PROGRAM, "doctor"});
    return ran.exit_code != kNoAnswer;
  }));
  EXPECT_EQ(ran.exit_code, 1) << ran.out;
  const auto& ill = ran.out;
  EXPECT_TRUE(has(ill, "problem  clocks")) << ill;
  std::smatch said;
  ASSERT_TRUE(std::regex_search(ill, said, std::regex(" are ([0-9]+) ms apart"))) << ill;
  EXPECT_NEAR(std::stoi(said[1]), 5'000, 500) << ill;
}

TEST_F(Doctor, FindsWhatIsWrongWithTheIndexAndTheDefaults) {
  using sim::live::Json;
  const std::string uri = shared_set().uri();
  sim::live::MongoClient client(uri);
  const std::string locks = sim::live::kLockCollection;
  const auto index = [&](const Json& options) {
    Json one{{"key", {{"expiresAt", 1}}}, {"name", "test"}};
    one.update(options);
    client.run(kDatabase, {{"dropIndexes", locks}, {"index", "*"}});
    client.must(kDatabase, {{"createIndexes", locks}, {"indexes", Json::array({one})}});
  };
  client.run(kDatabase, {{"drop", locks}});
  EXPECT_TRUE(has(says(uri, 0), "note     TTL index      no lock was taken yet"));
  client.must(kDatabase, {{"create", locks}});
  EXPECT_TRUE(has(says(uri, 1), "problem  TTL index      none on expiresAt"));
  index(Json::object());
  EXPECT_TRUE(has(says(uri, 1), "the index on expiresAt has no expireAfterSeconds"));
  index({{"expireAfterSeconds", 60}});
  EXPECT_TRUE(has(says(uri, 1), "the index waits 60 s after expiresAt"));
  index({{"expireAfterSeconds", 0}});
  EXPECT_TRUE(has(says(uri, 0), "fine     TTL index"));
  const auto set_default = [&client](const Json& w) {
    client.must("admin", {{"setDefaultRWConcern", 1}, {"defaultWriteConcern", {{"w", w}}}});
  };
  set_default(1);
  EXPECT_TRUE(has(says(uri, 1), "problem  write concern  the set's default is w: 1"));
  set_default("majority");
  EXPECT_TRUE(has(says(uri, 0), "fine     write concern"));
  client.must(kDatabase, {{"create", "distributed_locks"}});
  EXPECT_TRUE(has(says(uri, 1), "there is a collection 'distributed_locks' too"));
  client.must(kDatabase, {{"drop", "distributed_locks"}});
}

/// The primary, a secondary, and an arbiter.
TEST_F(Doctor, SaysThatASetWithAnArbiterHasNoMemberToSpare) {
  ReplicaSet set({.fields = {{{"priority", 2}}, {{"priority", 1}}, {{"arbiterOnly", true}}}});
  const auto well = says(set.uri(), 1);
  EXPECT_TRUE(has(well, "note     majority       a write needs all 2 members that hold data"));
  EXPECT_TRUE(has(well, "; arbiters hold no data: 1")) << well;
  EXPECT_TRUE(has(well, "problem  write concern  the set names no default")) << well;
  EXPECT_TRUE(has(well, "fine     writes")) << well;
  set.stop({1});
  const auto ill = says(set.uri(), 1);
  EXPECT_TRUE(has(ill, "problem  writes         no lock can be taken: ")) << ill;
}

TEST_F(Doctor, FindsNothingWrongWithAHiddenMember) {
  ReplicaSet set({.fields = {{{"priority", 2}}, {}, {{"priority", 0}, {"hidden", true}}}});
  const auto said = says(set.uri(), 0);
  EXPECT_TRUE(has(said, "fine     members        3 of 3 are up")) << said;
  EXPECT_FALSE(has(said, "majority       a write needs")) << said;
}

TEST_F(Doctor, SaysThatADelayedMemberIsNoneToSpare) {
  const sim::live::Json delayed{{"priority", 0}, {"hidden", true}, {"secondaryDelaySecs", 3'600}};
  ReplicaSet one({.fields = {{{"priority", 2}}, {}, delayed}});
  const auto note = says(one.uri(), 0);
  EXPECT_TRUE(has(note, "note     majority       a write needs all 2 members")) << note;
  EXPECT_TRUE(has(note, " is 3600 s late")) << note;
  ReplicaSet two({.fields = {{{"priority", 2}}, delayed, delayed}});
  const auto problem = says(two.uri(), 1);
  EXPECT_TRUE(
      has(problem, "problem  majority       a write needs 2 members that hold data, 1 confirm"));
}

}  // namespace
}  // namespace leasehold::lab

#include <algorithm>
#include <future>

#include "scenarios/command/command_fixture.hpp"

/// `leasehold doctor --certify` as people run it.
namespace leasehold::lab {
namespace {

using sim::live::Json;
using sim::live::MongoClient;
using sim::live::ReplicaSet;

class Certify : public Command {
 protected:
  [[nodiscard]] Ran certify(std::vector<std::string> more = {}) const {
    more.insert(more.begin(), {"doctor", "--certify", "--database", database_});
    return leasehold(std::move(more));
  }
  static bool has(const Ran& ran, const std::string& part) {
    return ran.out.find(part) != std::string::npos;
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
  EXPECT_LT(watch.elapsed(), seconds(60));
  EXPECT_EQ(ran.exit_code, 0) << ran.out;
  EXPECT_TRUE(has(ran, "\ncertified: ")) << ran.out;
  EXPECT_FALSE(has(ran, "note ")) << ran.out;
  EXPECT_TRUE(has(ran, "\nnot tried election-keeps-what-is-confirmed")) << ran.out;
  EXPECT_EQ(collections(), 0u);
}

TEST_F(Certify, TwoAtOnceDoNotMeet) {
  auto other = std::async(std::launch::async, [&] { return certify({"--json"}); });
  const auto ran = certify({"--json"});
  EXPECT_EQ(other.get().exit_code, 0);
  EXPECT_EQ(ran.exit_code, 0) << ran.out;
  const Json said = Json::parse(ran.out);
  EXPECT_EQ(said["certified"], true);
  const Json& facts = said["facts"];
  const auto count = [&](const char* finding) {
    return std::count_if(facts.begin(), facts.end(),
                         [&](const Json& fact) { return fact["finding"] == finding; });
  };
  EXPECT_GE(count("holds"), 30);
  EXPECT_EQ(count("fails"), 0);
  EXPECT_EQ(collections(), 0u);
}

TEST_F(Certify, ASignalEndsItAndNothingStays) {
  for (const int signal : {SIGINT, SIGTERM}) {
    ChildProcess child(words({"doctor", "--certify", "--database", database_}),
                       ChildProcess::Io::nothing);
    EXPECT_TRUE(eventually([&] { return collections() == 1; }));
    child.send_signal(signal);
    ASSERT_TRUE(child.wait_ms(20'000));
    EXPECT_TRUE(WIFSIGNALED(child.exit_status()) && WTERMSIG(child.exit_status()) == signal);
    EXPECT_EQ(collections(), 0u);
  }
}

TEST_F(Certify, ASetOfOneIsCertifiedAndWhatItCannotPromiseOrFailsIsNamed) {
  ReplicaSet set({.members = 1});
  setenv("LEASEHOLD_URI", set.uri().c_str(), 1);
  const auto good = certify();
  EXPECT_EQ(good.exit_code, 0) << good.out;
  EXPECT_TRUE(has(good, "\nnot tried secondary-refuses-writes ")) << good.out;
  for (const auto& ran : {good, leasehold({"doctor"})}) {
    EXPECT_TRUE(has(ran, "a set of one member: ")) << ran.out;
  }
  set.member(0).must("admin", {{"setParameter", 1}, {"ttlMonitorEnabled", false}});
  const auto bad = certify();
  EXPECT_EQ(bad.exit_code, 1) << bad.out;
  EXPECT_TRUE(has(bad, "\nfails     expired-document-is-removed")) << bad.out;
  EXPECT_TRUE(has(bad, "else documents of dead holders stay")) << bad.out;
  EXPECT_TRUE(has(bad, "\nnot certified: these facts fail: expired-document-is-removed\n"))
      << bad.out;
}

TEST_F(Certify, AShardIsRefused) {
  ReplicaSet set({.members = 1});
  setenv("LEASEHOLD_URI", set.uri().c_str(), 1);
  EXPECT_FALSE(has(leasehold({"doctor"}), "is a shard"));
  const Json identity{{"_id", "shardIdentity"},
                      {"shardName", "one"},
                      {"clusterId", {{"$oid", "0123456789abcdef01234567"}}},
                      {"configsvrConnectionString", "configuration/127.0.0.1:1"}};
  set.member(0).must("admin",
                     {{"insert", "system.version"}, {"documents", Json::array({identity})}});
  const auto ran = leasehold({"doctor"});
  EXPECT_EQ(ran.exit_code, 1);
  EXPECT_TRUE(has(ran, "the set is a shard of a cluster")) << ran.out;
  EXPECT_TRUE(has(certify(), "not certified: the set is a shard")) << ran.out;
  const auto refused = leasehold({"run", "-n", "job", "--", "true"});
  EXPECT_NE(refused.exit_code, 0);
  EXPECT_TRUE(has(refused, "the set is a shard of a cluster")) << refused.out;
}

TEST_F(Certify, AStandaloneIsNotCertifiedAndHowToMakeItASetIsSaid) {
  ReplicaSet alone({.standalone = true});
  setenv("LEASEHOLD_URI", alone.uri().c_str(), 1);
  const auto ran = certify();
  EXPECT_EQ(ran.exit_code, 1) << ran.out;
  EXPECT_TRUE(has(ran, "rs.initiate()")) << ran.out;
  EXPECT_TRUE(has(ran, "\nnot certified: the server is a standalone")) << ran.out;
  const auto as_json = certify({"--json"});
  EXPECT_EQ(as_json.exit_code, 1);
  EXPECT_EQ(Json::parse(as_json.out)["certified"], false);
  setenv("LEASEHOLD_URI", sim::live::with_option(alone.uri(), "replicaSet=rs").c_str(), 1);
  EXPECT_TRUE(has(certify(), "rs.initiate() make it a set of one"));
}

}  // namespace
}  // namespace leasehold::lab

#include <gtest/gtest.h>

#include <algorithm>
#include <future>
#include <sstream>

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
  const Json facts = Json::parse(ran.out)["facts"];
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
    EXPECT_EQ(ran.exit_code, 1) << ran.out;
    EXPECT_TRUE(ran.out.starts_with("fails     hello-tells-what-a-member-is"));
    EXPECT_TRUE(has(ran, why));
    EXPECT_TRUE(has(ran, "\nnot certified: these facts fail: hello-tells-what-a-member-is\n"));
  }
}

TEST_F(Certify, AWrongUriIsOneClearError) {
  for (const auto& [uri, code] : {std::pair("mongodb://", 64), {"mongodb://127.0.0.1:1/", 69}}) {
    const auto ran = certify({"--uri", std::string(uri) + "?serverSelectionTimeoutMS=500"});
    EXPECT_EQ(ran.exit_code, code) << ran.out;
    EXPECT_EQ(std::count(ran.out.begin(), ran.out.end(), '\n'), 1) << ran.out;
  }
}

TEST(Servers, ThePageHasTheFacts) {
  std::ostringstream rows;
  rows << "| fact | what servers do | otherwise |\n|---|---|---|\n";
  for (const Fact& fact : facts()) {
    rows << "| " << fact.name << " | " << fact.says << " | " << fact.means << " |\n";
  }
  EXPECT_TRUE(has(content_of(LEASEHOLD_SERVERS_PAGE),
                  "<!-- generated -->\n" + rows.str() + "<!-- -->"));
}

}  // namespace
}  // namespace leasehold::lab

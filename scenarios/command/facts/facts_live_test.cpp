#include <gtest/gtest.h>

#include <algorithm>

#include "cli/facts/facts.hpp"
#include "scenarios/command/facts/lies.hpp"
#include "scenarios/command/facts/lies_to_locks.hpp"
#include "sim/live/live_test.hpp"

/// That the facts hold on a real set, and that each is found to fail where it is a lie.
namespace leasehold::lab {
namespace {

using cli::Fact;
using cli::Finding;
using sim::live::shared_set;

constexpr const char* kCollection = "certify";

/// "now-runs" as NowRuns.
std::string in_capitals(const char* words) {
  std::string name;
  bool first = true;
  for (const char* at = words; *at != '\0'; ++at) {
    const bool is_letter = std::isalnum(static_cast<unsigned char>(*at)) != 0;
    if (is_letter) name += static_cast<char>(first ? std::toupper(*at) : *at);
    first = !is_letter;
  }
  return name;
}

std::vector<Fact> facts_with_a_trial() {
  auto all = cli::facts();
  std::erase_if(all, [](const Fact& fact) { return fact.trial == nullptr; });
  return all;
}

std::vector<Lie> all_lies() {
  std::vector<Lie> all;
  for (const auto& some : {lies_about_answers(), lies_about_attempts(), lies_about_time()}) {
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

/// On a database of its own, which is gone after it.
Finding found(const Fact& fact, const cli::Connect& connect) {
  const auto database = sim::live::fresh_database();
  Finding finding;
  {
    cli::TrialSite site(connect, database, kCollection);
    site[0].must({{"create", kCollection}});
    finding = cli::try_fact(fact, site);
  }
  sim::live::MongoClient(shared_set().uri()).must(database, {{"dropDatabase", 1}});
  return finding;
}

Finding found_by(const char* name, const cli::Connect& connect) {
  for (const Fact& fact : cli::facts()) {
    if (std::string(fact.name) == name) return found(fact, connect);
  }
  ADD_FAILURE() << "there is no fact '" << name << "'";
  return {};
}

class Facts : public testing::TestWithParam<Fact> {};

TEST_P(Facts, OnARealSet) {
  const auto uri = shared_set().uri();
  const auto finding = found(GetParam(), [&] { return cli::connect_for_trials(uri); });
  EXPECT_TRUE(finding.is == Finding::Is::holds) << finding.seen;
}

TEST_P(Facts, WithoutALieBeforeTheServer) {
  const auto finding = found(GetParam(), lying_about(shared_set().uri(), [](const Question& q) {
                               return std::optional<Json>(q.reply());
                             }));
  EXPECT_TRUE(finding.is == Finding::Is::holds) << finding.seen;
}

INSTANTIATE_TEST_SUITE_P(Each, Facts, testing::ValuesIn(facts_with_a_trial()),
                         [](const auto& info) { return in_capitals(info.param.name); });

class Lies : public testing::TestWithParam<Lie> {};

TEST_P(Lies, AreFound) {
  const auto finding =
      found_by(GetParam().found_by, lying_about(shared_set().uri(), GetParam().teller()));
  EXPECT_TRUE(finding.is == Finding::Is::fails) << finding.seen;
  EXPECT_TRUE(finding.prevents);
}

/// What locks notice may hang on where the write stands in its second.
TEST_P(Lies, AreRefusedByLocksAsSaid) {
  constexpr int kTries = 5;
  const char* refused = GetParam().refused;
  std::string said;
  for (int i = 0; i < kTries && said.empty(); ++i) {
    const auto database = sim::live::fresh_database();
    said = what_locks_say(lying_about(shared_set().uri(), GetParam().teller()), database);
    sim::live::MongoClient(shared_set().uri()).must(database, {{"dropDatabase", 1}});
    if (refused == nullptr) break;
  }
  EXPECT_NE(said.find(refused == nullptr ? "" : refused), std::string::npos) << said;
  EXPECT_EQ(said.empty(), refused == nullptr) << said;
}

INSTANTIATE_TEST_SUITE_P(Each, Lies, testing::ValuesIn(all_lies()),
                         [](const auto& info) { return in_capitals(info.param.name); });

TEST(LiesAboutFacts, ThereIsOneForEachFactThatHasATrial) {
  const auto lies = all_lies();
  for (const Fact& fact : facts_with_a_trial()) {
    EXPECT_TRUE(std::any_of(lies.begin(), lies.end(), [&](const Lie& lie) {
      return std::string(fact.name) == lie.found_by;
    })) << fact.name;
  }
}

}  // namespace
}  // namespace leasehold::lab

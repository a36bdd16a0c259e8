#include "model/lock_system.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace leasehold::model {
namespace {

Exploration explore(const Scope& scope, std::uint64_t max_states) {
  ExploreOptions options;
  options.max_states = max_states;
  const LockSystem system(scope);
  return Explorer<LockSystem>(system, options).run();
}

class WrongVariant : public testing::TestWithParam<VariantInfo> {};

TEST_P(WrongVariant, BreaksAGuaranteeNamedBeforehand) {
  const auto found = explore(scope_for(GetParam().variant), 8'000'000);
  ASSERT_EQ(found.verdict, Verdict::violated) << found.why;
  const std::string broken = found.why.substr(0, 2);
  EXPECT_NE(GetParam().breaks.find(broken), std::string_view::npos) << found.why;
  EXPECT_LE(found.story.size(), 17u);
  EXPECT_EQ(found.story.size(), found.depth) << "breadth-first: a shortest one";
}

std::string test_name(const testing::TestParamInfo<VariantInfo>& tested) {
  std::string name(tested.param.name);
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(All, WrongVariant, testing::ValuesIn(variants()), test_name);

TEST(LockSystem, AClockAheadByMoreThanTheMarginBreaksIt) {
  Scope beyond, none;
  beyond.skew = 2;
  none.clock_margin = 0;
  for (const auto& scope : {beyond, none}) {
    const auto found = explore(scope, 4'000'000);
    EXPECT_EQ(found.verdict, Verdict::violated) << describe(scope);
    EXPECT_EQ(found.why.substr(0, 2), "G1");
  }
}

TEST(LockSystem, TheLockIsNotBrokenAsFarAsWasLooked) {
  Scope two_messages, three_clients;
  two_messages.messages = 2;
  three_clients.clients = 3;
  for (const auto& scope : {Scope{}, two_messages, three_clients}) {
    const auto found = explore(scope, 1'000'000);
    EXPECT_EQ(found.verdict, Verdict::unknown) << found.why;
    EXPECT_EQ(found.why, "more than 1000000 states");
    EXPECT_EQ(found.reached, (1u << LockSystem::sometimes().size()) - 1) << describe(scope);
  }
}

}  // namespace
}  // namespace leasehold::model

#include "sim/explored/core_system.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace leasehold::sim::explored {
namespace {

class CoreScopes : public testing::TestWithParam<NamedCoreScope> {};

/// The number is pinned because a smaller one may also mean that the model sees less.
TEST_P(CoreScopes, HoldCompletelyWithThePinnedNumberOfStates) {
  const CoreSystem system(GetParam().scope);
  const auto found = model::Explorer<CoreSystem>(system).run();
  EXPECT_EQ(found.verdict, model::Verdict::holds) << found.why;
  EXPECT_EQ(found.states, GetParam().states);
  // And what is never seen has not been examined, so "holds" would say nothing of it.
  for (std::size_t i = 0; i < CoreSystem::seen_events().size(); ++i) {
    const bool missing = ((GetParam().sights & ~found.reached) >> i & 1) != 0;
    EXPECT_FALSE(missing) << "never seen: " << CoreSystem::seen_events()[i];
  }
}
std::string name_of(const testing::TestParamInfo<NamedCoreScope>& tested) {
  std::string name(tested.param.name);
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}
INSTANTIATE_TEST_SUITE_P(All, CoreScopes, testing::ValuesIn(core_scopes()), name_of);

/// A kind that adds no state is one that the model forgot to bring about.
TEST(CoreSystem, EachKindOfFaultLeavesItsMark) {
  const auto states = [](unsigned kinds) {
    const CoreSystem system({.ticks = 4, .faults = 1, .kinds = kinds});
    return model::Explorer<CoreSystem>(system).run().states;
  };
  const auto without = states(0);
  for (unsigned kind = 0; kind < kCoreFaults; ++kind)
    EXPECT_GT(states(1u << kind), without) << kind;
}

/// Or the pool would keep one actor twice, and one state would be counted as two.
TEST(CoreSystem, EqualCoresHaveEqualHashes) {
  core::ProviderCore a("x"), b("x");
  EXPECT_EQ(a.hash(), b.hash());
}

}  // namespace
}  // namespace leasehold::sim::explored

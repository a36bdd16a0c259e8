#include <gtest/gtest.h>

#include <cstdio>

#include "properties/fidelity/server_comparison.hpp"

namespace leasehold::properties {
namespace {

class ServerComparison : public testing::TestWithParam<Script> {};

/// Where a real set may do one thing or another (an old primary that wakes reads first what its
/// peers say, or what clients sent), the simulated one draws, and one of its seeds does the same.
TEST_P(ServerComparison, TheSimulatedSetAnswersAsARealOneDoes) {
  constexpr std::uint64_t kSeeds = 24;
  const auto real = seen_of_a_real_set(GetParam());
  std::printf("%s", real.c_str());
  std::string first;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const auto simulated = seen_of_a_simulated_set(GetParam(), seed);
    if (simulated == real) return;
    if (seed == 1) first = simulated;
  }
  EXPECT_EQ(real, first) << "and no other of " << kSeeds << " seeds answers so";
}

INSTANTIATE_TEST_SUITE_P(All, ServerComparison, testing::ValuesIn(scripts()),
                         [](const auto& tested) { return std::string(tested.param.name); });

}  // namespace
}  // namespace leasehold::properties

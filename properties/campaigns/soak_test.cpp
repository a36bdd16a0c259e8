#include "properties/campaigns/soak.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace leasehold::properties {
namespace {

TEST(Trend, IsOfTheFittedLine) {
  const auto rising = trend({0, 10, 20, 30}, {5, 7, 9, 11});
  EXPECT_DOUBLE_EQ(rising.mean, 8);
  EXPECT_DOUBLE_EQ(rising.growth, 6);
  EXPECT_NEAR(trend({0, 1, 2, 3, 4}, {3, 9, 3, 9, 3}).growth, 0, 1e-9) << "noise is no growth";
  EXPECT_DOUBLE_EQ(rising.error, 0);
  EXPECT_EQ(trend({}, {}).growth, 0);
  EXPECT_EQ(trend({4}, {7}).mean, 7);
}

TEST(Trend, GrowsOnlyByMoreThanChance) {
  std::vector<double> minutes, noise, leak;
  for (int minute = 0; minute < 45; ++minute) {
    minutes.push_back(minute);
    // A wave that has not come to its end, as pools make it.
    noise.push_back(36 + 2 * std::sin(1.4 * minute) + (minute > 40 ? 2 : 0));
    leak.push_back(noise.back() + 0.1 * minute);
  }
  const auto flat = trend(minutes, noise), rising = trend(minutes, leak);
  EXPECT_GT(flat.growth, 0.5);
  EXPECT_FALSE(flat.grew(0.5)) << flat.growth << " +- " << flat.error;
  EXPECT_TRUE(rising.grew(0.5)) << rising.growth << " +- " << rising.error;
  EXPECT_FALSE(rising.grew(50));
}

TEST(Growth, IsKnownOfALongRunAlone) {
  const auto verdict = [](const Growth& growth, int minutes) {
    return growth_finding(growth, 60.0 * minutes, false).verdict;
  };
  Growth growth{.measured = 1};
  EXPECT_EQ(verdict(growth, 60), model::Verdict::holds);
  EXPECT_EQ(verdict(growth, 19), model::Verdict::unknown);
  EXPECT_EQ(verdict({}, 60), model::Verdict::unknown) << "no process was measured";
  growth.trends[kDescriptors] = {.mean = 30, .growth = 1, .error = 0.1};
  EXPECT_EQ(verdict(growth, 60), model::Verdict::violated);
}

}  // namespace
}  // namespace leasehold::properties

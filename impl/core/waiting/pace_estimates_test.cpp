#include "core/waiting/pacing.hpp"

#include <gtest/gtest.h>

#include "core/limits.hpp"

namespace leasehold::core {
namespace {

using std::chrono::milliseconds;

TEST(PaceEstimates, AreBoundedAndForgetTheNameUsedLongestAgo) {
  const std::optional<Duration> some = milliseconds(100);
  PaceEstimates paces;
  const auto name = [](std::size_t i) { return "lock-" + std::to_string(i); };
  for (std::size_t i = 0; i < kMaxPaces; ++i) paces.keep(name(i), some);
  paces.keep(name(0), some);
  paces.keep("one more", some);
  EXPECT_TRUE(paces.pace("one more"));
  EXPECT_TRUE(paces.pace(name(0))) << "used again since";
  EXPECT_FALSE(paces.pace(name(1)));
  EXPECT_TRUE(paces.pace(name(2)));
}

TEST(PaceEstimates, OfAStrategyThatLearnedNothingStayAsTheyAre) {
  PaceEstimates paces;
  paces.keep("lock", milliseconds(100));
  paces.keep("lock", std::nullopt);
  EXPECT_EQ(paces.pace("lock"), milliseconds(100));
}

}  // namespace
}  // namespace leasehold::core

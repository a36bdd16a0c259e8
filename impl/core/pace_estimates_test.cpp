#include "core/pace_estimates.hpp"

#include <gtest/gtest.h>

#include "core/limits.hpp"

namespace leasehold::core {
namespace {

using std::chrono::milliseconds;

LocalInstant at(std::size_t i) { return LocalInstant(milliseconds(i)); }

TEST(PaceEstimates, AreBoundedAndForgetTheNameUsedLongestAgo) {
  const auto adaptive = adaptive_waiting();
  const AttemptSeen seen{.attempts = 1, .waited = milliseconds(5)};
  PaceEstimates paces;
  const auto name = [](std::size_t i) { return "lock-" + std::to_string(i); };
  for (std::size_t i = 0; i < kMaxRhythms; ++i) {
    paces.attempted(name(i), *adaptive, seen, true, at(i));
  }
  paces.attempted(name(0), *adaptive, seen, true, at(kMaxRhythms));
  paces.attempted("one more", *adaptive, seen, true, at(kMaxRhythms + 1));
  EXPECT_TRUE(paces.pace("one more"));
  EXPECT_TRUE(paces.pace(name(0))) << "used again since";
  EXPECT_FALSE(paces.pace(name(1)));
  EXPECT_TRUE(paces.pace(name(2)));
}

}  // namespace
}  // namespace leasehold::core

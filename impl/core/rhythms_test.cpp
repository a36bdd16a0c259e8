#include "core/rhythms.hpp"

#include <gtest/gtest.h>

#include "core/limits.hpp"

namespace leasehold::core {
namespace {

using std::chrono::milliseconds;

LocalInstant at(std::size_t i) { return LocalInstant(milliseconds(i)); }

TEST(Rhythms, AreBoundedAndForgetTheNameUsedLongestAgo) {
  const auto adaptive = adaptive_waiting();
  const AttemptSeen seen{.attempts = 1, .waited = milliseconds(5)};
  Rhythms rhythms;
  const auto name = [](std::size_t i) { return "lock-" + std::to_string(i); };
  for (std::size_t i = 0; i < kMaxRhythms; ++i) {
    rhythms.attempted(name(i), *adaptive, seen, true, at(i));
  }
  rhythms.attempted(name(0), *adaptive, seen, true, at(kMaxRhythms));
  rhythms.attempted("one more", *adaptive, seen, true, at(kMaxRhythms + 1));
  EXPECT_TRUE(rhythms.pace("one more"));
  EXPECT_TRUE(rhythms.pace(name(0))) << "used again since";
  EXPECT_FALSE(rhythms.pace(name(1)));
  EXPECT_TRUE(rhythms.pace(name(2)));
}

}  // namespace
}  // namespace leasehold::core

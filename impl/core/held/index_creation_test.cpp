#include "core/held/index_creation.hpp"

#include <gtest/gtest.h>

#include "core/testing/core_world.hpp"

namespace leasehold::core {
namespace {

std::size_t sent(const Effects& effects) {
  return static_cast<std::size_t>(
      std::count_if(effects.begin(), effects.end(),
                    [](const auto& effect) { return std::holds_alternative<Send>(effect); }));
}

TEST(IndexCreation, IsAskedForAgainFiveTimesInAllAndThenWarned) {
  for (const auto outcome : {Outcome::unknown, Outcome::not_executed}) {
    CountingEntropy entropy;
    Effects effects;
    PendingCommands pending;
    IndexCreation index;
    const SendingStep step{{LocalInstant(), entropy, effects}, pending};
    Reply lost;
    lost.outcome = outcome;
    lost.message = "no reply";
    for (int i = 0; i < 10; ++i) {
      const auto before = sent(effects);
      index.ensure(step);
      index.ensure(step);
      EXPECT_LE(sent(effects), before + 1) << "one at a time";
      if (sent(effects) > before) index.answered(lost, step);
    }
    EXPECT_EQ(sent(effects), 5u) << static_cast<int>(outcome);
    ASSERT_TRUE(std::holds_alternative<Warned>(effects.back()));
    EXPECT_EQ(std::get<Warned>(effects.back()).message, "TTL index: no reply");
  }
}

TEST(IndexCreation, IsSettledByAnAnswer) {
  CountingEntropy entropy;
  Effects effects;
  PendingCommands pending;
  IndexCreation index;
  const SendingStep step{{LocalInstant(), entropy, effects}, pending};
  index.ensure(step);
  index.answered(CoreWorld::with(Outcome::done), step);
  index.ensure(step);
  EXPECT_EQ(sent(effects), 1u);
}

/// The collection may have been dropped meanwhile, and made again by an upsert.
TEST(IndexCreation, IsAskedForAgainTenMinutesLaterAndWarnsOnce) {
  CountingEntropy entropy;
  Effects effects;
  PendingCommands pending;
  IndexCreation index;
  auto refused = CoreWorld::with(Outcome::done);
  refused.message = "no permission";
  for (int period = 0; period < 3; ++period) {
    const LocalInstant now{std::chrono::minutes(10 * period)};
    const SendingStep step{{now, entropy, effects}, pending};
    index.ensure(step);
    index.answered(refused, step);
    index.ensure(step);
    EXPECT_EQ(sent(effects), static_cast<std::size_t>(period + 1));
  }
  EXPECT_EQ(std::count_if(effects.begin(), effects.end(),
                          [](const auto& e) { return std::holds_alternative<Warned>(e); }),
            1);
}

}  // namespace
}  // namespace leasehold::core

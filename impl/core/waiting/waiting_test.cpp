#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <leasehold/waiting.hpp>
#include <limits>
#include <random>
#include <vector>

namespace leasehold {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

/// One of each kind.
std::vector<std::shared_ptr<const WaitingStrategy>> strategies(milliseconds min, milliseconds max) {
  return {fixed_waiting(max),
          uniform_waiting(min, max),
          exponential_waiting(Jitter::full, min, max),
          exponential_waiting(Jitter::decorrelated, min, max),
          adaptive_waiting(min, max),
          queue_waiting(max)};
}

AttemptSeen draw_seen() {
  AttemptSeen seen;
  seen.attempts = *rc::gen::inRange(1, 100'000);
  seen.refused = *rc::gen::arbitrary<bool>();
  seen.waited = milliseconds(*rc::gen::inRange(0, 100'000'000));
  if (*rc::gen::arbitrary<bool>()) seen.pace = milliseconds(*rc::gen::inRange(2, 3'600'000));
  seen.last_pause = milliseconds(*rc::gen::inRange(0, 800));
  if (*rc::gen::arbitrary<bool>()) {
    seen.room_in = milliseconds(*rc::gen::inRange(0, 3'600'000));
  }
  return seen;
}

/// Bounds of guarantees are computed from it: a strategy that says more than it was asked for would
/// widen them.
RC_GTEST_PROP(Waiting, TheLongestPauseSaidIsTheLongestAskedFor, ()) {
  const milliseconds min(*rc::gen::inRange(1, 1'000));
  const auto max = min + milliseconds(*rc::gen::inRange(0, 86'000'000));
  for (const auto& strategy : strategies(min, max)) {
    RC_ASSERT(strategy->longest_pause() == max);
  }
}

/// Any number of ms, often one at which something overflows.
milliseconds any_ms() {
  constexpr std::int64_t kDay = 86'400'000;
  return milliseconds(*rc::gen::oneOf(
      rc::gen::arbitrary<std::int64_t>(),
      rc::gen::element<std::int64_t>(milliseconds::min().count(), -1, 0, 1, 8'600, 10'000, kDay,
                                     kDay + 1, milliseconds::max().count())));
}

RC_GTEST_PROP(Waiting, WhateverTheArgumentsAPauseIsBetweenZeroAndADay, ()) {
  const auto one = any_ms(), other = any_ms();
  const auto random = *rc::gen::arbitrary<std::uint64_t>();
  AttemptSeen seen = draw_seen();
  seen.attempts =
      *rc::gen::oneOf(rc::gen::inRange(1, 100), rc::gen::just(std::numeric_limits<int>::max()));
  if (*rc::gen::arbitrary<bool>()) seen.waited = seen.last_pause = nanoseconds::max();
  if (*rc::gen::arbitrary<bool>()) seen.pace = nanoseconds::max();
  if (*rc::gen::arbitrary<bool>()) seen.room_in = nanoseconds::max();
  auto all = strategies(other, one);
  all.push_back(uniform_waiting());
  all.push_back(adaptive_waiting());
  for (const auto& strategy : all) {
    const auto pause = strategy->pause(seen, random);
    RC_ASSERT(pause == strategy->pause(seen, random));
    RC_ASSERT(pause >= nanoseconds(0));
    RC_ASSERT(pause <= strategy->longest_pause());
    RC_ASSERT(strategy->longest_pause() <= std::chrono::hours(24));
    RC_ASSERT(strategy->renewal(seen.waited).value_or(pause) <= strategy->longest_pause());
    const auto pace = strategy->next_pace(seen, *rc::gen::arbitrary<bool>());
    RC_ASSERT(pace.value_or(nanoseconds(0)) >= nanoseconds(0));
  }
}

TEST(Waiting, ASpanThatIsNegativeOrLongerThanADayIsCut) {
  const auto pause = [](milliseconds span) { return fixed_waiting(span)->pause({1, true}, 7); };
  EXPECT_EQ(pause(milliseconds(-1)), milliseconds(0));
  EXPECT_EQ(pause(milliseconds(250)), milliseconds(250));
  EXPECT_EQ(pause(std::chrono::hours(25)), std::chrono::hours(24));
}

AttemptSeen aged(std::optional<std::chrono::nanoseconds> pace, std::chrono::nanoseconds waited) {
  return {.attempts = 1, .waited = waited, .pace = pace};
}

double mean_ms(const WaitingStrategy& strategy, const AttemptSeen& seen) {
  std::mt19937_64 random(1);
  double sum = 0;
  constexpr int kDraws = 10'000;
  for (int i = 0; i < kDraws; ++i) {
    sum += static_cast<double>(strategy.pause(seen, random()).count()) * 1e-6;
  }
  return sum / kDraws;
}

TEST(Waiting, ExponentialDoesNotFallToZeroAfterManyAttempts) {
  const auto backoff =
      exponential_waiting(Jitter::full, std::chrono::seconds(10), std::chrono::hours(1));
  EXPECT_GT(mean_ms(*backoff, {.attempts = 31}), 1'000'000) << "half an hour on average";
}

TEST(Waiting, UniformIsUniform) {
  EXPECT_NEAR(mean_ms(*uniform_waiting(), {.attempts = 1}), 405, 10);
}

TEST(Waiting, ExponentialGrowsUpToItsBound) {
  const auto full = exponential_waiting(Jitter::full);
  EXPECT_NEAR(mean_ms(*full, {.attempts = 1}), 5, 0.5);
  EXPECT_NEAR(mean_ms(*full, {.attempts = 4}), 40, 2);
  EXPECT_NEAR(mean_ms(*full, {.attempts = 1'000}), 400, 10);
  const auto decorrelated = exponential_waiting(Jitter::decorrelated);
  EXPECT_NEAR(mean_ms(*decorrelated, {.attempts = 1}), 20, 1);
  EXPECT_NEAR(mean_ms(*decorrelated, {.attempts = 9, .last_pause = milliseconds(100)}), 155, 5);
  EXPECT_NEAR(mean_ms(*decorrelated, {.attempts = 9, .last_pause = milliseconds(800)}), 405, 10);
}

TEST(Waiting, AdaptiveDoublesItsPausesBeforeItsFirstWin) {
  const auto adaptive = adaptive_waiting();
  const auto after = [&](std::int64_t ms) {
    return mean_ms(*adaptive, {.attempts = 3, .refused = true, .waited = milliseconds(ms)});
  };
  EXPECT_NEAR(after(0), 2, 0.1);
  EXPECT_NEAR(after(100), 100, 4);
  EXPECT_NEAR(after(100'000), 150, 5);
  EXPECT_NEAR(mean_ms(*adaptive, {.attempts = 3}), 401, 10) << "nobody answers";
}

TEST(Waiting, AdaptiveAimsAtTheEndOfAUsualWait) {
  const auto adaptive = adaptive_waiting();
  const auto after = [&](std::int64_t ms) {
    return mean_ms(
        *adaptive,
        {.attempts = 3, .refused = true, .waited = milliseconds(ms), .pace = milliseconds(400)});
  };
  EXPECT_NEAR(after(0), 396, 10);
  EXPECT_NEAR(after(400), 75, 5) << "who has waited long comes first";
  EXPECT_NEAR(after(700), 20, 3) << "the finest: a twentieth of the pace";
  EXPECT_GT(after(40'000), 400) << "unless all waits have become longer";
}

/// Attempts of which one in so many wins.
nanoseconds after_attempts(nanoseconds pace, int attempts, int one_in) {
  const auto adaptive = adaptive_waiting();
  for (int i = 1; i <= attempts; ++i)
    pace = *adaptive->next_pace(aged(pace, pace), i % one_in == 0);
  return pace;
}

TEST(Waiting, AdaptiveLearnsFromItsFirstWinOn) {
  const auto adaptive = adaptive_waiting();
  EXPECT_EQ(adaptive->next_pace(aged(std::nullopt, milliseconds(10)), false), std::nullopt);
  EXPECT_EQ(adaptive->next_pace(aged(std::nullopt, milliseconds(10)), true), milliseconds(100));
  EXPECT_EQ(adaptive->next_pace(aged(std::nullopt, milliseconds(800)), true), milliseconds(100));
  EXPECT_EQ(adaptive->next_pace(aged(std::nullopt, milliseconds(8'000)), true),
            milliseconds(1'000));
  EXPECT_EQ(uniform_waiting()->next_pace(aged(std::nullopt, milliseconds(10)), true), std::nullopt);
}

TEST(Waiting, AdaptiveLengthensItsPaceWhenTooFewAttemptsWin) {
  const milliseconds start(100);
  EXPECT_LT(after_attempts(start, 600, 3), start / 2);
  EXPECT_GT(after_attempts(start, 600, 8), start * 2);
  EXPECT_GE(after_attempts(start, 100'000, 1), milliseconds(1));
  EXPECT_LE(after_attempts(start, 100'000, 200'000), std::chrono::hours(1));
}

TEST(Waiting, AdaptiveLearnsSoonerFromALongWait) {
  const auto adaptive = adaptive_waiting();
  const milliseconds pace(100);
  EXPECT_LT(adaptive->next_pace(aged(pace, pace), false), milliseconds(102));
  EXPECT_GT(adaptive->next_pace(aged(pace, 4 * pace), false), milliseconds(103));
}

TEST(Waiting, AdaptivePacesThatSeeTheSameComeTogether) {
  const auto small = after_attempts(milliseconds(20), 4'000, 5);
  const auto large = after_attempts(milliseconds(2'000), 4'000, 5);
  EXPECT_LT(large, small * 11 / 10);
}

}  // namespace
}  // namespace leasehold

#include "bench/small_protocol.hpp"

#include <gtest/gtest.h>

#include "bench/spin.hpp"

namespace leasehold::bench {
namespace {

using model::Exploration;
using model::Verdict;

Exploration explore(const SmallProtocol& protocol) {
  return model::Explorer<SmallProtocol>(protocol).run();
}

// The counts that five other model checkers found for the same protocol.
TEST(SmallProtocol, HasExactlyTheKnownStatesAndTransitions) {
  const auto three = explore({.clients = 3, .last_tick = 10, .last_token = 8});
  EXPECT_EQ(three.verdict, Verdict::holds) << three.why;
  EXPECT_EQ(three.states, 8'577'910u);
  EXPECT_EQ(three.transitions, 64'165'784u);
  EXPECT_EQ(three.depth, 33u);
  EXPECT_LE(three.bytes / three.states, 60u);
  const auto four = explore({.clients = 4, .last_tick = 8, .last_token = 6});
  EXPECT_EQ(four.states, 5'580'648u);
  EXPECT_EQ(four.transitions, 44'591'999u);
  EXPECT_EQ(four.depth, 28u);
}

TEST(SmallProtocol, SpinCountsTheSameStates) {
  EXPECT_EQ(run_spin(LEASEHOLD_SPIN_THREE).states, 8'577'910u);
  EXPECT_EQ(run_spin(LEASEHOLD_SPIN_FOUR).states, 5'580'648u);
}

TEST(SmallProtocol, PlantedErrorsGiveShortestCounterexamples) {
  const auto early = explore({.bug = SmallProtocol::kTakesTooEarly});
  EXPECT_EQ(early.verdict, Verdict::violated);
  EXPECT_EQ(early.why, "mutex");
  EXPECT_EQ(early.story, (std::vector<std::string>{"acquire", "tick", "tick", "acquire"}));
  const auto every = explore({.bug = SmallProtocol::kAcceptsEveryToken});
  EXPECT_EQ(every.why, "fence");
  EXPECT_EQ(every.story.back(), "latewrite");
}

TEST(Explorer, StopsWhenAskedAndSaysUnknown) {
  const SmallProtocol protocol;
  model::ExploreOptions options;
  options.stop = [] { return true; };
  const auto stopped = model::Explorer<SmallProtocol>(protocol, options).run();
  EXPECT_EQ(stopped.verdict, Verdict::unknown);
  EXPECT_EQ(stopped.why, "interrupted");
  options.stop = nullptr;
  options.max_states = 1'000;
  EXPECT_EQ(model::Explorer<SmallProtocol>(protocol, options).run().verdict, Verdict::unknown);
}

}  // namespace
}  // namespace leasehold::bench

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
  EXPECT_EQ(run_spin(LEASEHOLD_SPIN_THREE, 24).states, 8'577'910u);
  EXPECT_EQ(run_spin(LEASEHOLD_SPIN_FOUR, 23).states, 5'580'648u);
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

/// Whatever the threads, and whether the tables grow or not: also a counterexample is the same one.
TEST(Explorer, FindsTheSameWithAnyNumberOfThreadsAndAnyTable) {
  for (const auto bug : {SmallProtocol::kNone, SmallProtocol::kAcceptsEveryToken}) {
    const SmallProtocol protocol{.last_tick = 6, .last_token = 4, .bug = bug};
    const auto alone = explore(protocol);
    for (const unsigned threads : {1u, 2u, 5u}) {
      const model::ExploreOptions options{.threads = threads, .slots = 1u << (24 - 4 * threads)};
      const auto found = model::Explorer<SmallProtocol>(protocol, options).run();
      EXPECT_EQ(found.verdict, alone.verdict);
      EXPECT_EQ(found.states, alone.states);
      EXPECT_EQ(found.transitions, alone.transitions);
      EXPECT_EQ(found.depth, alone.depth);
      EXPECT_EQ(found.story, alone.story);
    }
  }
}

/// States are words and nothing else: that of zeros and that of ones are two like any others.
TEST(Explorer, KnowsStatesOfZerosAndOfOnes) {
  model::StateShard<1> shard(64);
  for (const std::uint64_t word : {std::uint64_t{0}, ~std::uint64_t{0}}) {
    const model::PackedState<1> state{word};
    EXPECT_TRUE(shard.insert(state, model::hash_of(state), 0));
    EXPECT_FALSE(shard.insert(state, model::hash_of(state), 0));
  }
  EXPECT_EQ(shard.size(), 2u);
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

/// A model that cannot go on ends the exploration, on whichever thread it was.
TEST(Crew, ThrowsWhatATaskThrew) {
  model::Crew crew(3);
  std::atomic<int> done = 0;
  EXPECT_THROW(crew.each(8,
                         [&](unsigned i) {
                           if (i == 5) throw std::length_error("five");
                           ++done;
                         }),
               std::length_error);
  done = 0;
  crew.each(8, [&](unsigned) { ++done; });
  EXPECT_EQ(done, 8);
}

}  // namespace
}  // namespace leasehold::bench

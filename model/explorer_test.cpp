#include "model/explorer.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>

#include "model/lock_system.hpp"

namespace leasehold::model {
namespace {

/// Four counters, each of which goes from 0 to `last` in steps of one. How many states and steps it
/// has, and how far they are from the first, is known without a search.
struct Counters {
  using State = PackedState<2>;  // two counters a word
  using Action = std::uint8_t;
  std::uint64_t last = 9;
  std::uint64_t broken_at = ~std::uint64_t{0};  ///< a sum that must not be reached

  static std::uint64_t count(const State& s, unsigned i) {
    return s[i / 2] >> 32 * (i % 2) & 0xFFFF;
  }
  template <typename Emit>
  void initial(Emit emit) const {
    emit(State{});
  }
  template <typename Emit>
  void successors(const State& from, Emit emit) const {
    for (unsigned i = 0; i < 4; ++i) {
      if (count(from, i) == last) continue;
      State to = from;
      to[i / 2] += std::uint64_t{1} << 32 * (i % 2);
      emit(to, static_cast<Action>(i));
    }
  }
  [[nodiscard]] Judgement judge(const State& state) const {
    const auto sum = count(state, 0) + count(state, 1) + count(state, 2) + count(state, 3);
    return {.broken = sum == broken_at ? "sum" : nullptr, .reached = sum == last ? 1u : 0u};
  }
  [[nodiscard]] static std::vector<std::string> story(const std::vector<State>& path) {
    std::vector<std::string> lines;
    for (const State& s : path) {
      lines.push_back(std::to_string(count(s, 0)) + std::to_string(count(s, 1)) +
                      std::to_string(count(s, 2)) + std::to_string(count(s, 3)));
    }
    return lines;
  }
};

TEST(Explorer, CountsWhatIsKnownWithoutASearch) {
  const auto found = Explorer<Counters>(Counters{.last = 15}).run();
  EXPECT_EQ(found.verdict, Verdict::holds) << found.why;
  EXPECT_EQ(found.states, 16u * 16 * 16 * 16);
  EXPECT_EQ(found.transitions, 4u * 15 * 16 * 16 * 16);
  EXPECT_EQ(found.depth, 4u * 15 + 1);
  EXPECT_EQ(found.reached, 1u);
}

TEST(Explorer, ACounterexampleIsAShortestOne) {
  const auto found = Explorer<Counters>(Counters{.broken_at = 7}).run();
  EXPECT_EQ(found.verdict, Verdict::violated);
  EXPECT_EQ(found.why, "sum");
  ASSERT_EQ(found.story.size(), 8u);  // the first state and seven steps
  EXPECT_EQ(found.story.front(), "0000");
}

/// Whatever the threads, and whether the tables grow or not: also a counterexample is the same one.
TEST(Explorer, FindsTheSameWithAnyNumberOfThreadsAndAnyTable) {
  for (const auto broken_at : {~std::uint64_t{0}, std::uint64_t{20}}) {
    const Counters counters{.last = 12, .broken_at = broken_at};
    const auto alone = Explorer<Counters>(counters).run();
    for (const unsigned threads : {1u, 2u, 5u}) {
      const ExploreOptions options{.threads = threads, .slots = 1u << (18 - 2 * threads)};
      const auto found = Explorer<Counters>(counters, options).run();
      EXPECT_EQ(found.verdict, alone.verdict);
      EXPECT_EQ(found.states, alone.states);
      EXPECT_EQ(found.transitions, alone.transitions);
      EXPECT_EQ(found.depth, alone.depth);
      EXPECT_EQ(found.story, alone.story);
    }
  }
}

/// The lock's steps are asked of several threads at once.
TEST(Explorer, FindsTheSameOfTheLockWithTwoThreads) {
  Scope calm;
  calm.losses = calm.crashes = calm.ttl_passes = calm.failovers = calm.late_starts = false;
  const LockSystem system(calm);
  const auto alone = Explorer<LockSystem>(system).run();
  const auto two = Explorer<LockSystem>(system, {.threads = 2}).run();
  EXPECT_EQ(alone.verdict, Verdict::holds) << alone.why;
  EXPECT_GT(alone.states, 100'000u);
  EXPECT_EQ(two.verdict, Verdict::holds) << two.why;
  EXPECT_EQ(two.states, alone.states);
  EXPECT_EQ(two.transitions, alone.transitions);
}

/// States are words and nothing else: that of zeros and that of ones are two like any others.
TEST(Explorer, KnowsStatesOfZerosAndOfOnes) {
  StateShard<1> shard(64);
  for (const std::uint64_t word : {std::uint64_t{0}, ~std::uint64_t{0}}) {
    const PackedState<1> state{word};
    EXPECT_TRUE(shard.insert(state, hash_of(state), 0));
    EXPECT_FALSE(shard.insert(state, hash_of(state), 0));
  }
  EXPECT_EQ(shard.size(), 2u);
}

TEST(Explorer, StopsWhenAskedAndSaysUnknown) {
  const Counters counters{.last = 20};  // more states than are explored between two questions
  ExploreOptions options;
  options.stop = [] { return true; };
  const auto stopped = Explorer<Counters>(counters, options).run();
  EXPECT_EQ(stopped.verdict, Verdict::unknown);
  EXPECT_EQ(stopped.why, "interrupted");
  options.stop = nullptr;
  options.max_states = 1'000;
  const auto full = Explorer<Counters>(counters, options).run();
  EXPECT_EQ(full.verdict, Verdict::unknown);
  EXPECT_EQ(full.why.find("more than 1000 states"), 0u);
}

/// A model that cannot go on ends the exploration, on whichever thread it was.
TEST(Crew, ThrowsWhatATaskThrew) {
  Crew crew(3);
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
}  // namespace leasehold::model

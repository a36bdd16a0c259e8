#include "model/explore/explorer.hpp"

#include <gtest/gtest.h>

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

/// Also once the table has grown.
TEST(Explorer, FindsEachStateAgain) {
  const Counters counters{.last = 13};
  Explorer<Counters> explorer(counters);
  const auto found = explorer.run();
  ASSERT_EQ(explorer.size(), found.states);
  for (std::uint64_t i = 0; i < explorer.size(); ++i) {
    ASSERT_EQ(explorer.find(explorer.state(i)), i);
  }
}

/// States are words and nothing else: that of zeros and that of ones are two like any others.
struct ZerosAndOnes {
  using State = PackedState<1>;
  using Action = std::uint8_t;
  template <typename Emit>
  void initial(Emit emit) const {
    emit(State{0});
  }
  template <typename Emit>
  void successors(const State& from, Emit emit) const {
    emit(State{~from[0]}, Action{});
    emit(from, Action{});
  }
  [[nodiscard]] static Judgement judge(const State&) { return {}; }
  [[nodiscard]] static std::vector<std::string> story(const std::vector<State>&) { return {}; }
};
TEST(Explorer, KnowsStatesOfZerosAndOfOnes) {
  const auto found = Explorer<ZerosAndOnes>(ZerosAndOnes{}).run();
  EXPECT_EQ(found.states, 2u);
  EXPECT_EQ(found.transitions, 4u);
  EXPECT_EQ(found.depth, 2u);
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

}  // namespace
}  // namespace leasehold::model

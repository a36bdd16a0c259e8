#include "model/spec/exploration.hpp"

#include <gtest/gtest.h>

#include <array>
#include <numeric>

namespace leasehold::model {
namespace {

/// Four counters, each of which goes from 0 to `last` in steps of one. How many states and steps it
/// has, and how far they are from the first, is known without a search.
struct Counters {
  using State = std::array<std::uint8_t, 4>;
  int last = 9;
  int broken_at = -1;  ///< a sum that must not be reached

  [[nodiscard]] static State initial() { return {}; }
  void successors(const State& from, std::vector<State>& out) const {
    for (std::size_t i = 0; i < from.size(); ++i) {
      if (from[i] == last) continue;
      out.push_back(from);
      ++out.back()[i];
    }
  }
  [[nodiscard]] Judgement judge(const State& state) const {
    const int sum = std::accumulate(state.begin(), state.end(), 0);
    return {.broken = sum == broken_at ? "sum" : nullptr, .reached = sum == last ? 1u : 0u};
  }
};

TEST(Explorer, CountsWhatIsKnownWithoutASearch) {
  const Counters counters{.last = 15};
  const auto found = Explorer<Counters>(counters).run();
  EXPECT_EQ(found.verdict, Verdict::holds) << found.why;
  EXPECT_EQ(found.states, 16u * 16 * 16 * 16);
  EXPECT_EQ(found.transitions, 4u * 15 * 16 * 16 * 16);
  EXPECT_EQ(found.depth, 4u * 15 + 1);
  EXPECT_EQ(found.reached, 1u);
}

TEST(Explorer, ACounterexampleIsAShortestOne) {
  const Counters counters{.broken_at = 7};
  Explorer<Counters> explorer(counters);
  const auto found = explorer.run();
  EXPECT_EQ(found.verdict, Verdict::violated);
  EXPECT_EQ(found.why, "sum");
  const auto path = explorer.path_to(explorer.size() - 1);
  ASSERT_EQ(path.size(), 8u);  // the first state and seven steps
  EXPECT_EQ(path.front(), Counters::initial());
  std::vector<Counters::State> next;
  for (std::size_t i = 1; i < path.size(); ++i) {
    next.clear();
    counters.successors(path[i - 1], next);
    EXPECT_NE(std::find(next.begin(), next.end(), path[i]), next.end()) << "step " << i;
  }
}

TEST(Explorer, FindsEachStateAgain) {
  const Counters counters{.last = 13};
  Explorer<Counters> explorer(counters);
  const auto found = explorer.run();
  ASSERT_EQ(explorer.size(), found.states);
  for (std::uint64_t i = 0; i < explorer.size(); ++i) {
    ASSERT_EQ(explorer.find(explorer.state(i)), i);
  }
}

TEST(Explorer, StopsWhenAskedAndSaysUnknown) {
  const Counters counters{.last = 20};  // more states than are explored between two questions
  ExploreOptions options;
  options.goes_on = [](const Exploration&) { return false; };
  const auto stopped = Explorer<Counters>(counters, options).run();
  EXPECT_EQ(stopped.verdict, Verdict::unknown);
  EXPECT_EQ(stopped.why, "interrupted");
  options.goes_on = nullptr;
  options.max_states = 1'000;
  const auto full = Explorer<Counters>(counters, options).run();
  EXPECT_EQ(full.verdict, Verdict::unknown);
  EXPECT_EQ(full.why.find("more than 1000 states"), 0u);
}

}  // namespace
}  // namespace leasehold::model

#include "model/spec/exploration.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <set>

#include "model/spec/lock.hpp"

namespace leasehold::model {
namespace {

/// Four counters, each of which goes from 0 to `last` in steps of one. How many states and steps it
/// has, and how far they are from the first, is known without a search.
struct Counters {
  using State = std::array<std::uint8_t, 4>;
  int last = 9;

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
    return {.reached = sum == last ? 1u : 0u};
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

TEST(Explorer, StopsWhenAskedAndSaysUnknown) {
  const Counters counters{.last = 20};  // more states than are explored between two questions
  ExploreOptions options;
  options.goes_on = [](const Exploration&) { return false; };
  const auto stopped = Explorer<Counters>(counters, options).run();
  EXPECT_EQ(stopped.verdict, Verdict::unknown);
  EXPECT_EQ(stopped.why, "interrupted");
}

using namespace lock_world;

/// Every world within five steps, with all faults.
std::set<World> first_worlds(const Scope& scope) {
  std::set<World> all{World{}}, last = all;
  for (int n = 0; n < 5; ++n) {
    std::set<World> next;
    for (const World& world : last) {
      std::vector<LockAction> possible;
      Labels labels;
      actions(world, scope, possible);
      for (const LockAction action : possible) next.insert(step(world, action, scope, labels));
    }
    all.insert(next.begin(), next.end());
    last = std::move(next);
  }
  return all;
}

void expect_one_world_of_all_names(const Scope& scope, std::size_t orders) {
  const auto worlds = first_worlds(scope);
  std::set<World> canonicals;
  for (const World& world : worlds) {
    const World least = canonical(world, scope);
    canonicals.insert(least);
    ASSERT_EQ(canonical(least, scope), least);
    Order order{0, 1, 2};
    do {
      if (scope.readers == 2 && order[2] != 2) continue;  // that would be a reader's name
      ASSERT_EQ(canonical(arranged(world, order), scope), least);
    } while (std::next_permutation(order.begin(), order.end()));
  }
  // Some worlds have fewer orders of their clients, others differ in what no step depends on.
  EXPECT_LE(canonicals.size() * orders * 2 / 3, worlds.size());
}

TEST(CanonicalWorld, IsTheSameWhateverTheClientsAreCalled) {
  expect_one_world_of_all_names({.clients = 3, .hand_overs = true, .queue = 2}, 6);
  expect_one_world_of_all_names({.clients = 3, .readers = 2, .hand_overs = true, .queue = 2}, 2);
}

}  // namespace
}  // namespace leasehold::model

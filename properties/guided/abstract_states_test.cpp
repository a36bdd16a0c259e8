#include "properties/guided/abstract_states.hpp"

#include <gtest/gtest.h>

#include "properties/simulate.hpp"

namespace leasehold::properties {
namespace {

using model::Event;
using model::Kind;

Event event(Kind kind, const std::string& process, std::int64_t session) {
  Event e;
  e.kind = kind;
  e.process = process;
  e.session = session;
  e.name = "lock-0";
  e.owner = process + "#" + std::to_string(session);
  return e;
}

TEST(AbstractStates, WhoTheyAreMakesNoDifference) {
  const auto of = [](const std::string& process, std::int64_t session) {
    return AbstractStates::of(
        {event(Kind::ask, process, session), event(Kind::granted, process, session)});
  };
  EXPECT_EQ(of("p0.1", 1), of("p7.3", 9));
  EXPECT_EQ(of("p0.1", 1).size(), 2u);
}

TEST(AbstractStates, TwoThatHoldItAreAnotherState) {
  model::History one{event(Kind::granted, "p0.1", 1), event(Kind::granted, "p0.1", 1)};
  model::History two{event(Kind::granted, "p0.1", 1), event(Kind::granted, "p1.1", 1)};
  EXPECT_NE(AbstractStates::of(one), AbstractStates::of(two));
}

TEST(AbstractStates, ADocumentOfADeadProcessIsAnotherState) {
  const std::vector<Event> alive{event(Kind::send, "p0.1", 1), event(Kind::put, "", 0)};
  auto dead = alive;
  dead[1].owner = dead[0].owner;
  auto crashed = dead;
  crashed.insert(crashed.begin() + 1, event(Kind::crash, "p0.1", 0));
  EXPECT_NE(AbstractStates::of(dead), AbstractStates::of(crashed));
}

TEST(AbstractStates, AGeneratedRunGoesThroughManyAndTheSameEachTime) {
  const auto states = [] {
    return AbstractStates::of(simulate(draw_plan(1, PlanLimits())).run.history);
  };
  EXPECT_GT(states().size(), 50u);
  EXPECT_EQ(states(), states());
}

}  // namespace
}  // namespace leasehold::properties

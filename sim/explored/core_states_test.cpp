#include "sim/explored/core_states.hpp"

#include <gtest/gtest.h>

namespace leasehold::sim::explored {
namespace {

TEST(CoreStates, AWorldIsWhatItsWordsSay) {
  World w;
  w.actors = {7, 9};
  w.documents = 3;
  w.before = 2;
  w.before_writes = 198;
  w.tick = 10;
  w.writes = 200;
  w.granted = {199, 17};
  w.ahead = 1;
  w.broken = 8;
  w.fault_at = 9;
  w.written_at = 10;
  w.faults = 1u << 10 | 1;
  w.messages.push_back(5);
  const World back = CoreStates::unpack(CoreStates::pack(w));
  EXPECT_EQ(back.actors, w.actors);
  EXPECT_EQ(back.messages.numbers, w.messages.numbers);
  const auto numbers = [](const World& x) {
    return std::array{x.documents,  x.before,     x.before_writes, x.tick,
                      x.writes,     x.granted[0], x.granted[1],    x.ahead,
                      x.broken,     x.fault_at,   x.written_at,    x.faults};
  };
  EXPECT_EQ(numbers(back), numbers(w));
}

TEST(CoreStates, MessagesOnTheirWayHaveNoOrder) {
  World one, other;
  for (const auto number : {4u, 2u, 8u}) one.messages.push_back(number);
  for (const auto number : {8u, 4u, 2u}) other.messages.push_back(number);
  EXPECT_EQ(CoreStates::pack(one), CoreStates::pack(other));
}

TEST(CoreStates, WhatIsEqualHasOneNumber) {
  CoreStates states;
  Actor asking;
  asking.users[0].asks_left = 1;
  const auto idle = states.keep(Actor());
  EXPECT_NE(states.keep(asking), idle);
  EXPECT_EQ(states.keep(Actor()), idle);
  EXPECT_EQ(states.keep(Documents()), 0u);
}

TEST(CoreStates, ASeventhMessageIsRefused) {
  World w;
  for (std::uint32_t i = 1; i <= kMaxMessages; ++i) w.messages.push_back(i);
  EXPECT_THROW(w.messages.push_back(7), std::length_error);
}

}  // namespace
}  // namespace leasehold::sim::explored

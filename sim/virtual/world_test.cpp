#include "sim/virtual/world.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <stdexcept>

#include "sim/virtual/event_queue.hpp"

namespace leasehold::sim::simulated {
namespace {

/// Without this order equal plans would not give equal runs.
TEST(EventQueue, RunsByTimeThenByAsking) {
  EventQueue queue;
  std::string order;
  queue.at(20, [&] { order += 'c'; });
  queue.at(10, [&] {
    order += 'a';
    queue.at(5, [&] { order += 'b'; });  // the past is now
  });
  queue.at(20, [&] { order += 'd'; });
  while (queue.step()) {
  }
  EXPECT_EQ(order, "abcd");
  EXPECT_EQ(queue.now(), 20);
}

TEST(EventQueue, TimeThatStandsStillIsAnError) {
  EventQueue queue;
  std::function<void()> again = [&] { queue.after(0, again); };
  queue.at(5, again);
  EXPECT_THROW(while (queue.step()) {}, std::runtime_error);
}

TEST(World, NamesTheFirstEventThatDiffers) {
  const model::History once(100, model::Event{.at_ns = 1});
  auto leaked = once;
  leaked[50].at_ns += 1;  // as if a real clock had been asked
  EXPECT_NE(first_difference(once, leaked).find("line 51: "), std::string::npos);
  leaked = once;
  leaked.pop_back();
  EXPECT_NE(first_difference(once, leaked).find("ends"), std::string::npos);
}

}  // namespace
}  // namespace leasehold::sim::simulated

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

Plan small_plan() {
  Plan plan;
  plan.seed = 3;
  plan.faulty_ms = 2'000;
  plan.processes.resize(3);
  plan.processes[1].drift_ppm = 3'000;
  plan.processes[2].callers = 3;
  plan.processes[2].waiting = Waiting::adaptive;
  plan.faults.push_back({FaultPlan::Kind::crash, 500, 0, 1, 0});
  plan.faults.push_back({FaultPlan::Kind::step_up, 900, 0, 1, 0});
  return plan;
}

TEST(World, NamesTheFirstEventThatDiffers) {
  const auto once = run(small_plan()).history;
  auto leaked = once;
  leaked[100].at_ns += 1;  // as if a real clock had been asked
  EXPECT_NE(first_difference(once, leaked).find("line 101: "), std::string::npos);
  leaked = once;
  leaked.pop_back();
  EXPECT_NE(first_difference(once, leaked).find("ends"), std::string::npos);
}

}  // namespace
}  // namespace leasehold::sim::simulated

#include "runtime/later_calls.hpp"

#include <gtest/gtest.h>

#include <future>

#include "runtime/testing/runtime_parts.hpp"

namespace leasehold::runtime {
namespace {

struct LaterCallsWorld : RuntimeParts {
  LaterCallsWorld() {
    on_due = [this](core::Timer timer) { calls.due(timer.id); };
  }
  ~LaterCallsWorld() { stop(); }

  LaterCalls calls{timers, callbacks};
};

TEST(LaterCalls, AreCalledOnceInTheOrderOfTheirTimes) {
  LaterCallsWorld w;
  std::vector<int> called;
  const auto both = std::make_shared<std::promise<void>>();
  const auto now = w.clock->now();
  w.calls.add(now + milliseconds(30), [&called, both] {
    called.push_back(2);
    both->set_value();
  });
  w.calls.add(now, [&called] { called.push_back(1); });
  both->get_future().get();
  EXPECT_EQ(called, (std::vector<int>{1, 2}));
}

TEST(LaterCalls, OneThatIsForgottenIsDestroyedAndNotCalled) {
  LaterCallsWorld w;
  const auto owned = std::make_shared<int>(0);
  const auto call =
      w.calls.add(w.clock->now() + std::chrono::hours(1), [owned] { ++*owned; });
  EXPECT_NE(call, 0u);
  w.calls.forget(call);
  w.calls.due(call);  // its timer was on its way
  w.stop();
  EXPECT_EQ(*owned, 0);
  EXPECT_EQ(owned.use_count(), 1);
}

}  // namespace
}  // namespace leasehold::runtime

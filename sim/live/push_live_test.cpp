#include <functional>
#include <future>

#include "sim/live/live_test.hpp"

namespace leasehold::sim::live {
namespace {

/// A call that waits by a change stream, for a lock that another provider holds.
class PushedWaiter {
 public:
  PushedWaiter() : database_(fresh_database()), holder_(database_), waiter_(database_) {}

  /// How long after the release the waiter had the lock; it polls every minute.
  milliseconds wait_through(const std::function<void(const CountedProvider& waiter)>& disturb) {
    auto held = std::move(holder_.lock("n", milliseconds(60'000)).acquire()).value();
    LockOptions options;
    options.expiry = seconds(60);
    options.waiting = push_waiting(seconds(60));
    const auto lock = std::move(waiter_.provider.create_lock("n", options)).value();
    auto got = std::async(std::launch::async, [&lock] { return lock.try_acquire(seconds(30)); });
    const int steps = waiter_.sent("getMore");
    EXPECT_TRUE(eventually([&] { return waiter_.sent("getMore") > steps; }));
    disturb(waiter_);
    Stopwatch since;
    EXPECT_EQ(held.release(), ReleaseResult::released);
    EXPECT_TRUE(got.get());
    return since.elapsed();
  }

 private:
  const std::string database_;
  CountedProvider holder_, waiter_;
};

TEST(LivePush, AReleaseWakesAWaiterOfAnotherProcessAtOnce) {
  PushedWaiter pushed;
  const auto after = pushed.wait_through([](const CountedProvider&) {});
  std::cout << "woken after " << after.count() << " ms" << std::endl;
  EXPECT_LT(after, seconds(5)) << "not by its poll";
}

TEST(LivePush, AKilledStreamIsReplacedAndNoReleaseIsMissed) {
  PushedWaiter pushed;
  const auto after = pushed.wait_through([](const CountedProvider& waiter) {
    MongoClient admin(shared_set().uri());
    const int opened = waiter.sent("aggregate");
    admin.must("admin", {{"killAllSessionsByPattern", Json::array({Json::object()})}});
    EXPECT_TRUE(eventually([&] { return waiter.sent("aggregate") > opened; }));
  });
  EXPECT_LT(after, seconds(5));
}

TEST(LivePush, AFailoverEndsTheStreamAndNoReleaseIsMissed) {
  PushedWaiter pushed;
  const auto after = pushed.wait_through([](const CountedProvider& waiter) {
    const int opened = waiter.sent("aggregate");
    const int primary = shared_set().primary();
    shared_set().step_up((primary + 1) % shared_set().size());
    EXPECT_TRUE(eventually([&] { return waiter.sent("aggregate") > opened; }));
  });
  EXPECT_LT(after, seconds(10));
}

}  // namespace
}  // namespace leasehold::sim::live

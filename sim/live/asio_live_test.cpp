// clang-format off
#include <utility>  // before the next, which forgets it in Boost 1.74
#include <boost/asio/awaitable.hpp>
// clang-format on
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <leasehold/asio.hpp>

#include "sim/live/live_test.hpp"

namespace leasehold::sim::live {
namespace {

TEST(LiveAsio, ACallbackRunsOnItsExecutorAndAFutureHasTheResult) {
  const CountedProvider p(fresh_database());
  const auto lock = p.lock("n", milliseconds(30'000));
  boost::asio::thread_pool pool(1);
  std::promise<std::thread::id> ran_on;
  async_acquire(lock, milliseconds(5'000),
                boost::asio::bind_executor(pool, [&ran_on](Result<LockHandle> handle) {
                  EXPECT_TRUE(handle);
                  ran_on.set_value(std::this_thread::get_id());
                }));
  const auto other = ran_on.get_future().get();
  std::promise<std::thread::id> pool_thread;
  boost::asio::post(pool, [&] { pool_thread.set_value(std::this_thread::get_id()); });
  EXPECT_EQ(other, pool_thread.get_future().get());
  auto held = async_acquire(lock, milliseconds(5'000), boost::asio::use_future).get();
  EXPECT_TRUE(held);
  const auto refused = async_acquire(lock, milliseconds(0), boost::asio::use_future).get();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::refused);
}

boost::asio::awaitable<void> hold_once(Lock lock, std::atomic<int>& inside,
                                       std::atomic<int>& held) {
  auto handle = co_await async_acquire(lock, seconds(120), boost::asio::use_awaitable);
  EXPECT_TRUE(handle);
  EXPECT_EQ(++inside, 1) << "nobody else holds this lock";
  ++held;
  --inside;
}

TEST(LiveAsio, AThousandWaitingAcquiresNeedFourThreads) {
  constexpr int kLocks = 20, kEach = 50;
  const CountedProvider p(fresh_database());
  std::vector<std::atomic<int>> inside(kLocks);
  std::atomic<int> held = 0;
  boost::asio::thread_pool pool(4);
  for (int i = 0; i < kLocks * kEach; ++i) {
    const int which = i % kLocks;
    const auto lock = p.lock("n" + std::to_string(which), milliseconds(30'000));
    boost::asio::co_spawn(pool, hold_once(lock, inside[static_cast<std::size_t>(which)], held),
                          boost::asio::detached);
  }
  pool.join();
  EXPECT_EQ(held, kLocks * kEach);
}

}  // namespace
}  // namespace leasehold::sim::live

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

/// Where what a handler owns was destroyed, of many handlers.
class Graves {
 public:
  /// Something for a handler to own.
  std::shared_ptr<void> owned() {
    return {nullptr, [this](void*) {
              const std::lock_guard lock(mutex_);
              threads_.push_back(std::this_thread::get_id());
            }};
  }
  [[nodiscard]] std::ptrdiff_t on(std::thread::id thread) const {
    const std::lock_guard lock(mutex_);
    return std::count(threads_.begin(), threads_.end(), thread);
  }
  [[nodiscard]] std::size_t all() const {
    const std::lock_guard lock(mutex_);
    return threads_.size();
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::thread::id> threads_;
};

std::thread::id thread_of(boost::asio::thread_pool& pool) {
  std::promise<std::thread::id> id;
  boost::asio::post(pool, [&id] { id.set_value(std::this_thread::get_id()); });
  return id.get_future().get();
}

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
  EXPECT_EQ(other, thread_of(pool));
  auto held = async_acquire(lock, milliseconds(5'000), boost::asio::use_future).get();
  EXPECT_TRUE(held);
  const auto refused = async_acquire(lock, milliseconds(0), boost::asio::use_future).get();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::refused);
}

TEST(LiveAsio, AHandlerIsDestroyedOnItsExecutor) {
  constexpr int kRounds = 300;
  const CountedProvider p(fresh_database());
  const auto lock = p.lock("n", milliseconds(30'000));
  Graves graves;
  boost::asio::thread_pool pool(1);
  const auto executors = thread_of(pool);
  for (int i = 0; i < kRounds; ++i) {
    std::promise<void> called;
    async_acquire(lock, milliseconds(0),
                  boost::asio::bind_executor(
                      pool, [owned = graves.owned(), &called](const Result<LockHandle>&) {
                        called.set_value();
                      }));
    called.get_future().get();
  }
  EXPECT_TRUE(eventually([&] { return graves.all() == kRounds; }));
  EXPECT_EQ(graves.on(executors), kRounds) << "the rest on threads of the provider";
}

TEST(LiveAsio, AHandlerThatNobodyCallsIsDestroyedOnItsExecutorToo) {
  Graves graves;
  boost::asio::thread_pool pool(1);
  const auto executors = thread_of(pool);
  {
    auto handler = boost::asio::bind_executor(
        pool, [owned = graves.owned()](const Result<LockHandle>&) { FAIL() << "called"; });
    const detail::HandlerUnderway<decltype(handler)> dropped(std::move(handler));
  }
  pool.join();
  EXPECT_EQ(graves.all(), 1u);
  EXPECT_EQ(graves.on(executors), 1);
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

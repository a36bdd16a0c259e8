#include <fcntl.h>
#include <unistd.h>

// clang-format off
#include <utility>  // before the next, which forgets it in Boost 1.74
#include <boost/asio/awaitable.hpp>
// clang-format on
#include <algorithm>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <iostream>
#include <leasehold/asio.hpp>

#include "sim/live/live_test.hpp"
#include "sim/plan/random.hpp"

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
  [[nodiscard]] std::vector<std::thread::id> threads() const {
    const std::lock_guard lock(mutex_);
    return threads_;
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
  EXPECT_TRUE(eventually([&] { return graves.threads().size() == kRounds; }));
  EXPECT_EQ(std::ranges::count(graves.threads(), executors), kRounds)
      << "the rest on threads of the provider";
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
  EXPECT_EQ(graves.threads(), std::vector{executors});
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

// What a thread that serves many connections needs: no call of the library blocks it.

using std::chrono::nanoseconds;

constexpr milliseconds kLimit(5);

/// How long this thread has been off its processor although nobody else had taken it: the wall
/// clock less the time that it ran, and less the time that it was ready to.
class BlockedTime {
 public:
  BlockedTime() : file_(open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC)) {}
  ~BlockedTime() { close(file_); }
  BlockedTime(const BlockedTime&) = delete;
  BlockedTime& operator=(const BlockedTime&) = delete;

  [[nodiscard]] bool readable() const { return file_ >= 0; }
  [[nodiscard]] nanoseconds now() const {
    return clock(CLOCK_MONOTONIC) - clock(CLOCK_THREAD_CPUTIME_ID) - ready();
  }

 private:
  static nanoseconds clock(clockid_t id) {
    timespec time{};
    clock_gettime(id, &time);
    return seconds(time.tv_sec) + nanoseconds(time.tv_nsec);
  }
  [[nodiscard]] nanoseconds ready() const {
    char text[100] = {};
    long long ran = 0, ready = 0;
    if (pread(file_, text, sizeof text - 1, 0) > 0) std::sscanf(text, "%lld %lld", &ran, &ready);
    return nanoseconds(ready);
  }

  const int file_;
};

/// An I/O thread of one's own, and the longest that a call of the library kept it.
class IoThread {
 public:
  boost::asio::io_context io;

  /// REQUIRES: on the thread.
  template <typename Call>
  void measure(Call call) {
    static thread_local const BlockedTime blocked;
    ASSERT_TRUE(blocked.readable());
    const auto blocked_before = blocked.now();
    call();
    const auto off = blocked.now() - blocked_before;
    longest_ = std::max(longest_, off);
    if (off > kLimit) ++too_long_;
    ++calls_;
  }

  /// Runs what was posted, and what that posts, to its end.
  void run() {
    std::jthread thread([this] { io.run(); });
  }

  /// A step of the core takes microseconds, but on a machine that is busy with other things a
  /// thread may lose its processor within one, and the next has to wait for its lock. A call that
  /// waited for a server would be too long each time, so one in twenty is none.
  void expect_never_blocked() const {
    std::cout << calls_ << " calls, " << too_long_ << " blocked for over " << kLimit.count()
              << " ms; the longest " << longest_.count() / 1'000 << " us" << std::endl;
    EXPECT_LE(too_long_, calls_ / 20);
  }

 private:
  nanoseconds longest_{0};
  int calls_ = 0, too_long_ = 0;
};

/// Acquires that are cancelled at a random moment each, so many at a time.
class Cancelled {
 public:
  Cancelled(IoThread& thread, std::vector<Lock> locks, int count)
      : thread_(thread), locks_(std::move(locks)), left_(count) {}

  /// REQUIRES: on the thread, or before it runs.
  void next() {
    if (left_ == 0) return;
    const auto& lock = locks_[static_cast<std::size_t>(left_--) % locks_.size()];
    const auto stop = std::make_shared<std::stop_source>();
    const auto timer = std::make_shared<boost::asio::steady_timer>(thread_.io);
    const auto moment = std::chrono::microseconds(random_.between(0, longest_us_));
    timer->expires_after(moment);
    timer->async_wait([this, stop, timer](const boost::system::error_code&) {
      thread_.measure([&] { stop->request_stop(); });
    });
    thread_.measure([&] {
      async_acquire(lock, seconds(60), stop->get_token(),
                    boost::asio::bind_executor(
                        thread_.io, [this](Result<LockHandle> got) { answered(std::move(got)); }));
    });
  }

  int cancelled = 0, held = 0, released = 0, other = 0;

 private:
  /// Every second handle is released, the others are destroyed.
  void answered(Result<LockHandle> got) {
    if (got && ++held % 2 == 0) {
      thread_.measure([&] {
        async_release(std::move(*got),
                      boost::asio::bind_executor(thread_.io, [this](ReleaseResult found) {
                        if (found == ReleaseResult::released) ++released;
                      }));
      });
    } else if (!got) {
      ++(got.error().kind == ErrorKind::cancelled ? cancelled : other);
    }
    thread_.measure([&] { got = Error{}; });
    adapt();
    next();
  }

  /// So that on any machine some win before they are cancelled, and some do not.
  void adapt() {
    constexpr int kEach = 50, kRare = 5;
    constexpr int kShortest_us = 1'000, kLongest_us = 2'000'000;
    if ((cancelled + held) % kEach != 0) return;
    if (held * kRare < cancelled) longest_us_ = std::min(longest_us_ * 2, kLongest_us);
    if (cancelled * kRare < held) longest_us_ = std::max(longest_us_ / 2, kShortest_us);
  }

  IoThread& thread_;
  const std::vector<Lock> locks_;
  int left_;
  int longest_us_ = 80'000;  ///< until the moment of a cancellation
  Random random_{1};
};

TEST(LiveIoThread, AThousandAcquiresCancelledAtAnyMomentNeverBlockIt) {
  constexpr int kCalls = 1'000, kAtOnce = 16, kLocks = 8;
  const auto database = fresh_database();
  const CountedProvider mine(database), others(database);
  std::vector<Lock> locks;
  for (int i = 0; i < kLocks; ++i) {
    locks.push_back(mine.lock("n" + std::to_string(i), milliseconds(30'000)));
  }
  // Others hold the locks again and again, so that calls wait, try, win and hand over.
  std::jthread rival([&others](const std::stop_token& stop) {
    for (int i = 0; !stop.stop_requested(); ++i) {
      const auto lock = others.lock("n" + std::to_string(i % kLocks), milliseconds(30'000));
      const auto handle = lock.try_acquire(milliseconds(50), stop);
      if (handle) std::this_thread::sleep_for(milliseconds(5));
    }
  });
  IoThread thread;
  Cancelled calls(thread, locks, kCalls);
  boost::asio::post(thread.io, [&calls] {
    for (int i = 0; i < kAtOnce; ++i) calls.next();
  });
  thread.run();
  rival = std::jthread();
  std::cout << calls.cancelled << " cancelled, " << calls.held << " held" << std::endl;
  EXPECT_EQ(calls.cancelled + calls.held, kCalls) << calls.other << " ended otherwise";
  EXPECT_GT(calls.cancelled, kCalls / 10);
  EXPECT_GT(calls.held, kCalls / 10);
  EXPECT_EQ(calls.released, calls.held / 2);
  thread.expect_never_blocked();
  EXPECT_TRUE(eventually([&] { return Documents(database).count() == 0; }))
      << "what is left is held";
}

/// A primary that does not answer holds up whoever waits for the answer of a release.
TEST(LiveIoThread, HandlesThatItDestroysWhileThePrimaryHangsNeverBlockIt) {
  constexpr int kHandles = 50;
  const auto database = fresh_database();
  const CountedProvider p(database);
  IoThread thread;
  std::vector<LockHandle> handles(kHandles);
  for (int i = 0; i < kHandles; ++i) {
    const auto lock = p.lock("n" + std::to_string(i), milliseconds(30'000));
    auto& handle = handles[static_cast<std::size_t>(i)];
    async_acquire(lock, seconds(20),
                  boost::asio::bind_executor(thread.io, [&handle](Result<LockHandle> got) {
                    ASSERT_TRUE(got) << got.error().message;
                    handle = std::move(*got);
                  }));
  }
  thread.run();
  const auto seen = p.provider.inspect("n7");
  ASSERT_TRUE(seen && seen->has_value()) << "as an operator sees it";
  EXPECT_EQ((*seen)->holder, "test");
  EXPECT_EQ((*seen)->lease, seconds(30));
  EXPECT_GT((*seen)->left, seconds(0));
  EXPECT_LE((*seen)->token_at_least, handles[7].fencing_token());
  const int primary = shared_set().primary();
  shared_set().stop({primary});
  boost::asio::post(thread.io, [&] {
    for (auto& handle : handles) thread.measure([&] { handle = LockHandle(); });
  });
  thread.io.restart();
  thread.run();
  shared_set().resume({primary});
  thread.expect_never_blocked();
  EXPECT_TRUE(eventually([&] { return Documents(database).count() == 0; }, seconds(30)));
  EXPECT_FALSE(p.provider.inspect("n7").value().has_value());
}

}  // namespace
}  // namespace leasehold::sim::live

#include <algorithm>
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <iostream>

#include "sim/live/live_test.hpp"

/// Far more calls for free locks than workers.
namespace leasehold::sim::live {
namespace {

/// One provider with four workers, and what it was granted.
class Caller {
 public:
  explicit Caller(const std::string& uri, LockOptions options = {})
      : options_(std::move(options)),
        provider_(std::move(LockProvider::connect(uri, {.database = fresh_database()})).value()) {}
  ~Caller() {
    for (auto& handle : handles_) handle.release_async();  // together, or each would be waited for
  }
  Caller(const Caller&) = delete;
  Caller& operator=(const Caller&) = delete;

  /// Asks for so many free locks, so many at a time. False: not all were granted in time.
  bool take(int count, int at_a_time, seconds limit = seconds(800)) {
    const auto until = std::chrono::steady_clock::now() + limit;
    std::unique_lock lock(mutex_);
    for (int asked = 0; asked < count; ++asked) {
      const auto room = [&] { return asked - answered() < at_a_time; };
      if (!changed_.wait_until(lock, until, room)) return false;
      lock.unlock();
      ask(asked, limit);
      lock.lock();
    }
    changed_.wait_until(lock, until, [&] { return answered() == count; });
    return granted() == count;
  }
  [[nodiscard]] int granted() const { return static_cast<int>(handles_.size()); }
  /// How many of those that were granted are lost; what is lost stays so.
  [[nodiscard]] int lost() {
    const std::lock_guard lock(mutex_);
    return static_cast<int>(std::count_if(handles_.begin(), handles_.end(),
                                          [](const LockHandle& h) { return !h.held(); }));
  }

 private:
  [[nodiscard]] int answered() const { return granted() + failed_; }
  void ask(int number, seconds timeout) {
    const auto lock = provider_.create_lock("n" + std::to_string(number), options_);
    lock->acquire_async(timeout, [this](Result<LockHandle> handle) {
      const std::lock_guard guard(mutex_);
      if (handle) {
        handles_.push_back(std::move(*handle));
      } else {
        ++failed_;
        ADD_FAILURE() << handle.error().message;
      }
      changed_.notify_all();
    });
  }

  const LockOptions options_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<LockHandle> handles_;
  int failed_ = 0;
  LockProvider provider_;
};

/// What waits is more than servers do within an operation timeout.
TEST(LiveFlow, ThreeThousandFreeLocksAtOnceAreAllGrantedAndNoneIsLost) {
  LockOptions options{.operation_timeout = milliseconds(1'000)};
  Caller caller(shared_set().uri(), options);
  EXPECT_TRUE(caller.take(3'000, 3'000));
  EXPECT_EQ(caller.lost(), 0);
}

int locks() {
  const char* wanted = std::getenv("LEASEHOLD_LOCKS");
  return wanted == nullptr ? 10'000 : std::atoi(wanted);
}

/// The lease grows with the number of locks, so that extensions leave the servers time for grants:
/// all the locks together want 500 extensions a second.
LockOptions options_for_many() {
  LockOptions options;
  options.expiry = std::max<milliseconds>(options.expiry, milliseconds(6) * locks());
  return options;
}

/// Goodput, granted a second, until all are held.
double granted_per_s(Caller& caller, int at_a_time) {
  const Stopwatch watch;
  EXPECT_TRUE(caller.take(locks(), at_a_time));
  const double rate = locks() * 1e3 / static_cast<double>(watch.elapsed().count());
  const int lost = caller.lost();
  std::cout << locks() << " free locks, " << at_a_time << " at a time: " << rate
            << " granted a second, " << lost << " lost\n";
  EXPECT_EQ(lost, 0);
  return rate;
}

/// Each on a set of its own, which has no other locks to extend.
TEST(LiveFlowDeep, AllAtOnceAreGrantedAtNoLessThanFourFifthsOfTheRateOfAFewAtATime) {
  const auto rate = [](int at_a_time) {
    ReplicaSet set;
    Caller caller(set.uri(), options_for_many());
    return granted_per_s(caller, at_a_time);
  };
  const auto of_few = rate(64);
  EXPECT_GE(rate(locks()), 0.8 * of_few);
}

TEST(LiveFlowDeep, ServersThatStopForFifteenSecondsCostNoLock) {
  ReplicaSet set;
  Caller caller(set.uri(), options_for_many());
  std::jthread stopper([&] {
    std::this_thread::sleep_for(seconds(5));
    for (int member = 0; member < set.size(); ++member) set.stop({member});
    std::this_thread::sleep_for(seconds(15));
    for (int member = 0; member < set.size(); ++member) set.resume({member});
  });
  granted_per_s(caller, locks());
  stopper.join();
  std::this_thread::sleep_for(seconds(20));  // a cadence and more after that
  EXPECT_EQ(caller.lost(), 0);
}

}  // namespace
}  // namespace leasehold::sim::live

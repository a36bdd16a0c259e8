#include <gtest/gtest.h>

#include <functional>
#include <stop_token>
#include <vector>

#include "runtime/threads/clock.hpp"
#include "sim/live/live_test.hpp"

namespace leasehold::sim::live::loss_live_test {
namespace {

constexpr int kLocks = 10;
constexpr milliseconds kLease{3'000};
constexpr milliseconds kSlowCallback{1'000};
constexpr milliseconds kLate{50};

/// What one handle's user sees of its loss, with a callback that takes its time.
class SlowUser {
 public:
  explicit SlowUser(LockHandle handle)
      : handle_(std::move(handle)), on_lost_(handle_.lost(), [this] {
          told_ns_ = now_ns();
          std::this_thread::sleep_for(kSlowCallback);
        }) {}

  void note_deadline() { deadline_ns_ = now_ns() + handle_.remaining().count(); }
  [[nodiscard]] bool notified() const { return told_ns_ != 0; }
  [[nodiscard]] milliseconds late() const {
    return std::chrono::duration_cast<milliseconds>(
        std::chrono::nanoseconds(told_ns_ - deadline_ns_));
  }

 private:
  [[nodiscard]] std::int64_t now_ns() const { return clock_->now().time_since_epoch().count(); }

  const std::shared_ptr<const runtime::Clock> clock_ = runtime::boottime_clock();
  LockHandle handle_;
  std::int64_t deadline_ns_ = 0;
  std::atomic<std::int64_t> told_ns_ = 0;
  std::stop_callback<std::function<void()>> on_lost_;
};

/// How late a thread that sleeps a millisecond at a time woke at worst: the machine's own share.
class Lateness {
 public:
  [[nodiscard]] milliseconds worst() const { return milliseconds(worst_ms_); }

 private:
  void measure(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      const Stopwatch slept;
      std::this_thread::sleep_for(milliseconds(1));
      worst_ms_ = std::max(worst_ms_.load(), slept.elapsed().count() - 1);
    }
  }

  std::atomic<std::int64_t> worst_ms_ = 0;
  std::jthread thread_{[this](const std::stop_token& stop) { measure(stop); }};
};

/// How late the last of ten holders heard that its lock was lost, when all members stopped at once.
milliseconds worst_of_an_outage() {
  ReplicaSet set;
  const CountedProvider provider(fresh_database(), "holder", set.uri());
  std::vector<std::unique_ptr<SlowUser>> users;
  for (int i = 0; i < kLocks; ++i) {
    const auto lock = provider.lock("lock-" + std::to_string(i), kLease);
    users.push_back(std::make_unique<SlowUser>(lock.try_acquire(seconds(5)).value()));
  }
  for (int i = 0; i < set.size(); ++i) set.stop({i});
  // An extension that was answered just before may still have to reach its handle.
  std::this_thread::sleep_for(milliseconds(200));
  for (const auto& user : users) user->note_deadline();
  const auto all_told = [&] {
    return std::all_of(users.begin(), users.end(),
                       [](const auto& user) { return user->notified(); });
  };
  EXPECT_TRUE(eventually(all_told, 2 * kLease));
  milliseconds worst(0);
  for (const auto& user : users) worst = std::max(worst, user->late());
  for (int i = 0; i < set.size(); ++i) set.resume({i});
  return worst;
}

/// One after the other they would be ten seconds late.
TEST(LiveLoss, TenLocksOfOneOutageAreToldAtTheirDeadlinesWhateverCallbacksDo) {
  const Lateness machine;
  const auto worst = worst_of_an_outage();
  std::cout << "the last of " << kLocks << " was notified " << worst.count()
            << " ms late; the machine woke others up to " << machine.worst().count()
            << " ms late\n";
  EXPECT_LE(worst, kLate + machine.worst());
}

}  // namespace
}  // namespace leasehold::sim::live::loss_live_test

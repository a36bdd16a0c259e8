#include <algorithm>
#include <condition_variable>
#include <deque>

#include "sim/live/live_test.hpp"

/// Far more calls for free locks than workers.
namespace leasehold::sim::live {
namespace {

/// What waits is more than servers do within an operation timeout.
TEST(LiveFlow, ThreeThousandFreeLocksAtOnceAreAllGrantedAndNoneIsLost) {
  constexpr std::size_t kLocks = 3'000;
  constexpr seconds kLimit(800);
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<LockHandle> handles;
  std::size_t failed = 0;
  // The last, because its end waits for the calls below.
  const auto provider =
      LockProvider::connect(shared_set().uri(), {.database = fresh_database()}).value();
  const LockOptions options{.operation_timeout = milliseconds(1'000)};
  for (std::size_t i = 0; i < kLocks; ++i) {
    const auto lock = provider.create_lock("n" + std::to_string(i), options);
    lock->acquire_async(kLimit, [&](Result<LockHandle> handle) {
      const std::lock_guard guard(mutex);
      if (handle) {
        handles.push_back(std::move(*handle));
      } else {
        ++failed;
        ADD_FAILURE() << handle.error().message;
      }
      changed.notify_all();
    });
  }
  std::unique_lock lock(mutex);
  EXPECT_TRUE(changed.wait_for(lock, kLimit, [&] { return handles.size() + failed == kLocks; }));
  EXPECT_EQ(handles.size(), kLocks);
  EXPECT_TRUE(std::all_of(handles.begin(), handles.end(), [](const auto& h) { return h.held(); }));
  for (auto& handle : handles) handle.release_async();  // together, or each would be waited for
}

}  // namespace
}  // namespace leasehold::sim::live

#include "runtime/driver.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <future>
#include <leasehold/lock_provider.hpp>
#include <thread>

#include "runtime/testing/fake_server.hpp"

namespace leasehold::runtime {
namespace {

TEST(Driver, AcquiresAndReleasesAndTellsTheEventsInOrder) {
  Fixture f;
  std::vector<LockEvent> events;
  f.provider.emplace(provider_for(
      f.server, 4, [&events](const LockEvent& event) { events.push_back(event); }));
  auto handle = f.lock().try_acquire();
  EXPECT_TRUE(handle->held());
  EXPECT_GT(handle->remaining(), milliseconds(20'000));
  EXPECT_GT(handle->fencing_token(), FencingToken(1'000));
  EXPECT_EQ(handle->release(), ReleaseResult::released);
  EXPECT_EQ(handle->release(), ReleaseResult::released) << "the first answer again";
  EXPECT_FALSE(handle->held());
  EXPECT_FALSE(handle->lost().stop_requested()) << "a release is not a loss";
  EXPECT_EQ(f.server->deletes, 1);
  handle = Error{};
  f.provider.reset();
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(events[0].kind, LockEvent::Kind::attempt);
  EXPECT_EQ(events[1].kind, LockEvent::Kind::acquired);
  EXPECT_EQ(events[2].kind, LockEvent::Kind::released);
  EXPECT_GT(events[2].took, std::chrono::nanoseconds(0));
}

TEST(Driver, AHandleThatWasMovedHoldsAndOutlivesItsProviderAndTheEmptyOneDoesNot) {
  Fixture f;
  auto handle = f.lock().try_acquire().value();
  LockHandle other(std::move(handle));
  EXPECT_TRUE(other.held());
  EXPECT_FALSE(handle.held());  // NOLINT(bugprone-use-after-move): the empty state is the contract
  EXPECT_EQ(handle.fencing_token(), FencingToken());
  EXPECT_EQ(handle.name(), "");
  LockHandle empty;
  empty = std::move(other);
  EXPECT_EQ(f.server->deletes, 0);
  f.provider.reset();
  EXPECT_TRUE(empty.held());
  EXPECT_EQ(empty.release(), ReleaseResult::released);
  EXPECT_EQ(empty.name(), "lock");
}

TEST(Driver, ACallWithTheLongestTimeOutOrNoneEndsByItsStopToken) {
  Fixture f;
  EXPECT_TRUE(acquire_all({f.lock()}, milliseconds::max()));
  f.server->mode = FakeServer::Mode::refuse;
  for (const bool limited : {true, false}) {
    std::stop_source stop;
    auto waiting = std::async(std::launch::async, [&] {
      const auto got = limited ? f.lock().try_acquire(milliseconds::max(), stop.get_token())
                               : f.lock().acquire(stop.get_token());
      return got.error().kind;
    });
    EXPECT_EQ(waiting.wait_for(milliseconds(50)), std::future_status::timeout);
    stop.request_stop();
    EXPECT_EQ(waiting.get(), ErrorKind::cancelled) << "and not timed out at once";
  }
}

TEST(Driver, AThousandWaitingAcquiresOccupyNoThreadAndEndWithTheirProvider) {
  const auto threads = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/task"), {});
  };
  std::jthread([] {}).join();  // with the first one a sanitizer starts one of its own
  const auto before = threads();
  Fixture f;
  f.server->mode = FakeServer::Mode::refuse;
  const auto lock = f.lock();
  std::atomic<int> ended = 0;
  const auto all = std::make_shared<std::promise<void>>();
  for (int i = 0; i < 1'000; ++i) {
    lock.acquire_async(milliseconds(60'000), [&, all](const Result<LockHandle>& got) {
      EXPECT_EQ(got.error().kind, ErrorKind::shut_down);
      if (++ended == 1'000) all->set_value();
    });
  }
  EXPECT_LE(f.server->connections, 2);
  EXPECT_LE(threads(), before + 10);
  f.provider.reset();
  all->get_future().get();
}

TEST(Driver, AHungCommandNeitherDelaysTheCallNorTakesTheOthersWorker) {
  Fixture f;
  f.server->mode = FakeServer::Mode::hang;
  const auto quick = f.lock(milliseconds(200));  // operation timeout 66 ms
  for (int i = 0; i < 5; ++i) {
    // Once nothing was received for a while a clean-up may have the one slot: then it is not sent.
    const auto kind = quick.try_acquire().error().kind;
    EXPECT_TRUE(kind == ErrorKind::unknown_outcome || kind == ErrorKind::unavailable);
  }
  f.server->mode = FakeServer::Mode::serve;
  EXPECT_TRUE(quick.try_acquire(milliseconds(5'000)));
}

TEST(Driver, WorkersThatStoodInForHungOnesGoAfterwards) {
  Fixture f;
  f.server->mode = FakeServer::Mode::deaf;
  const auto quick = f.lock(milliseconds(200));
  for (int i = 0; i < 6; ++i) EXPECT_FALSE(quick.try_acquire());
  EXPECT_GT(f.server->links, 3) << "two workers, and those that stand in";
  f.server->hear_again();
  EXPECT_TRUE(quick.try_acquire(milliseconds(5'000)));
  while (f.server->links > 3) std::this_thread::yield();
  EXPECT_TRUE(quick.try_acquire(milliseconds(5'000)));
}

}  // namespace
}  // namespace leasehold::runtime

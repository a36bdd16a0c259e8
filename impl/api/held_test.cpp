#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <future>

#include "runtime/testing/fake_server.hpp"

/// Until when a handle is held, by a clock that tests move.
namespace leasehold::runtime {
namespace {

using Mode = FakeServer::Mode;

/// Moved by hand; timers still wait for real time.
struct HandMovedClock final : Clock {
  [[nodiscard]] core::LocalInstant now() const override { return core::LocalInstant(at.load()); }
  std::atomic<core::Duration> at{std::chrono::hours(1)};
};

TEST(Held, AfterANoAnExtensionThatComesLateChangesNothing) {
  for (const bool ended : {false, true}) {
    core::Granted granted{};
    granted.deadline = core::LocalInstant(std::chrono::hours(1));
    HandleState state(granted, {});
    if (ended) state.end();
    EXPECT_EQ(state.left_at(granted.deadline).just_over, !ended);
    state.extend(granted.deadline + std::chrono::hours(1));
    EXPECT_EQ(state.left_at(granted.deadline).remaining.count(), 0) << ended;
  }
}

bool local_clock_runs_as(clockid_t kernels) {
  const auto read = [kernels] {
    timespec t{};
    clock_gettime(kernels, &t);
    return core::LocalInstant(std::chrono::seconds(t.tv_sec) + std::chrono::nanoseconds(t.tv_nsec));
  };
  const auto before = read(), now = boottime_clock()->now(), after = read();
  return before <= now && now <= after;
}

TEST(LocalClock, IsTheOneThatRunsDuringSuspend) {
  EXPECT_TRUE(local_clock_runs_as(CLOCK_BOOTTIME));
}

/// As if the machine had slept for a while: the clocks that stand still meanwhile are another time.
TEST(LocalClock, IsNoClockThatStandsStillDuringSuspend) {
  enum { kAsItMustBe, kAnother, kNoNamespace };
  const pid_t child = fork();
  if (child == 0) {
    if (unshare(CLONE_NEWTIME) != 0 ||
        !(std::ofstream("/proc/self/timens_offsets") << "boottime 10000 0" << std::flush)) {
      _exit(kNoNamespace);
    }
    const pid_t there = fork();  // a namespace of time is its maker's children's
    if (there == 0) _exit(local_clock_runs_as(CLOCK_BOOTTIME) ? kAsItMustBe : kAnother);
    int status = 0;
    waitpid(there, &status, 0);
    _exit(WEXITSTATUS(status));
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  if (WEXITSTATUS(status) == kNoNamespace) GTEST_SKIP() << "no namespace of time may be made here";
  EXPECT_EQ(WEXITSTATUS(status), kAsItMustBe);
}

/// A lock that is held for 15 s of its 30 s when the question comes. No round extends it, because
/// none is due.
struct HalfOver {
  explicit HalfOver(LockOptions options = {}) {
    server->before = [this](const Command& command) {
      if (!std::holds_alternative<core::ExtendCommand>(command.body)) return;
      ++extensions;
      if (before_extension) before_extension();
    };
    options.extension_cadence = milliseconds(29'800);
    handle = provider.create_lock("lock", std::move(options)).value().try_acquire().value();
    pass(milliseconds(15'000));
  }
  void pass(milliseconds time) const { clock->at = clock->at.load() + time; }

  struct CountsAsked final : Observer {
    void step(const core::Event& event, const core::Effects&, core::LocalInstant) override {
      if (std::holds_alternative<core::ExtendAsked>(event)) ++asked, asked.notify_all();
    }
    std::atomic<int> asked = 0;
  };
  std::shared_ptr<HandMovedClock> clock = std::make_shared<HandMovedClock>();
  std::shared_ptr<FakeServer> server = std::make_shared<FakeServer>();
  std::shared_ptr<CountsAsked> observer = std::make_shared<CountsAsked>();
  std::atomic<int> extensions = 0;
  std::function<void()> before_extension;
  LockProvider provider = detail::Access::provider(Driver::make([this] {
    auto parts = production_parts(server, std::make_unique<core::ProviderCore>("", 4), clock);
    parts.observer = observer;
    return parts;
  }()));
  LockHandle handle;
};

TEST(Held, ComparesTheClockAtEachCall) {
  const HalfOver h;
  h.pass(milliseconds(14'000));
  EXPECT_TRUE(h.handle.held());
  EXPECT_LT(h.handle.remaining(), std::chrono::seconds(1));
  h.pass(milliseconds(900));
  EXPECT_FALSE(h.handle.held()) << "no timer has come yet";
  EXPECT_EQ(h.handle.remaining().count(), 0);
}

TEST(Ensure, AnExtensionIsAskedForWhereTooLittleIsLeft) {
  HalfOver h;
  EXPECT_TRUE(h.handle.ensure(milliseconds(14'000)));
  EXPECT_EQ(h.extensions, 0);
  EXPECT_TRUE(h.handle.ensure(milliseconds(20'000)));
  EXPECT_EQ(h.extensions, 1);
  EXPECT_GT(h.handle.remaining(), milliseconds(29'000));
}

TEST(Ensure, TheTimeUntilTheServersAnswerIsNotLeft) {
  HalfOver h;
  h.before_extension = [&h] { h.pass(milliseconds(3'000)); };
  EXPECT_FALSE(h.handle.ensure(milliseconds(28'000)));
  EXPECT_EQ(h.extensions, 1);
  EXPECT_TRUE(h.handle.ensure(milliseconds(26'000)));
}

TEST(Ensure, NothingIsAskedForThatNoExtensionGives) {
  HalfOver h(LockOptions{.max_holding = milliseconds(40'000)});
  EXPECT_FALSE(h.handle.ensure(milliseconds::max()));
  EXPECT_FALSE(h.handle.ensure(milliseconds(25'001))) << "it ends in 25 s";
  EXPECT_EQ(h.observer->asked, 0);
  EXPECT_TRUE(h.handle.ensure(milliseconds(24'999)));
  h.pass(milliseconds(26'000));
  EXPECT_FALSE(h.handle.ensure(milliseconds(0))) << "it is not held";
  EXPECT_FALSE(LockHandle().ensure(milliseconds(0)));
  HalfOver unlimited;
  EXPECT_FALSE(unlimited.handle.ensure(milliseconds(29'850))) << "max_drift is 150 ms of 30 s";
  unlimited.handle.release();
  EXPECT_FALSE(unlimited.handle.ensure(milliseconds(20'000)));
  EXPECT_EQ(unlimited.observer->asked, 0);
  EXPECT_EQ(h.extensions + unlimited.extensions, 1);
}

/// It was sent too early to give enough.
TEST(Ensure, AnExtensionThatWasUnderWayIsFollowedByAnother) {
  HalfOver h;
  std::promise<void> sent, go;
  h.before_extension = [&h, &sent, answer = go.get_future().share()] {
    if (h.extensions > 1) return;
    sent.set_value();
    answer.wait();
  };
  auto first =
      std::async(std::launch::async, [&h] { return h.handle.ensure(milliseconds(20'000)); });
  sent.get_future().wait();
  h.pass(milliseconds(5'000));
  auto second =
      std::async(std::launch::async, [&h] { return h.handle.ensure(milliseconds(27'000)); });
  h.observer->asked.wait(1);
  go.set_value();
  EXPECT_TRUE(first.get());
  EXPECT_TRUE(second.get());
  EXPECT_EQ(h.extensions, 2);
}

}  // namespace
}  // namespace leasehold::runtime

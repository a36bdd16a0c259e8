#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>
#include <set>
#include <thread>

#include "runtime/testing/fake_server.hpp"

/// Who ends last, and where: the last owner of a driver may be a handle, a user's function, or what
/// that function owned.
namespace leasehold::runtime {
namespace {

int rounds() {
  const char* wanted = std::getenv("LEASEHOLD_ROUNDS");
  return wanted == nullptr ? 300 : std::atoi(wanted);
}

std::ptrdiff_t entries_of(const char* folder) {
  const std::filesystem::directory_iterator begin(folder);
  return std::distance(begin, {});
}

/// Threads that were detached end soon after they were asked to, but not at that moment.
class Resources {
 public:
  /// With the first thread a sanitizer starts one of its own.
  Resources() {
    std::thread([] {}).join();
    threads_ = entries_of(kThreads);
  }

  /// Whether there are no more threads and descriptors than at the beginning, or soon will be.
  [[nodiscard]] bool as_at_the_start() const {
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (std::chrono::steady_clock::now() < limit) {
      if (entries_of(kThreads) <= threads_ && entries_of(kDescriptors) <= descriptors_) return true;
      std::this_thread::yield();
    }
    return false;
  }

 private:
  static constexpr const char* kThreads = "/proc/self/task";
  static constexpr const char* kDescriptors = "/proc/self/fd";
  std::ptrdiff_t threads_ = 0;
  const std::ptrdiff_t descriptors_ = entries_of(kDescriptors);
};

/// Long enough for a thread that does not wait to be seen; far below Callbacks::kLongestCall.
void linger() {
  const auto until = std::chrono::steady_clock::now() + milliseconds(20);
  while (std::chrono::steady_clock::now() < until) std::this_thread::yield();
}

const LockOptions kShortLease{.expiry = milliseconds(100), .operation_timeout = milliseconds(1)};

LockHandle acquired_from(std::optional<LockProvider>& provider, const LockOptions& options) {
  return std::move(provider->create_lock("lock", options).value().acquire()).value();
}

TEST(Lifetime, AHandleIsTheLastOwnerAndAWorkerOrATimerAnswersItsRelease) {
  const Resources before;
  const auto server = std::make_shared<FakeServer>();
  for (int i = 0; i < rounds(); ++i) {
    std::optional provider = provider_for(server), other = provider_for(server);
    auto by_timer = acquired_from(other, kShortLease);
    server->deletes_hang = true;
    other.reset();
    EXPECT_EQ(by_timer.release(), ReleaseResult::unknown);
    server->deletes_hang = false;
    auto by_worker = acquired_from(provider, {});
    provider.reset();
  }
  EXPECT_GE(server->deletes, rounds());
  EXPECT_TRUE(before.as_at_the_start());
}

/// One that ends later would say good-bye to its server while the process is in exit().
TEST(Lifetime, NothingOfAWorkerIsLeftOnceTheLastOwnerIsGone) {
  const auto server = std::make_shared<FakeServer>();
  for (int i = 0; i < rounds(); ++i) {
    {
      const auto provider = provider_for(server);
      const auto handle = provider.create_lock("lock").value().acquire().value();
    }
    ASSERT_EQ(server->links, 0) << "connections";
  }
}

constexpr std::array kFaults{SIGSEGV, SIGBUS, SIGFPE, SIGILL};

/// The signals that a thread blocks, as a mask, once it runs: before, it blocks all. 0: it is gone.
std::uint64_t blocked_by(const std::filesystem::path& thread) {
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  std::uint64_t blocked = 0;
  do {
    blocked = 0;
    std::ifstream status(thread / "status");
    for (std::string line; std::getline(status, line);) {
      if (line.starts_with("SigBlk:")) blocked = std::stoull(line.substr(7), nullptr, 16);
    }
    std::this_thread::yield();
  } while ((blocked >> (kFaults[0] - 1) & 1) && std::chrono::steady_clock::now() < limit);
  return blocked;
}

/// An application may block a signal after it has connected, and wait for it in an event loop.
TEST(Lifetime, ItsThreadsLeaveSignalsToTheApplication) {
  const std::filesystem::directory_iterator end;
  std::thread([] {}).join();  // with the first one a sanitizer starts a thread of its own
  std::set<std::filesystem::path> before;
  for (std::filesystem::directory_iterator task("/proc/self/task"); task != end; ++task) {
    before.insert(task->path());
  }
  Fixture f;
  const auto handle = f.lock().acquire().value();
  int others = 0;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    if (before.contains(task.path())) continue;
    const auto blocked = blocked_by(task.path());
    if (blocked == 0) continue;  // it has ended meanwhile
    for (const int signal : {SIGTERM, SIGINT, SIGALRM, SIGHUP, SIGCHLD, SIGUSR1, SIGRTMIN}) {
      EXPECT_TRUE(blocked >> (signal - 1) & 1) << signal;
    }
    for (const int fault : kFaults) EXPECT_FALSE(blocked >> (fault - 1) & 1) << fault;
    ++others;
  }
  EXPECT_GE(others, 3) << "a worker, the timers, the callbacks";
}

/// A function of the application is no part of the library: what it lets out ends no process.
TEST(Lifetime, AnExceptionOfACallbackBecomesAWarning) {
  // The handle of the second call may be the last owner: warnings come after the test's end.
  const auto warned = std::make_shared<std::promise<std::string>>();
  const auto provider = provider_with([warned](DriverParts& parts) {
    parts.on_event = [](const LockEvent& event) {
      if (event.kind == LockEvent::Kind::acquired) throw std::runtime_error("no such series");
    };
    parts.on_warning = [warned](const std::string& message) {
      warned->set_value(message);
      throw 1;
    };
  });
  EXPECT_TRUE(provider.create_lock("lock").value().try_acquire());
  EXPECT_EQ(warned->get_future().get(), "a function of the application threw: no such series");
  const auto called = std::make_shared<std::promise<void>>();
  provider.create_lock("lock").value().acquire_async(
      milliseconds(1'000), [called](const Result<LockHandle>&) { called->set_value(); });
  called->get_future().get();
}

/// What a function owns: tells where it is destroyed, and uses the provider then, if it has one,
/// which needs the driver's lock.
struct Owned {
  std::shared_ptr<std::promise<std::thread::id>> destroyed_by;
  std::shared_ptr<LockProvider> provider;
  ~Owned() {
    EXPECT_TRUE(!provider || provider->create_lock("other").value().try_acquire());
    destroyed_by->set_value(std::this_thread::get_id());
  }
};

TEST(Lifetime, AUsersFunctionIsDestroyedWhereItIsCalledAndMayBeTheLastOwner) {
  const Resources before;
  Fixture f;
  for (int i = 0; i < rounds(); ++i) {
    auto handle = f.lock().acquire().value();
    // A release is answered before the question or after it.
    for (const bool acquires : {true, false, false}) {
      const auto destroyed_by = std::make_shared<std::promise<std::thread::id>>();
      const auto called_by = std::make_shared<std::promise<std::thread::id>>();
      std::shared_ptr<Owned> owned(new Owned{destroyed_by, nullptr});
      if (acquires) owned->provider = std::make_shared<LockProvider>(provider_for(f.server));
      const auto* provider = owned->provider.get();
      auto called = [called_by, owned = std::move(owned)](const auto&) {
        called_by->set_value(std::this_thread::get_id());
      };
      if (acquires) {
        provider->create_lock("lock").value().acquire_async(milliseconds(1'000), std::move(called));
      } else {
        handle.release_async(std::move(called));
      }
      EXPECT_EQ(called_by->get_future().get(), destroyed_by->get_future().get());
    }
  }
  f.provider.reset();
  EXPECT_TRUE(before.as_at_the_start());
}

/// The driver's end waits for callbacks that run; who destroys this handle does not.
TEST(Lifetime, AnAsynchronousHandleIsTheLastOwnerAndItsEndWaitsForNothing) {
  const Resources before;
  const auto server = std::make_shared<FakeServer>();
  std::promise<void> busy, over;
  const auto keep_busy = [&](const LockEvent& event) {
    if (event.kind != LockEvent::Kind::gave_up) return;
    busy.set_value();
    over.get_future().wait();
  };
  std::optional provider = provider_for(server, 2, keep_busy);
  std::promise<LockHandle> acquired;
  provider->create_lock("lock").value().acquire_async(
      milliseconds(1'000),
      [&](Result<LockHandle> handle) { acquired.set_value(std::move(handle).value()); });
  std::optional handle = acquired.get_future().get();
  std::promise<void> released;
  handle->release_async([&](ReleaseResult) { released.set_value(); });
  released.get_future().wait();
  server->mode = FakeServer::Mode::refuse;
  EXPECT_FALSE(provider->create_lock("lock").value().try_acquire());
  busy.get_future().wait();
  provider.reset();
  handle.reset();
  over.set_value();
  EXPECT_TRUE(before.as_at_the_start());
}

TEST(Lifetime, ACallbackIsNotCalledBeforeTheOneBeforeItHasReturned) {
  std::atomic<int> attempts = 0;
  std::atomic<bool> over = false;
  std::promise<void> begun;
  std::promise<bool> second;
  Fixture f;
  f.server->before = [&](const Command& command) {
    if (std::holds_alternative<core::AcquireCommand>(command.body)) ++attempts;
  };
  f.provider->create_lock("one").value().acquire_async(
      milliseconds(1'000), [&](const Result<LockHandle>&) {
        begun.set_value();
        while (attempts < 2) std::this_thread::yield();
        linger();
        over = true;
      });
  begun.get_future().wait();  // else another worker's reply for "other" may be the first
  f.provider->create_lock("other").value().acquire_async(
      milliseconds(1'000), [&](const Result<LockHandle>&) { second.set_value(over); });
  EXPECT_TRUE(second.get_future().get());
}

TEST(Lifetime, TheLastOwnersDestructorWaitsForACallbackThatRuns) {
  const auto server = std::make_shared<FakeServer>();
  std::promise<void> begun;
  std::atomic<bool> ends = false, over = false;
  std::optional provider = provider_for(server, 2, [&](const LockEvent& event) {
    if (event.kind != LockEvent::Kind::released) return;  // nothing is posted behind it
    begun.set_value();
    while (!ends) std::this_thread::yield();
    linger();
    over = true;
  });
  std::optional handle = acquired_from(provider, {});
  provider.reset();
  handle->release();
  begun.get_future().wait();
  ends = true;
  handle.reset();
  EXPECT_TRUE(over);
}

TEST(Lifetime, TheEndOfAProviderSaysWhatItLeavesUndeleted) {
  const auto server = std::make_shared<FakeServer>();
  std::promise<std::string> warned;
  const auto warn = [&](const std::string& message) { warned.set_value(message); };
  {
    std::optional provider =
        provider_with([&](DriverParts& parts) { parts.on_warning = warn; }, server);
    auto handle = acquired_from(provider, {.operation_timeout = milliseconds(50)});
    server->deletes_hang = true;
    EXPECT_EQ(handle.release(), ReleaseResult::unknown);
  }
  EXPECT_EQ(warned.get_future().get(),
            "the provider was destroyed with 1 clean-ups unfinished; those locks free themselves "
            "like a crashed holder's");
  server->deletes_hang = false;
}

TEST(Lifetime, ALossMayDestroyItsHandleAndTheProvider) {
  const Resources before;
  const auto server = std::make_shared<FakeServer>();
  {
    auto provider = std::make_shared<std::optional<LockProvider>>(provider_for(server));
    auto handle =
        std::make_shared<std::optional<LockHandle>>(acquired_from(*provider, kShortLease));
    const auto token = (*handle)->lost();
    server->mode = FakeServer::Mode::hang;
    std::promise<void> destroyed;
    const std::stop_callback on_lost(token, [&] {
      provider->reset();
      handle->reset();
      destroyed.set_value();
    });
    destroyed.get_future().get();
  }
  EXPECT_TRUE(before.as_at_the_start());
}

/// So many threads, and no more.
class FewThreads final : public Executor {
 public:
  explicit FewThreads(int left) : left_(left) {}
  std::unique_ptr<Activity> start(Job turn) override {
    return left_-- > 0 ? threads_->start(std::move(turn)) : nullptr;
  }
  std::unique_ptr<TimedActivity> start_timed(Job turn) override {
    return left_-- > 0 ? threads_->start_timed(std::move(turn)) : nullptr;
  }
  bool run_apart(Job job) override { return left_-- > 0 && threads_->run_apart(std::move(job)); }
  bool wait(std::unique_lock<std::mutex>& lock, std::condition_variable& changed,
            core::Duration limit, const std::function<bool()>& met) override {
    return threads_->wait(lock, changed, limit, met);
  }
  [[nodiscard]] bool on_own_thread() const override { return threads_->on_own_thread(); }

 private:
  const std::shared_ptr<Executor> threads_ = thread_executor(boottime_clock());
  std::atomic<int> left_;
};

/// Without a worker's thread a call would wait for nothing.
TEST(Lifetime, AProviderHasTheThreadsThatItNeedsOrSaysWhichIsMissingAndKeepsNone) {
  const Resources before;
  std::set<std::string> missing;
  int threads = 0;
  for (bool made = false; !made; ++threads) {
    try {
      const auto provider = provider_with(
          [=](DriverParts& parts) { parts.executor = std::make_shared<FewThreads>(threads); });
      EXPECT_TRUE(provider.create_lock("lock").value().try_acquire());
      made = true;
    } catch (const std::system_error& error) {
      missing.insert(error.what());
    }
  }
  const std::string none = ": Resource temporarily unavailable";
  EXPECT_EQ(missing, (std::set<std::string>{"no thread for callbacks" + none,
                                            "no thread for commands" + none,
                                            "no thread for timers, or no descriptor" + none}));
  EXPECT_TRUE(before.as_at_the_start());
}

/// It and its thread are left to themselves: they may go on when the driver is gone.
TEST(Lifetime, AUsersFunctionThatBlocksForEverDelaysNoEnd) {
  const Resources before;
  auto over = std::make_shared<std::promise<void>>();
  {
    const auto server = std::make_shared<FakeServer>();
    const auto blocked = std::make_shared<std::promise<void>>();
    std::optional provider = provider_for(
        server, 2, [over = over->get_future().share(), blocked](const LockEvent& event) {
          if (event.kind != LockEvent::Kind::acquired) return;
          blocked->set_value();
          over.wait();
        });
    EXPECT_TRUE(provider->create_lock("lock").value().try_acquire());
    blocked->get_future().wait();
    provider.reset();  // the last owner
  }
  over->set_value();
  EXPECT_TRUE(before.as_at_the_start());
}

}  // namespace
}  // namespace leasehold::runtime

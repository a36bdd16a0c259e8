#include <gtest/gtest.h>

#include <future>
#include <latch>
#include <leasehold/semaphore.hpp>
#include <map>
#include <mutex>
#include <thread>

#include "runtime/testing/fake_server.hpp"

namespace leasehold::runtime::semaphore_test {
namespace {

using Mode = FakeServer::Mode;

Semaphore semaphore(const Fixture& f, int permits, milliseconds expiry = milliseconds(30'000)) {
  const LockOptions options{.expiry = expiry, .waiting = fixed_waiting(milliseconds(1))};
  return Semaphore::create(*f.provider, "s", permits, options).value();
}

/// Waits until no command runs any more that could see what a test has set.
void end(Fixture& f) {
  f.provider.reset();
  while (f.server->links > 0) std::this_thread::yield();
}

TEST(Semaphores, FindsTheOnlyFreeSlotWithALookAndAnyIfAllAreFreeWithoutOne) {
  Fixture f;
  EXPECT_LT(semaphore(f, 3).try_acquire().value().slot, 3);
  EXPECT_EQ(f.server->looks, 0);
  f.server->only_free = "s#37";
  for (int i = 0; i < 20; ++i) {
    const auto permit = semaphore(f, 50).try_acquire();
    ASSERT_TRUE(permit) << permit.error().message;
    EXPECT_EQ(permit->slot, 37);
  }
  EXPECT_LE(f.server->looks, 20);
}

TEST(Semaphores, WithoutAnAnswerNoneIsSaidToBeTaken) {
  Fixture f;
  f.server->mode = Mode::hang;
  const auto error = semaphore(f, 3, milliseconds(300)).try_acquire().error();
  EXPECT_EQ(error.kind, ErrorKind::unavailable) << error.message;
  EXPECT_NE(error.message.find("no reply"), std::string::npos) << error.message;
}

/// Waits at one of two slots, its home.
struct WaitsAtHome {
  WaitsAtHome() {
    f.server->mode = Mode::refuse;
    f.server->before = [this](const Command& command) {
      const std::lock_guard guard(mutex);
      const auto* attempt = std::get_if<core::AcquireCommand>(&command.body);
      if (attempt != nullptr && ++attempts[attempt->name] == 5 && other.empty()) {
        other = attempt->name == "s#0" ? "s#1" : "s#0";
        attempts[other] = 0;
      }
      if (!other.empty()) then(command);
    };
  }
  void free_other() {
    f.server->only_free = other;
    f.server->mode = Mode::serve;
  }
  /// Whether a call for a permit gets the other slot in the end.
  bool gets_other() {
    const auto slots = semaphore(f, 2);
    const auto permit = slots.try_acquire(milliseconds(20'000));
    return permit && slots.lock_name(permit->slot) == other;
  }
  static bool attempts_at(const std::string& name, const Command& command) {
    const auto* attempt = std::get_if<core::AcquireCommand>(&command.body);
    return attempt != nullptr && attempt->name == name;
  }

  Fixture f{1};
  std::mutex mutex;  ///< of what follows; a worker that is late has a successor
  std::map<std::string, int> attempts;
  std::string other;                         ///< the slot that is not its home, once it has one
  std::function<void(const Command&)> then;  ///< sees each command from there on
};

/// Where it waits it is refused for ever.
TEST(Semaphores, OneThatCameTooLateElsewhereLooksAgain) {
  WaitsAtHome w;
  w.then = [&w](const Command& command) {
    if (std::holds_alternative<core::ReadHoldersCommand>(command.body)) w.free_other();
    const bool vain = WaitsAtHome::attempts_at(w.other, command) && w.attempts[w.other] == 1;
    if (vain) w.f.server->mode = Mode::refuse;
  };
  EXPECT_TRUE(w.gets_other());
  end(w.f);
  EXPECT_EQ(w.attempts[w.other], 2);
}

/// Records when a lock is granted, of which steps are notified later.
struct HearsGrants final : Observer {
  void step(const core::Event&, const core::Effects& effects, core::LocalInstant) override {
    for (const auto& effect : effects) {
      if (std::holds_alternative<core::Granted>(effect)) granted.count_down();
    }
  }
  std::latch granted{2};
};

/// The step that is notified of the first grant is held up until its home is granted too.
TEST(Semaphores, AHomeThatIsGrantedBesideAnotherSlotIsGivenBack) {
  WaitsAtHome w;
  const auto grants = std::make_shared<HearsGrants>();
  auto parts = production_parts(w.f.server, std::make_unique<core::ProviderCore>("", 1));
  parts.workers = 1;
  parts.observer = grants;
  auto driver = Driver::make(std::move(parts));
  w.f.provider.emplace(detail::Access::provider(driver));
  w.then = [&w, &driver, grants](const Command& command) {
    if (w.f.server->mode == Mode::refuse) w.free_other();
    if (WaitsAtHome::attempts_at(w.other, command)) {
      w.f.server->only_free = "";
      driver->take_step([grants] { grants->granted.wait(); });
    }
  };
  EXPECT_TRUE(w.gets_other());
  driver.reset();
  end(w.f);
  EXPECT_EQ(w.f.server->deletes, 2) << "of the permit, and of its home";
}

/// By chance it would be right five times in ten.
TEST(Semaphores, OneThatWaitsDoesSoWhereTheQueueIsShortest) {
  for (int i = 0; i < 10; ++i) {
    Fixture f;
    f.server->queued_at = "s#0";
    f.server->mode = Mode::refuse;
    std::atomic<int> at_0 = 0, at_1 = 0;
    f.server->before = [&](const Command& command) {
      const auto* attempt = std::get_if<core::AcquireCommand>(&command.body);
      if (attempt == nullptr || f.server->looks == 0) return;
      ++(attempt->name == "s#0" ? at_0 : at_1);
    };
    std::promise<ErrorKind> ended;
    semaphore(f, 2).acquire_async(milliseconds(60'000), [&](const Result<Permit>& permit) {
      ended.set_value(permit.error().kind);
    });
    while (at_0 + at_1 < 3) std::this_thread::yield();
    end(f);
    EXPECT_EQ(at_0, 0);
    EXPECT_EQ(ended.get_future().get(), ErrorKind::shut_down) << "with its provider";
  }
}

/// Each look shows free slots, and each attempt at one comes too late.
TEST(Semaphores, WithoutWaitingItTriesTwiceAtMost) {
  Fixture f;
  std::atomic<int> attempts = 0;
  f.server->before = [&](const Command& command) {
    if (std::holds_alternative<core::AcquireCommand>(command.body)) {
      ++attempts;
      f.server->mode = Mode::refuse;
    } else if (std::holds_alternative<core::ReadHoldersCommand>(command.body)) {
      f.server->mode = Mode::serve;
    }
  };
  EXPECT_EQ(semaphore(f, 3).try_acquire().error().kind, ErrorKind::refused);
  EXPECT_EQ(attempts, 2);
  end(f);
}

TEST(Semaphores, AreOfTheProductionLockOnly) {
  // As those of published locks.
  const auto provider = provider_with([](DriverParts& parts) { parts.inspects = false; });
  EXPECT_EQ(Semaphore::create(provider, "s", 2).error().message,
            "semaphore 's' is of a published lock: it must be of the production one");
}

TEST(Semaphores, StoppedAtAnyMomentItAnswersOnceAndKeepsNothing) {
  Fixture f;
  const auto slots = semaphore(f, 3);
  int held = 0;
  for (int i = 0; i < 300; ++i) {
    f.server->mode = i % 3 == 0 ? Mode::refuse : Mode::serve;
    std::stop_source stop;
    std::promise<Result<Permit>> answer;
    slots.acquire_async(
        milliseconds(3'600'000),
        [&](Result<Permit> permit) { answer.set_value(std::move(permit)); }, stop.get_token());
    const std::jthread stops([&stop] { stop.request_stop(); });
    const auto got = answer.get_future().get();
    EXPECT_TRUE(got || got.error().kind == ErrorKind::cancelled);
    held += got ? 1 : 0;
  }
  f.server->mode = Mode::serve;
  f.provider.reset();
  EXPECT_GE(f.server->deletes, held);
}

TEST(Semaphores, BadOptionsAreNamed) {
  Fixture f;
  EXPECT_EQ(Semaphore::create(*f.provider, "s", 0).error().message,
            "permits is 0: it must be 1 to 1000");
  EXPECT_FALSE(Semaphore::create(*f.provider, "", 1));
  EXPECT_FALSE(Semaphore::create(*f.provider, "s", 1, {.expiry = milliseconds(1)}));
}

/// What it does may take for ever: no step of the library waits for it.
TEST(Semaphores, AUsersFunctionThatBlocksDelaysNeitherPermitsNorTheirTimeOuts) {
  Fixture f;
  std::promise<void> begun, over;
  f.lock().acquire_async(milliseconds(10'000), [&](const Result<LockHandle>&) {
    begun.set_value();
    over.get_future().wait();
  });
  begun.get_future().wait();
  EXPECT_TRUE(semaphore(f, 3).try_acquire(milliseconds(10'000)));
  f.server->mode = Mode::refuse;
  const auto late = semaphore(f, 3).try_acquire(milliseconds(30));
  EXPECT_EQ(late.error().kind, ErrorKind::timed_out);
  EXPECT_TRUE(late.error().message.starts_with("semaphore 's': timed out; ")) << late.error();
  std::stop_source stop;
  std::jthread stops([&stop] { stop.request_stop(); });
  EXPECT_EQ(semaphore(f, 3).acquire(stop.get_token()).error().kind, ErrorKind::cancelled);
  over.set_value();
}

}  // namespace
}  // namespace leasehold::runtime::semaphore_test

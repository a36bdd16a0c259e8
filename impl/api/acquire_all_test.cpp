#include <gtest/gtest.h>

#include "runtime/testing/fake_server.hpp"

/// A call of several steps: its one time, and what becomes of the locks that it has already.
namespace leasehold::runtime::acquire_all_test {
namespace {

using Mode = FakeServer::Mode;
using std::chrono::steady_clock;

constexpr milliseconds kLong(20'000);

struct World {
  std::shared_ptr<FakeServer> server = std::make_shared<FakeServer>();
  std::atomic<bool> lost = false;  ///< one of the locks
  LockProvider provider = provider_for(server, 2, [this](const LockEvent& event) {
    if (event.kind != LockEvent::Kind::lost) return;
    lost = true;
    lost.notify_all();
  });

  [[nodiscard]] Lock lock(const std::string& name, LockOptions options = {}) const {
    options.waiting = fixed_waiting(milliseconds(1));
    return provider.create_lock(name, std::move(options)).value();
  }
  /// What was deleted when all that a call left behind is done.
  int deletes_in_the_end() {
    { const LockProvider ends = std::move(provider); }
    return server->deletes;
  }
  /// What the server answers to each attempt at a lock. One lock is asked for at a time.
  void answer_attempts(std::function<Mode(const std::string& name)> mode) {
    server->before = [this, mode = std::move(mode)](const Command& command) {
      const auto* attempt = std::get_if<core::AcquireCommand>(&command.body);
      if (attempt != nullptr) server->mode = mode(attempt->name);
    };
  }
};

const LockOptions kLostSoon{.max_holding = milliseconds(200)};

/// The first lock takes half of the time: the second has the other half.
TEST(AcquireAll, ItsTimeIsForAllTogether) {
  static constexpr milliseconds kTime(600);
  World w;
  const auto began = steady_clock::now();
  w.answer_attempts([began](const std::string& name) {
    return name == "a" && steady_clock::now() - began > kTime / 2 ? Mode::serve : Mode::refuse;
  });
  EXPECT_EQ(acquire_all({w.lock("a"), w.lock("b")}, kTime).error().kind, ErrorKind::timed_out);
  EXPECT_LT(steady_clock::now() - began, kTime + kTime / 2);
  EXPECT_EQ(w.deletes_in_the_end(), 1) << "the first is free again";
}

TEST(AcquireAll, NoTimeIsOneAttemptEach) {
  World w;
  std::vector<std::string> attempts;
  w.answer_attempts([&attempts](const std::string& name) {
    attempts.push_back(name);
    return name == "a" ? Mode::serve : Mode::refuse;
  });
  EXPECT_EQ(acquire_all({w.lock("b"), w.lock("a")}).error().kind, ErrorKind::refused);
  EXPECT_EQ(attempts, (std::vector<std::string>{"a", "b"}));
}

TEST(AcquireAll, AStopWhileItWaitsForOneFreesTheOthers) {
  World w;
  std::stop_source stop;
  w.answer_attempts([&stop](const std::string& name) {
    if (name == "b") stop.request_stop();
    return name == "a" ? Mode::serve : Mode::refuse;
  });
  const auto both = acquire_all({w.lock("a"), w.lock("b")}, kLong, stop.get_token());
  EXPECT_EQ(both.error().kind, ErrorKind::cancelled);
  EXPECT_EQ(w.deletes_in_the_end(), 1);
}

/// Its time may be over; and a release may take as long as an operation.
TEST(AcquireAll, ACallThatFailsDoesNotWaitForTheReleaseOfWhatItHad) {
  World w;
  w.server->deletes_hang = true;
  w.answer_attempts(
      [](const std::string& name) { return name == "a" ? Mode::serve : Mode::refuse; });
  const LockOptions options{.operation_timeout = milliseconds(2'000)};
  const auto began = steady_clock::now();
  EXPECT_FALSE(acquire_all({w.lock("a", options), w.lock("b", options)}));
  EXPECT_LT(steady_clock::now() - began, *options.operation_timeout);
  w.server->deletes_hang = false;
}

TEST(AcquireAll, ALockThatIsLostWhileOthersAreWaitedForFailsTheCall) {
  World w;
  w.answer_attempts(
      [&w](const std::string& name) { return name == "a" || w.lost ? Mode::serve : Mode::refuse; });
  const auto both = acquire_all({w.lock("a", kLostSoon), w.lock("b")}, kLong);
  ASSERT_FALSE(both);
  EXPECT_EQ(both.error().kind, ErrorKind::unavailable);
  EXPECT_EQ(both.error().message, "lock 'a' was lost while others were waited for");
}

TEST(AcquireAll, EachLockIsLostOnItsOwn) {
  World w;
  const auto both = acquire_all({w.lock("b"), w.lock("a", kLostSoon)}, kLong).value();
  w.lost.wait(false);
  EXPECT_TRUE(both[0].held());
  EXPECT_FALSE(both[0].lost().stop_requested());
  EXPECT_FALSE(both[1].held());
}

}  // namespace
}  // namespace leasehold::runtime::acquire_all_test

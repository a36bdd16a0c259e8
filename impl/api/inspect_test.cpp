#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <vector>

#include "runtime/testing/fake_server.hpp"

/// What people ask of the locks of others.
namespace leasehold::runtime {
namespace {

using Mode = FakeServer::Mode;

TEST(Inspect, ShowsWhoHoldsALock) {
  Fixture f;
  const auto nobody = f.provider->inspect("lock");
  ASSERT_TRUE(nobody);
  EXPECT_FALSE(nobody->has_value());
  core::LockDocument held{"lock", std::string(32, 'a') + ".30000.7.host:1:app", {5'000}, 9, ""};
  held.expires_at = {65'000};
  held.read_at = {25'000};
  const auto entry = "0000000000001" + core::entry_without_until(milliseconds(5), milliseconds(9),
                                                                 held.lock_id);
  held.queue = entry + core::kQueueMark + entry;
  f.server->shown = {held};
  const auto seen = f.provider->inspect("lock");
  ASSERT_TRUE(seen && seen->has_value());
  EXPECT_EQ((*seen)->holder, "host:1:app");
  EXPECT_EQ((*seen)->since.time_since_epoch(), std::chrono::seconds(5));
  EXPECT_EQ((*seen)->until.time_since_epoch(), std::chrono::seconds(65));
  EXPECT_EQ((*seen)->left, std::chrono::seconds(40));
  EXPECT_EQ((*seen)->lease, std::chrono::seconds(30));
  EXPECT_EQ((*seen)->token_at_least, FencingToken(9));
  EXPECT_EQ((*seen)->waiting, 2u);
  f.server->shown[0].read_at = {70'000};
  const auto dead = f.provider->inspect("lock");
  ASSERT_TRUE(dead && dead->has_value()) << "as long as its document is there";
  EXPECT_EQ((*dead)->left, std::chrono::seconds(-5));
}

TEST(Inspect, ADocumentThatAReleaseLeftIsAFreeLock) {
  Fixture f;
  for (const auto* lock_id : {"", "00000000000000010000000000000002.30000.7.host:1:next"}) {
    f.server->shown = {{"lock", lock_id, {5'000}, 9, ""}};
    const auto nobody = f.provider->inspect("lock");
    EXPECT_TRUE(nobody && !nobody->has_value()) << lock_id;
  }
}

TEST(Inspect, InAChildOfForkIsShutDown) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "ThreadSanitizer does not follow a fork of a process with threads";
#endif
  Fixture f;
  const pid_t child = fork();
  if (child == 0) {
    alarm(30);
    _exit(f.provider->inspect("lock").error().kind == ErrorKind::shut_down ? 0 : 1);
  }
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(Inspect, SaysWhatStandsInTheWay) {
  Fixture f;
  f.server->shown = {{"lock", "", {}, 0, "lockId is missing"}};
  EXPECT_EQ(f.provider->inspect("lock").error().message,
            "lock 'lock' has a corrupt document: lockId is missing");
  EXPECT_EQ(f.provider->inspect("").error().kind, ErrorKind::invalid_option);
  EXPECT_EQ(f.provider->inspect("lock", milliseconds(0)).error().kind, ErrorKind::invalid_option);
  f.server->mode = Mode::hang;
  const auto unanswered = f.provider->inspect("lock", milliseconds(50));
  EXPECT_EQ(unanswered.error().kind, ErrorKind::unavailable);
  EXPECT_EQ(unanswered.error().message, "lock 'lock' could not be read: no reply within 50 ms");
  f.server->mode = Mode::serve;
}

/// Held by another process for a lease of 100 ms, which is as long as the wait is.
core::LockDocument held_elsewhere() {
  core::LockDocument held{"lock", std::string(32, 'a') + ".100.7.host:1:app", {5'000}, 9, ""};
  held.expires_at = {65'000};
  held.read_at = {25'000};
  return held;
}

TEST(ForceRelease, FreesWhatAnotherHolds) {
  Fixture f;
  f.server->shown = {held_elsewhere()};
  std::vector<std::chrono::steady_clock::time_point> at;
  std::string observed;
  f.server->before = [&](const Command& command) {
    at.push_back(std::chrono::steady_clock::now());
    const auto* take = std::get_if<core::AcquireCommand>(&command.body);
    if (take != nullptr) observed = take->observed.value();
  };
  const auto freed = f.provider->force_release("lock");
  ASSERT_TRUE(freed) << freed.error();
  EXPECT_EQ(freed->value().holder, "host:1:app");
  EXPECT_EQ(observed, f.server->shown[0].lock_id);
  EXPECT_EQ(f.server->pass_ons, 1);
  ASSERT_EQ(at.size(), 3u) << "read, take, free";
  EXPECT_GE(at[2] - at[1], milliseconds(110)) << "its lease and the largest drift";
}

TEST(ForceRelease, AFreeLockIsOnlyRead) {
  Fixture f;
  int commands = 0;
  f.server->before = [&commands](const Command&) { ++commands; };
  const auto nobody = f.provider->force_release("lock");
  EXPECT_TRUE(nobody && !nobody->has_value());
  EXPECT_EQ(commands, 1) << "the read";
}

TEST(ForceRelease, SaysWhatStandsInTheWay) {
  Fixture f;
  EXPECT_EQ(f.provider->force_release("").error().kind, ErrorKind::invalid_option);
  f.server->shown = {held_elsewhere()};
  f.server->refused_name = "lock";
  const auto refused = f.provider->force_release("lock");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::refused);
  EXPECT_EQ(refused.error().message,
            "lock 'lock' was extended or changed hands meanwhile; nothing was done. Its holder is "
            "alive: try again to take the lock from it anyway");
  f.server->refused_name.clear();
  std::stop_source stop;
  stop.request_stop();
  const auto cancelled = f.provider->force_release("lock", stop.get_token());
  ASSERT_FALSE(cancelled);
  EXPECT_EQ(cancelled.error().kind, ErrorKind::cancelled);
  EXPECT_EQ(cancelled.error().message,
            "lock 'lock': cancelled before the old holder must have noticed; it frees itself in "
            "31 s");
  f.server->shown[0].corruption = "lockId is missing";
  EXPECT_EQ(f.provider->force_release("lock").error().message,
            "lock 'lock' has a corrupt document: lockId is missing");
  f.server->shown[0] = held_elsewhere();
  f.server->shown[0].lock_id = "theirs";
  f.server->shown[0].expires_at = {100'000'000};
  EXPECT_EQ(f.provider->force_release("lock").error().kind, ErrorKind::configuration);
  EXPECT_EQ(f.server->pass_ons, 0);
}

}  // namespace
}  // namespace leasehold::runtime

#include <gtest/gtest.h>
#include <vector>

#include "core/testing/core_world.hpp"
#include "runtime/testing/fake_server.hpp"

/// What people ask of the locks of others.
namespace leasehold::runtime {
namespace {

using Mode = FakeServer::Mode;

/// All that it shows of a holder: CHandles.AnInspectionShowsAnothersHolding.
TEST(Inspect, ShowsHowManyWaitAndAHolderAsLongAsItsDocumentIsThere) {
  Fixture f;
  EXPECT_FALSE(f.provider->inspect("lock").value()) << "nobody";
  core::LockDocument held{"lock", std::string(32, 'a') + ".30000.7.host:1:app", {5'000}, 9, ""};
  held.expires_at = {65'000};
  held.read_at = {25'000};
  const auto entry = "0000000000001" + core::entry_without_until(milliseconds(5), milliseconds(9),
                                                                 held.lock_id);
  held.queue = entry + core::kQueueMark + entry;
  f.server->shown = {held};
  const auto seen = f.provider->inspect("lock").value().value();
  EXPECT_EQ(seen.left, std::chrono::seconds(40));
  EXPECT_EQ(seen.waiting, 2u);
  f.server->shown[0].read_at = {70'000};
  EXPECT_EQ(f.provider->inspect("lock").value()->left, std::chrono::seconds(-5));
}

TEST(Inspect, ShowsHowManyReadAndTheFirstOfThem) {
  Fixture f;
  const std::string one = std::string(32, 'a') + ".000003000.7.host:1:app";
  const auto shows = [&](const std::string& lock_id) {
    f.server->shown = {{"lock", lock_id, {5'000}, 9, ""}};
    f.server->shown[0].expires_at = {65'000};
    return f.provider->inspect("lock").value().value();
  };
  const auto two = shows(core::text_of_readers({one, std::string(32, 'b') + ".000003000.7.b"}));
  EXPECT_EQ(two.readers, 2u);
  EXPECT_EQ(two.holder, "host:1:app");
  EXPECT_EQ(two.lease, milliseconds(3'000)) << "the longest";
  EXPECT_EQ(shows(one).readers, 1u);
  EXPECT_EQ(shows(std::string(32, 'a') + ".30000.7.host").readers, 0u) << "a writer";
}

TEST(Inspect, ADocumentThatAReleaseLeftIsAFreeLock) {
  Fixture f;
  for (const auto* lock_id : {"", "00000000000000010000000000000002.30000.7.host:1:next"}) {
    f.server->shown = {{"lock", lock_id, {5'000}, 9, ""}};
    EXPECT_FALSE(f.provider->inspect("lock").value()) << lock_id;
  }
}

TEST(Inspect, SaysWhatStandsInTheWay) {
  Fixture f;
  f.server->shown = {{"lock", "", {}, 0, "lockId is missing"}};
  EXPECT_EQ(f.provider->inspect("lock").error().message,
            "lock 'lock' has a corrupt document: lockId is missing");
  EXPECT_EQ(f.provider->inspect("").error().kind, ErrorKind::invalid_option);
  EXPECT_EQ(f.provider->inspect("lock", milliseconds(0)).error().kind, ErrorKind::invalid_option);
  f.server->mode = Mode::hang;
  const auto unanswered = f.provider->inspect("lock", milliseconds(50)).error();
  EXPECT_EQ(unanswered.kind, ErrorKind::unavailable);
  EXPECT_EQ(unanswered.message, "lock 'lock' could not be read: no reply within 50 ms");
  f.server->mode = Mode::serve;
}

/// Held by another process for a lease of 100 ms, which is as long as the wait is.
core::LockDocument held_elsewhere() {
  core::LockDocument held{"lock", std::string(32, 'a') + ".100.7.host:1:app", {5'000}, 9, ""};
  held.expires_at = {65'000};
  held.read_at = {25'000};
  return held;
}

TEST(ForceRelease, FreesWhatAnotherHoldsAndOnlyReadsAFreeLock) {
  Fixture f;
  std::vector<std::chrono::steady_clock::time_point> at;
  std::string observed;
  f.server->before = [&](const Command& command) {
    at.push_back(std::chrono::steady_clock::now());
    const auto* take = std::get_if<core::AcquireCommand>(&command.body);
    if (take != nullptr) observed = take->observed.value();
  };
  EXPECT_FALSE(f.provider->force_release("lock").value());
  ASSERT_EQ(std::exchange(at, {}).size(), 1u) << "the read";
  f.server->shown = {held_elsewhere()};
  EXPECT_EQ(f.provider->force_release("lock").value()->holder, "host:1:app");
  EXPECT_EQ(observed, f.server->shown[0].lock_id);
  EXPECT_EQ(f.server->pass_ons, 1);
  ASSERT_EQ(at.size(), 3u) << "read, take, free";
  EXPECT_GE(at[2] - at[1], milliseconds(110)) << "its lease and the largest drift";
}

TEST(ForceRelease, SaysWhatStandsInTheWay) {
  Fixture f;
  EXPECT_EQ(f.provider->force_release("").error().kind, ErrorKind::invalid_option);
  f.server->shown = {held_elsewhere()};
  f.server->refused_name = "lock";
  const auto refused = f.provider->force_release("lock").error();
  EXPECT_EQ(refused.kind, ErrorKind::refused);
  EXPECT_EQ(refused.message,
            "lock 'lock' was extended or changed hands meanwhile; nothing was done. Its holder is "
            "alive: try again to take the lock from it anyway");
  f.server->refused_name.clear();
  std::stop_source stop;
  stop.request_stop();
  const auto cancelled = f.provider->force_release("lock", stop.get_token()).error();
  EXPECT_EQ(cancelled.kind, ErrorKind::cancelled);
  EXPECT_EQ(cancelled.message,
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

#include "core/release/forced_release.hpp"

#include <gtest/gtest.h>

namespace leasehold::core {
namespace {

using std::chrono::milliseconds;

constexpr Owner kVictim{1, 2}, kFresh{3, 4};

LockDocument seen(const std::string& lock_id, std::int64_t expires_ms = 90'000) {
  return {.name = "l", .lock_id = lock_id, .acquired_at = {}, .corruption = {},
          .expires_at = {expires_ms}, .read_at = {30'000}};
}

TEST(ForcedRelease, WaitsForTheHoldersLeaseAndTheLargestDriftOfTheAdministratorsClock) {
  const auto force = forced_release(seen(format_lock_id({kVictim, 10'000, 7, "p"})), kFresh);
  EXPECT_EQ(force->wait, milliseconds(11'001));
  EXPECT_EQ(force->take.lease, force->wait) << "a waiting call presumes it dead after that";
  EXPECT_EQ(force->take.observed, "00000000000000010000000000000002.10000.7.p");
  EXPECT_EQ(force->free.owner, kFresh);
  const auto of_others = forced_release(seen("other software's"), kFresh);
  EXPECT_EQ(of_others->wait, milliseconds(66'001)) << "as long as the document says";
  EXPECT_EQ(forced_release(seen("other software's", 1'000), kFresh)->wait, kMinExpiry);
}

TEST(ForcedRelease, TheLongestLeaseIsWrittenInALockIdThatOthersCanRead) {
  const auto day = std::chrono::milliseconds(kMaxExpiry).count();
  const auto force = forced_release(seen(format_lock_id({kVictim, day, 7, "p"})), kFresh);
  EXPECT_TRUE(parse_lock_id(force->take.lock_id)) << force->take.lock_id;
  EXPECT_EQ(force->wait, kMaxExpiry + kMaxExpiry / 10 + milliseconds(1))
      << "the largest drift is waited for";
}

/// The holder's clock is as slow as its `max_drift` allows, the administrator's as fast.
TEST(ForcedRelease, EndsAfterTheHolderWhateverDriftThatMayHave) {
  for (const double drift : {0.0, 0.005, 0.01, 0.02, 0.05, kMaxDrift}) {
    const milliseconds lease(30'000);
    const auto force = forced_release(seen(format_lock_id({kVictim, lease.count(), 7})), kFresh);
    const std::chrono::duration<double> held =
        lease_deadline({}, lease, drift).time_since_epoch() / (1 - drift);
    EXPECT_GE(std::chrono::duration<double>(force->wait) / (1 + drift), held) << drift;
  }
}

TEST(ForcedRelease, ASecondOneWaitsNoLongerThanTheFirst) {
  const auto first = forced_release(seen(format_lock_id({kVictim, 10'000, 7, "p"})), kFresh);
  const auto second = forced_release(seen(first->take.lock_id), {5, 6});
  EXPECT_EQ(second->wait, first->wait);
}

TEST(ForcedRelease, IsRefusedWhereTheEndOfTheLeaseIsNotKnown) {
  EXPECT_FALSE(forced_release(seen("other software's", 30'001 + 86'400'000), kFresh));
  auto corrupt = seen("");
  corrupt.corruption = "lockId is int";
  EXPECT_FALSE(forced_release(corrupt, kFresh));
}

TEST(ForcedRelease, IsDoneOnlyWhereAMajorityHasIt) {
  using enum ForcedRelease::Taken;
  const auto force = forced_release(seen(format_lock_id({kVictim, 10'000, 7})), kFresh);
  Reply reply{.outcome = Outcome::done, .documents = {seen(force->take.lock_id)}};
  EXPECT_EQ(force->taken(reply), yes);
  reply.outcome = Outcome::unknown;
  EXPECT_EQ(force->taken(reply), unconfirmed);
  reply.documents.front() = seen(format_lock_id({kVictim, 10'000, 8}));
  EXPECT_EQ(force->taken(reply), no) << "it was extended";
  EXPECT_EQ(force->taken({.outcome = Outcome::not_executed}), no);
}

TEST(ForcedRelease, OffersTheLockToTheQueueAndReadsWhoHadTheLockBefore) {
  const auto force = forced_release(seen(format_lock_id({kVictim, 10'000, 7})), kFresh);
  EXPECT_EQ(force->free.owner, kFresh);
  EXPECT_TRUE(force->free.offers) << "the first in the queue takes it by an attempt of its own";
  Reply reply{.outcome = Outcome::done, .documents = {seen(force->take.lock_id)}};
  EXPECT_TRUE(force->freed(reply));
  reply.outcome = Outcome::unknown;
  EXPECT_FALSE(force->freed(reply)) << "no majority says so";
  EXPECT_FALSE(force->freed({.outcome = Outcome::done})) << "there was no document";
  EXPECT_FALSE(force->freed({.outcome = Outcome::done, .documents = {seen(to_hex(kVictim))}}));
}

}  // namespace
}  // namespace leasehold::core

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

TEST(ForcedRelease, WaitsForTheHoldersLeaseAndTheDriftOfTwoClocks) {
  const auto force = forced_release(seen(format_lock_id({kVictim, 10'000, 7, "p"})), kFresh);
  EXPECT_EQ(force->wait, milliseconds(10'100));
  EXPECT_EQ(force->take.lease, force->wait) << "a waiting call presumes it dead after that";
  EXPECT_EQ(force->take.observed, "00000000000000010000000000000002.10000.7.p");
  EXPECT_EQ(force->free.owner, kFresh);
  const auto of_others = forced_release(seen("other software's"), kFresh);
  EXPECT_EQ(of_others->wait, milliseconds(60'600)) << "as long as the document says";
  EXPECT_EQ(forced_release(seen("other software's", 1'000), kFresh)->wait, kMinExpiry);
}

TEST(ForcedRelease, OfTheLongestLeaseWritesALockIdThatOthersCanRead) {
  const auto day = std::chrono::milliseconds(kMaxExpiry).count();
  const auto force = forced_release(seen(format_lock_id({kVictim, day, 7, "p"})), kFresh);
  EXPECT_TRUE(parse_lock_id(force->take.lock_id)) << force->take.lock_id;
  EXPECT_EQ(force->wait, kMaxExpiry + kMaxExpiry / 100) << "the drift of two clocks is waited for";
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

}  // namespace
}  // namespace leasehold::core

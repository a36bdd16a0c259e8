#include "cli/admin/lock_life.hpp"

#include <gtest/gtest.h>

#include <leasehold/fencing_token.hpp>

#include "cli/output.hpp"
#include "core/document/lock_id.hpp"
#include "core/release/forced_release.hpp"

namespace leasehold::cli {
namespace {

using mongo::Json;
using Kind = LifeStep::Kind;

constexpr std::int64_t kLease_ms = 30'000;

std::string id(std::uint64_t owner, std::uint64_t beat, const std::string& holder) {
  return core::format_lock_id({{owner, 0}, kLease_ms, beat, holder});
}

Json date_at(std::int64_t ms) { return {{"$date", {{"$numberLong", std::to_string(ms)}}}}; }

Json entry(const char* op, std::int64_t at_ms, const Json& o) {
  return {{"op", op},
          {"ts", {{"$timestamp", {{"t", FencingToken::kEpochSeconds + at_ms / 1'000}, {"i", 1}}}}},
          {"wall", date_at(at_ms)},
          {"o", o}};
}

Json document(const std::string& lock_id, std::int64_t at_ms) {
  return {{"_id", "n"},
          {"lockId", lock_id},
          {"acquiredAt", date_at(at_ms)},
          {"expiresAt", date_at(at_ms + kLease_ms)}};
}

Json extension(const std::string& lock_id, std::int64_t at_ms) {
  return {{"$v", 2},
          {"diff", {{"u", {{"lockId", lock_id}, {"expiresAt", date_at(at_ms + kLease_ms)}}}}}};
}

LockLife life_of(const std::vector<Json>& entries) {
  LockLife life;
  for (const Json& one : entries) life.read(one);
  return life;
}

TEST(Span, RoundsLessThanATenthOfASecondToZeroWithoutASign) {
  EXPECT_EQ(span(-99), "0.0 s");
  EXPECT_EQ(span(-100), "-0.1 s");
  EXPECT_EQ(span(0), "0.0 s");
  EXPECT_EQ(span(-125'000), "-2 min 5 s");
}

/// Who waits writes behind the holder's own part of the lockId; a release may leave a document.
TEST(LockLife, AQueueIsNotTheHolder) {
  const auto first = id(1, 1, "a"), second = id(1, 2, "a");
  auto freed = document("", 1'000);
  freed["expiresAt"] = date_at(0);
  const auto life = life_of(
      {entry("i", 1'000, document(first, 1'000)),
       entry("u", 2'000, {{"$v", 2}, {"diff", {{"u", {{"lockId", first + "~entry"}}}}}}),
       entry("u", 9'000, {{"$v", 2}, {"diff", {{"u", {{"lockId", first + "~later entry"}}}}}}),
       entry("u", 11'000, extension(second + "~later entry", 11'000)), entry("u", 12'000, freed),
       entry("u", 13'000, document(id(2, 3, "b"), 13'000))});
  ASSERT_EQ(life.steps().size(), 4u);
  EXPECT_EQ(life.steps()[0].holder, "a");
  EXPECT_EQ(life.steps()[1].kind, Kind::extended);
  EXPECT_EQ(life.steps()[1].times, 1);
  EXPECT_EQ(life.steps()[1].at_ms, 11'000);
  EXPECT_EQ(life.steps()[2].kind, Kind::released);
  EXPECT_EQ(life.steps()[2].holder, "a");
  EXPECT_EQ(life.steps()[2].held_ms, 11'000);
  EXPECT_EQ(life.steps()[3].kind, Kind::taken);
  EXPECT_EQ(life.holder(), "b");
  EXPECT_EQ(life_of({entry("u", 12'000, freed), entry("d", 13'000, {{"_id", "n"}})}).steps().size(),
            1u)
      << "the document of a free lock is removed";
}

TEST(LockLife, TakenExtendedAndReleased) {
  const auto life = life_of({entry("i", 1'000, document(id(1, 1, "a"), 1'000)),
                             entry("u", 11'000, extension(id(1, 2, "a"), 11'000)),
                             entry("u", 21'000, extension(id(1, 3, "a"), 21'000)),
                             entry("d", 25'000, {{"_id", "n"}})});
  ASSERT_EQ(life.steps().size(), 3u);
  const auto& taken = life.steps()[0];
  EXPECT_EQ(taken.kind, Kind::taken);
  EXPECT_EQ(taken.holder, "a");
  EXPECT_EQ(taken.token, (std::int64_t{1} << 32) + 1) << "its operation time";
  const auto& extended = life.steps()[1];
  EXPECT_EQ(extended.kind, Kind::extended);
  EXPECT_EQ(extended.times, 2);
  EXPECT_EQ(extended.last_ms, 21'000);
  const auto& released = life.steps()[2];
  EXPECT_EQ(released.kind, Kind::released);
  EXPECT_EQ(released.held_ms, 24'000);
  EXPECT_TRUE(life.holder().empty());
}

TEST(LockLife, ATakeoverIsOfAnExpiredLeaseAndAHandOverIsNot) {
  const auto early = life_of({entry("i", 1'000, document(id(1, 1, "a"), 1'000)),
                              entry("u", 9'000, document(id(2, 1, "b"), 9'000))});
  EXPECT_EQ(early.steps()[1].kind, Kind::handed_on);
  EXPECT_EQ(early.steps()[1].from, "a");
  EXPECT_EQ(early.steps()[1].held_ms, 8'000);
  EXPECT_EQ(early.holder(), "b");
  const auto late = life_of({entry("i", 1'000, document(id(1, 1, "a"), 1'000)),
                             entry("u", 32'000, document(id(2, 1, "b"), 32'000))});
  EXPECT_EQ(late.steps()[1].kind, Kind::taken_over);
}

TEST(LockLife, AnExtensionMovesTheEndThatATakeoverIsHeldAgainst) {
  const auto life = life_of({entry("i", 1'000, document(id(1, 1, "a"), 1'000)),
                             entry("u", 20'000, extension(id(1, 2, "a"), 20'000)),
                             entry("u", 40'000, document(id(2, 1, "b"), 40'000))});
  EXPECT_EQ(life.steps()[2].kind, Kind::handed_on);
}

TEST(LockLife, ForceAndTheTtlMonitorAndElectionsAreToldApart) {
  const auto life =
      life_of({entry("i", 1'000, document(id(1, 1, "a"), 1'000)),
               entry("n", 2'000, {{"msg", "new primary"}}),
               entry("u", 3'000, document(id(2, 1, core::kForcedHolder), 3'000)),
               entry("d", 40'000, {{"_id", "n"}}), entry("n", 41'000, {{"msg", "periodic noop"}})});
  ASSERT_EQ(life.steps().size(), 4u);
  EXPECT_EQ(life.steps()[1].kind, Kind::new_primary);
  EXPECT_EQ(life.steps()[2].kind, Kind::forced);
  EXPECT_EQ(life.steps()[3].kind, Kind::removed);
}

/// Since 6.1 the TTL monitor writes one entry for all that it deletes in a batch.
TEST(LockLife, ADeletionInABatchIsOne) {
  const auto lock = id(1, 1, "a");
  const auto deletion = [](const char* space, const char* name) {
    return Json{{"op", "d"}, {"ns", space}, {"o", {{"_id", name}}}};
  };
  const Json batch = entry("c", 70'000,
                           {{"applyOps", Json::array({deletion("d.locks", "another"),
                                                      deletion("d.locks", "n"),
                                                      deletion("d.other", "n")})}});
  const auto writes = writes_of(batch, "d.locks", "n");
  ASSERT_EQ(writes.size(), 1u);
  EXPECT_EQ(writes_of(batch, "d.locks", "third").size(), 0u);
  const auto life = life_of({entry("i", 1'000, document(lock, 1'000)), writes[0]});
  ASSERT_EQ(life.steps().size(), 2u);
  EXPECT_EQ(life.steps()[1].kind, Kind::removed);
  EXPECT_EQ(life.steps()[1].at_ms, 70'000);
  EXPECT_EQ(life.holder(), "");
}

TEST(LockLife, ShowsAHolderWhoseGrantIsOlderThanTheFirstEntry) {
  const auto life = life_of(
      {entry("u", 11'000, extension(id(1, 2, "a"), 11'000)), entry("d", 12'000, {{"_id", "n"}})});
  ASSERT_EQ(life.steps().size(), 2u);
  EXPECT_EQ(life.steps()[0].kind, Kind::extended);
  EXPECT_EQ(life.steps()[0].holder, "a");
  EXPECT_EQ(life.steps()[1].held_ms, 0) << "nobody knows";
}

TEST(LockLife, OtherSoftwaresLockIdIsShownWhole) {
  const auto life = life_of({entry("i", 1'000, document("somebody", 1'000)),
                             entry("u", 2'000, extension("somebody", 2'000))});
  EXPECT_EQ(life.steps()[0].holder, "somebody");
  EXPECT_EQ(life.steps()[1].kind, Kind::extended);
}

}  // namespace
}  // namespace leasehold::cli

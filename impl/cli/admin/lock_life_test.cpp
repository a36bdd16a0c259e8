#include "cli/admin/lock_life.hpp"

#include <gtest/gtest.h>

#include <leasehold/fencing_token.hpp>

#include "cli/output.hpp"
#include "core/document/lock_id.hpp"
#include "core/document/lock_readers.hpp"
#include "core/release/forced_release.hpp"

namespace leasehold::cli {
namespace {

using mongo::Json;
using Told = std::vector<std::string>;

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

std::string seconds(std::int64_t ms) { return std::to_string(ms / 1'000) + " s"; }

/// Each step, and who has the lock at the end.
Told told(const std::vector<Json>& entries) {
  const LockLife life = life_of(entries);
  Told all;
  for (const LifeStep& step : life.steps()) {
    std::string line = seconds(step.at_ms) + ": " + to_string(step.kind);
    if (!step.holder.empty()) line += ' ' + step.holder;
    if (!step.from.empty()) line += " from " + step.from;
    if (step.times > 1) {
      line += ", " + std::to_string(step.times) + " times to " + seconds(step.last_ms);
    }
    if (step.held_ms > 0) line += " after " + seconds(step.held_ms);
    all.push_back(line);
  }
  all.push_back(life.holder().empty() ? "free" : life.holder() + " has it");
  return all;
}

TEST(Span, RoundsLessThanATenthOfASecondToZeroWithoutASign) {
  EXPECT_EQ(span(-99), "0.0 s");
  EXPECT_EQ(span(-100), "-0.1 s");
  EXPECT_EQ(span(0), "0.0 s");
  EXPECT_EQ(span(-125'000), "-2 min 5 s");
}

/// A group of these readers; each (owner, beat) is named after its owner.
std::string readers(const std::vector<std::pair<std::uint64_t, std::uint64_t>>& all) {
  std::string text = std::string(core::kReadersOwner) + "000030000.0.shared";
  for (const auto& [owner, beat] : all) {
    text += "|1700000060000.1700000000000." +
            core::format_lock_id(
                {{owner, 0}, kLease_ms, beat, "r" + std::to_string(owner), {}, core::kReaders});
  }
  return text;
}

TEST(LockLife, ReadersJoinAndLeaveOneByOne) {
  const auto alone = core::format_lock_id({{1, 0}, kLease_ms, 1, "r1", {}, core::kReaders});
  EXPECT_EQ(told({entry("i", 1'000, document(alone, 1'000)),
                  entry("u", 2'000, extension(readers({{1, 1}, {2, 1}}), 2'000)),
                  entry("u", 3'000, extension(readers({{1, 2}, {2, 1}}), 3'000)),
                  entry("u", 4'000, extension(readers({{2, 1}, {3, 1}}), 4'000)),
                  entry("u", 5'000, document(id(9, 1, "w"), 5'000))}),
            (Told{"1 s: taken r1", "2 s: joined r2", "3 s: extended 2 readers (r1, r2)",
                  "4 s: left r1", "4 s: joined r3",
                  "5 s: handed on w from 2 readers (r2, r3) after 4 s", "w has it"}));
}

/// Who waits writes behind the holder's own part of the lockId; a release may leave a document.
TEST(LockLife, AQueueIsNotTheHolder) {
  const auto first = id(1, 1, "a"), second = id(1, 2, "a");
  auto freed = document("", 1'000);
  freed["expiresAt"] = date_at(0);
  EXPECT_EQ(
      told({entry("i", 1'000, document(first, 1'000)),
            entry("u", 2'000, {{"$v", 2}, {"diff", {{"u", {{"lockId", first + "~entry"}}}}}}),
            entry("u", 9'000, {{"$v", 2}, {"diff", {{"u", {{"lockId", first + "~later"}}}}}}),
            entry("u", 11'000, extension(second + "~later", 11'000)),
            entry("u", 12'000, freed),
            entry("u", 13'000, document(id(2, 3, "b"), 13'000))}),
      (Told{"1 s: taken a", "11 s: extended a", "12 s: released a after 11 s", "13 s: taken b",
            "b has it"}));
  EXPECT_EQ(life_of({entry("u", 12'000, freed), entry("d", 13'000, {{"_id", "n"}})}).steps().size(),
            1u)
      << "the document of a free lock is removed";
}

TEST(LockLife, TakenExtendedAndReleased) {
  const std::vector entries{entry("i", 1'000, document(id(1, 1, "a"), 1'000)),
                            entry("u", 11'000, extension(id(1, 2, "a"), 11'000)),
                            entry("u", 21'000, extension(id(1, 3, "a"), 21'000)),
                            entry("d", 25'000, {{"_id", "n"}})};
  EXPECT_EQ(told(entries), (Told{"1 s: taken a", "11 s: extended a, 2 times to 21 s",
                                 "25 s: released a after 24 s", "free"}));
  EXPECT_EQ(life_of(entries).steps()[0].token, (std::int64_t{1} << 32) + 1)
      << "its operation time";
}

TEST(LockLife, ATakeoverIsOfAnExpiredLeaseAndAHandOverIsNot) {
  const auto taken = entry("i", 1'000, document(id(1, 1, "a"), 1'000));
  EXPECT_EQ(told({taken, entry("u", 9'000, document(id(2, 1, "b"), 9'000))}),
            (Told{"1 s: taken a", "9 s: handed on b from a after 8 s", "b has it"}));
  EXPECT_EQ(told({taken, entry("u", 32'000, document(id(2, 1, "b"), 32'000))}),
            (Told{"1 s: taken a", "32 s: taken over b from a after 31 s", "b has it"}));
  EXPECT_EQ(told({taken, entry("u", 20'000, extension(id(1, 2, "a"), 20'000)),
                  entry("u", 40'000, document(id(2, 1, "b"), 40'000))}),
            (Told{"1 s: taken a", "20 s: extended a", "40 s: handed on b from a after 39 s",
                  "b has it"}));
}

TEST(LockLife, ForceAndTheTtlMonitorAndElectionsAreToldApart) {
  const std::string force = core::kForcedHolder;
  EXPECT_EQ(told({entry("i", 1'000, document(id(1, 1, "a"), 1'000)),
                  entry("n", 2'000, {{"msg", "new primary"}}),
                  entry("u", 3'000, document(id(2, 1, force), 3'000)),
                  entry("d", 40'000, {{"_id", "n"}}),
                  entry("n", 41'000, {{"msg", "periodic noop"}})}),
            (Told{"1 s: taken a", "2 s: new primary", "3 s: forced " + force + " from a after 2 s",
                  "40 s: removed " + force + " after 37 s", "free"}));
}

/// Since 6.1 the TTL monitor writes one entry for all that it deletes in a batch.
TEST(LockLife, ADeletionInABatchIsOne) {
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
  EXPECT_EQ(told({entry("i", 1'000, document(id(1, 1, "a"), 1'000)), writes[0]}),
            (Told{"1 s: taken a", "70 s: removed a after 69 s", "free"}));
}

TEST(LockLife, AGrantBeforeTheFirstEntryIsNotKnownAndAForeignLockIdIsShownWhole) {
  EXPECT_EQ(told({entry("u", 11'000, extension(id(1, 2, "a"), 11'000)),
                  entry("d", 12'000, {{"_id", "n"}})}),
            (Told{"11 s: extended a", "12 s: released a", "free"}));
  EXPECT_EQ(told({entry("i", 1'000, document("somebody", 1'000)),
                  entry("u", 2'000, extension("somebody", 2'000))}),
            (Told{"1 s: taken somebody", "2 s: extended somebody", "somebody has it"}));
}

}  // namespace
}  // namespace leasehold::cli

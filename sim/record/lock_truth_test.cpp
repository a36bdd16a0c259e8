#include "sim/record/lock_truth.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace leasehold::sim {
namespace {

using Became = LockTruth::Became;

TEST(LockTruth, WhoQueuesChangesNothing) {
  LockTruth truth;
  EXPECT_EQ(truth.written("l", "a.1000.1", false), Became::held);
  EXPECT_EQ(truth.written("l", "a.1000.1~entry", false), Became::nothing);
  EXPECT_EQ(truth.written("l", "a.1000.1", false), Became::nothing) << "and left again";
  EXPECT_EQ(truth.written("l", "a.1000.2~entry", false), Became::held) << "an extension";
  EXPECT_EQ(truth.deleted("l"), Became::free);
}

TEST(LockTruth, WhoIsOfferedALockHasItOnlyWhenItTakesIt) {
  LockTruth truth;
  EXPECT_EQ(truth.written("l", "a.1000.1~entry", false), Became::held);
  EXPECT_EQ(truth.written("l", "b.1000.5", true), Became::free);
  EXPECT_EQ(truth.written("l", "b.1000.5~entry", true), Became::nothing);
  EXPECT_EQ(truth.written("l", "b.1000.6~entry", false), Became::held);
}

TEST(LockTruth, ADocumentOfAFreeLockIsRemovedUnnoticed) {
  LockTruth truth;
  EXPECT_EQ(truth.written("l", "a.1000.1", false), Became::held);
  EXPECT_EQ(truth.written("l", "", true), Became::free);
  EXPECT_EQ(truth.deleted("l"), Became::nothing);
  EXPECT_EQ(truth.written("l", "b.1000.1", false), Became::held);
}

TEST(LockTruth, ALockIdThatIsWrittenAgainIsAWrite) {
  LockTruth truth;
  EXPECT_EQ(truth.written("l", "guid", false), Became::held);
  EXPECT_EQ(truth.written("l", "guid", false), Became::held) << "an extension of a published lock";
}

/// "joined at 2 of 2: b.1000.5 until 1700000000123"
std::string said(const model::History& events) {
  std::string text;
  for (const auto& e : events) {
    EXPECT_EQ(e.kind, model::Kind::place);
    text += text.empty() ? "" : "; ";
    text += e.count > 0 ? "joins at " + std::to_string(e.count) : "leaves";
    text += ", " + std::to_string(e.matched) + " stand: " + e.lock_id + " until " +
            std::to_string(e.expires_at_ms);
  }
  return text;
}

std::string entry(const std::string& until, const std::string& lock_id) {
  return "~" + until + ".000001500.000003000." + lock_id;
}

TEST(LockTruth, SaysWhoJoinsTheQueueAndWhoLeavesIt) {
  LockTruth truth;
  const auto after = [&](const std::string& lock_id) {
    return said(truth.queued("l", "l", lock_id, 7));
  };
  const auto b = entry("1700000000100", "b.1000.5"), c = entry("1700000000200", "c.1000.6.host");
  EXPECT_EQ(after("a.1000.1"), "");
  EXPECT_EQ(after("a.1000.1" + b), "joins at 1, 1 stand: b.1000.5 until 1700000000100");
  EXPECT_EQ(after("a.1000.2" + b + c), "joins at 2, 2 stand: c.1000.6.host until 1700000000200");
  EXPECT_EQ(after("a.1000.2" + entry("1700000000300", "b.1000.9") + c), "") << "renewed in place";
  EXPECT_EQ(after("a.1000.2" + c + entry("1700000000400", "b.1000.9")),
            "leaves, 2 stand: b.1000.9 until 1700000000300; "
            "joins at 2, 2 stand: b.1000.9 until 1700000000400")
      << "it was over, and joins anew";
  EXPECT_EQ(after("a.1000.2" + entry("1700000000300", "b.1000.9") + c),
            "leaves, 2 stand: c.1000.6.host until 1700000000200; "
            "joins at 2, 2 stand: c.1000.6.host until 1700000000200");
  EXPECT_EQ(after("b.1000.9" + c), "leaves, 1 stand: b.1000.9 until 1700000000300");
  EXPECT_EQ(after(""), "leaves, 0 stand: c.1000.6.host until 1700000000200");
  EXPECT_EQ(after("a.1000.3~nonsense~"), "") << "what is no entry does not stand there";
}

/// Found by a fuzzer: the second entry of an owner left although it had not joined.
TEST(LockTruth, AnOwnerThatIsListedTwiceJoinsAndLeavesTwice) {
  LockTruth truth;
  int standing = 0;
  for (const std::string queue : {"~7.1.2.b.1.1", "~7.1.2.b.1.1~7.1.2.b.1.1", "~7.1.2.b.1.1", ""}) {
    for (const auto& e : truth.queued("l", "l", "a.1000.1" + queue, 1)) {
      standing += e.count > 0 ? 1 : -1;
    }
    EXPECT_EQ(standing, std::count(queue.begin(), queue.end(), '~')) << queue;
  }
}

}  // namespace
}  // namespace leasehold::sim

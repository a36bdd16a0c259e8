#include "sim/virtual/servers/replication.hpp"

#include <gtest/gtest.h>

#include "sim/virtual/servers/stamp_test.hpp"

namespace leasehold::sim::simulated {
namespace {

TEST(MemberClock, IsOffAndDriftsFromWhenItWasSet) {
  MemberClock clock;
  EXPECT_EQ(clock.shown(5 * kMs), 5 * kMs);
  clock.set(1'000 * kMs, -30, 500);
  EXPECT_EQ(clock.shown(1'000 * kMs), 970 * kMs);
  EXPECT_EQ(clock.shown(11'000 * kMs), 10'975 * kMs);  // 500 ppm of 10 s are 5 ms
  clock.set(11'000 * kMs, 0, 0);
  EXPECT_EQ(clock.shown(12'000 * kMs), 12'000 * kMs);
}

/// Nobody beats: the primary sends what is new when a test says so.
struct Way {
  EventQueue queue;
  std::vector<std::int64_t> behind_ms;
  Replication set{queue, {}, {.on_followed = [this](std::int64_t since) {
                            behind_ms.push_back((queue.now() - since) / kMs);
                          }}};

  void run_ms(std::int64_t ms) { simulated::run_ms(queue, ms); }
  void send_news(int from) {
    set.send_news(from);
    run_ms(5);
  }
};

TEST(Replication, AMemberThatFailedToFetchAsksItsSourceAgainAfterTenSeconds) {
  Way way;
  way.run_ms(1'000);
  for (const int member : {1, 2}) way.set.fail_fetch(member, 0);
  way.set.write(0, note_in_oplog());
  way.run_ms(9'990);
  way.send_news(0);
  EXPECT_EQ(way.set.at(0).data.committed(), 0u);
  EXPECT_EQ(way.set.behind_since(), 1'000 * kMs);
  way.run_ms(10);
  way.send_news(0);
  EXPECT_EQ(way.set.at(0).data.committed(), 1u);
  EXPECT_EQ(way.set.behind_since(), 0);
  EXPECT_EQ(way.behind_ms, (std::vector<std::int64_t>{10'006}));
}

TEST(Replication, AMemberShunsTheSourceThatItFailedToAskAndNoOther) {
  Way way;
  for (const int member : {1, 2}) way.set.fail_fetch(member, 0);
  way.set.at(0).is_primary = false;
  way.set.at(1).is_primary = true;
  way.set.at(1).term = 2;
  way.set.write(1, note_in_oplog());
  way.send_news(1);
  EXPECT_EQ(way.set.at(1).data.committed(), 1u);
}

/// A write of this lock, which leaves a document that says `value`; 0: a deletion.
Entry entry(std::uint32_t second, std::int64_t term, const std::string& id, std::int32_t value) {
  Object document;
  document.set("value", value);
  return {Timestamp{second, 1}, term,
          {id, value == 0 ? nullptr : std::make_shared<const Object>(document)}, nullptr};
}

std::int64_t value_of(const Document& document) {
  return document ? document->find("value")->integer() : 0;
}

TEST(MemberData, TheCollectionIsWhatTheLogLeaves) {
  MemberData data;
  data.append(entry(1, 1, "a", 1), 0);
  data.append(entry(2, 1, "a", 2), 0);
  data.append(entry(3, 1, "b", 3), 0);
  EXPECT_EQ(value_of(data.locks().find("a")), 2);
  EXPECT_EQ(value_of(data.before(1)), 1);
  EXPECT_EQ(value_of(data.before(2)), 0);
  data.roll_back_to(1);
  EXPECT_EQ(value_of(data.locks().find("a")), 1);
  EXPECT_EQ(data.locks().find("b"), nullptr);
}

TEST(MemberData, TheFencesWritesAreInTheSameLogAndInAnotherCollection) {
  MemberData data;
  Entry fenced = entry(1, 1, "a", 7);
  fenced.fenced = std::make_shared<const FencedWrite>();
  data.append(fenced, 0);
  data.append(entry(2, 1, "a", 1), 0);
  EXPECT_EQ(value_of(data.fences().find("a")), 7);
  EXPECT_EQ(value_of(data.locks().find("a")), 1);
  EXPECT_EQ(value_of(data.before(1)), 0);  // the fence's is no document of the lock
}

TEST(MemberData, LogsPartAtTheFirstEntryThatIsNotTheSame) {
  MemberData old, successor;
  old.append(entry(1, 1, "a", 1), 0);
  successor.fetch(old, 1);
  old.append(entry(2, 1, "a", 2), 0);
  successor.append(entry(2, 2, "a", 3), 0);  // of the same time, by another primary
  EXPECT_EQ(old.common_with(successor, 2), 1u);
  EXPECT_TRUE(successor.up_to_date_with(old));
  EXPECT_FALSE(old.up_to_date_with(successor));
  old.roll_back_to(1);
  old.fetch(successor, 2);
  EXPECT_EQ(old.common_with(successor, 2), 2u);
  EXPECT_TRUE(old.up_to_date_with(successor));
  EXPECT_EQ(value_of(old.locks().find("a")), 3);
}

TEST(MemberData, AKillTakesWhatNeitherTheJournalNorAMajorityHas) {
  MemberData data;
  data.append(entry(1, 1, "a", 1), 0);
  data.append(entry(2, 1, "a", 2), 150 * kMs);  // what was there before is in the journal by now
  data.append(entry(3, 1, "a", 3), 160 * kMs);
  MemberData committed = data;
  committed.commit(2);
  data.lose_what_is_not_journaled(170 * kMs);
  EXPECT_EQ(data.log().size(), 1u);
  committed.lose_what_is_not_journaled(170 * kMs);
  EXPECT_EQ(value_of(committed.locks().find("a")), 2);
}

TEST(MemberData, TheCommitPointNeverMovesBack) {
  MemberData data;
  for (std::uint32_t i = 1; i <= 3; ++i) data.append(entry(i, 1, "a", 1), 0);
  EXPECT_EQ(data.commit(2), 0u);
  EXPECT_EQ(data.commit(1), 2u);
  EXPECT_EQ(data.committed(), 2u);
}

}  // namespace
}  // namespace leasehold::sim::simulated

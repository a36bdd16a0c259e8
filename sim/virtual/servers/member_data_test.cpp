#include "sim/virtual/servers/member_data.hpp"

#include <gtest/gtest.h>

#include "sim/virtual/event_queue.hpp"

namespace leasehold::sim::simulated {
namespace {

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

TEST(MemberData, AnEmptyLogIsUpToDateWithAnEmptyOneAlone) {
  MemberData empty, other, written;
  written.append(entry(1, 1, "a", 1), 0);
  EXPECT_TRUE(empty.up_to_date_with(other));
  EXPECT_FALSE(empty.up_to_date_with(written));
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

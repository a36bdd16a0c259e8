#include "core/document/lock_queue.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace leasehold::core {
namespace {

using std::chrono::milliseconds;

std::string entry(Owner owner, const std::string& until = "1700000000000") {
  return until + entry_without_until(milliseconds(1'500), milliseconds(33'000),
                                     format_lock_id({owner, 3'000, 1, "h"}));
}

TEST(LockQueue, StandsBehindTheHoldersLockId) {
  const auto [holder, queue] = split_queue("holder~one~two");
  EXPECT_EQ(holder, "holder");
  EXPECT_EQ(queue, "one~two");
  EXPECT_EQ(split_queue("holder").lock_id, "holder");
  EXPECT_EQ(split_queue("holder").queue, "");
}

TEST(LockQueue, AnEntryHasItsPartsAtFixedPlaces) {
  const auto one = entry({1, 2});
  EXPECT_EQ(one.substr(kStandsAt, kSpanDigits), "000001500");
  EXPECT_EQ(one.substr(kLastsAt, kSpanDigits), "000033000");
  EXPECT_EQ(one.substr(kEntryLockIdAt), format_lock_id({{1, 2}, 3'000, 1, "h"}));
}

TEST(LockQueue, APlaceIsHowManyStandBefore) {
  const auto queue = entry({1, 2}) + '~' + entry({3, 4});
  EXPECT_EQ(place_among(owners_in(queue), {1, 2}), 0u);
  EXPECT_EQ(place_among(owners_in(queue), {3, 4}), 1u);
  EXPECT_EQ(place_among(owners_in(queue), {5, 6}), std::nullopt);
}

TEST(LockQueue, WhatIsNoEntryIsLeftOut) {
  const auto queue = "~odd~" + entry({3, 4}) + "~17.x.~";
  EXPECT_EQ(owners_in(queue), std::vector<Owner>({{3, 4}}));
}

TEST(LockQueue, TicketsStandBehindTheEntries) {
  const auto tickets = [](const std::string& queue) {
    const auto [taken, admitted] = tickets_in(queue);
    return std::pair(taken, admitted);
  };
  EXPECT_EQ(tickets(entry({1, 2}) + "~+.936.12"), std::pair(936L, 12L));
  EXPECT_EQ(tickets("+.2.2"), std::pair(2L, 2L));
  for (const auto& queue : {entry({1, 2}), std::string("+.5"), std::string("+.5.6"),
                            std::string("+.5.-1"), std::string("+.x.y"), std::string()}) {
    EXPECT_EQ(tickets(queue), std::pair(0L, 0L)) << queue;
  }
  EXPECT_EQ(owners_in(entry({1, 2}) + "~+.936.12").size(), 1u) << "no call";
}

TEST(LockQueue, EntriesTellWithinWhatTimeTheyWereDated) {
  const auto three = entry({1, 2}) + '~' + entry({3, 4}, "1700000000200") + '~' +
                     entry({5, 6}, "1700000000500");
  EXPECT_EQ(dated_within(three + "~+.1.0"), milliseconds(500));
  EXPECT_EQ(dated_within(entry({1, 2}) + "~+.1.0"), milliseconds(0));
  EXPECT_EQ(dated_within(entry({1, 2}, "1700000000200") + '~' + entry({3, 4})), milliseconds(0));
}

RC_GTEST_PROP(LockQueue, AnyTextIsReadWithoutHarm, (const std::string& text)) {
  RC_ASSERT(owners_in(text).size() <= text.size());
  RC_ASSERT(tickets_in("+." + text).admitted <= tickets_in("+." + text).taken);
  RC_ASSERT(dated_within(text) >= milliseconds(0));
}

RC_GTEST_PROP(LockQueue, NoHoldersNameBeginsAnEntry, (const std::string& holder)) {
  const auto id = format_lock_id({{1, 2}, 3'000, 1, without_queue_marks(holder)});
  RC_ASSERT(split_queue(id).queue.empty());
}

}  // namespace
}  // namespace leasehold::core

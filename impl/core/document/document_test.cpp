#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "core/document/lock_id.hpp"
#include "core/document/lock_queue.hpp"
#include "core/document/lock_readers.hpp"

namespace leasehold::core {
namespace {

using std::chrono::milliseconds;

RC_GTEST_PROP(LockId, ReadsBackWhatItWrites,
              (std::uint64_t high, std::uint64_t low, std::uint64_t beat, bool with_holder)) {
  const LockId parts{{high, low},
                     *rc::gen::inRange<std::int64_t>(100, 86'400'001),
                     beat,
                     with_holder ? "host.name:1:app" : ""};
  const auto text = format_lock_id(parts);
  RC_ASSERT(parse_lock_id(text) == std::optional(parts));
}

TEST(LockId, AQueueIsNoPartOfTheHolder) {
  const std::string text = std::string(32, 'a') + ".30000.7.host.name:1:app~entry~entry";
  const auto id = parse_lock_id(text);
  ASSERT_TRUE(id);
  EXPECT_EQ(id->holder, "host.name:1:app");
  EXPECT_EQ(id->queue, "entry~entry");
  EXPECT_EQ(split_queue("theirs").queue, "");
  EXPECT_EQ(holder_for_people("theirs~entry"), "theirs");
  EXPECT_EQ(holder_for_people("~entry"), "");
}

TEST(LockId, ForeignFormsAreNotOurs) {
  const std::string owner(32, 'a');
  for (const auto& id :
       {owner, owner + ".3000", owner + ".3000.", owner + "..1", owner + ".-5.1", owner + ".99.1",
        owner + ".86400001.1", owner + ".3000.x", "A" + owner.substr(1) + ".3000.1",
        owner + "a.3000.1", owner.substr(1) + ".3000.1", std::string(), owner + ".0x30.1",
        owner + ".99999999999999999999.1"}) {
    EXPECT_FALSE(parse_lock_id(id)) << id;
  }
}

std::string entry(Owner owner) {
  return "1700000000000" + entry_without_until(milliseconds(1'500), milliseconds(33'000),
                                               format_lock_id({owner, 3'000, 1, "h"}));
}

TEST(LockQueue, AnEntryHasItsPartsAtFixedPlaces) {
  const auto one = entry({1, 2});
  EXPECT_EQ(one.substr(kStandsAt, kSpanDigits), "000001500");
  EXPECT_EQ(one.substr(kLastsAt, kSpanDigits), "000033000");
  EXPECT_EQ(one.substr(kEntryLockIdAt), format_lock_id({{1, 2}, 3'000, 1, "h"}));
}

TEST(LockQueue, APlaceIsHowManyStandBeforeAndTextThatIsNoEntryIsLeftOut) {
  const auto owners = owners_in("~odd~" + entry({1, 2}) + "~17.x.~" + entry({3, 4}) + '~');
  EXPECT_EQ(owners, std::vector<Owner>({{1, 2}, {3, 4}}));
  EXPECT_EQ(place_among(owners, {3, 4}), 1u);
  EXPECT_EQ(place_among(owners, {5, 6}), std::nullopt);
}

TEST(LockQueue, TicketsStandBehindTheEntries) {
  const auto tickets = [](const std::string& queue) {
    const auto [taken, admitted] = tickets_in(queue);
    return std::pair(taken, admitted);
  };
  EXPECT_EQ(tickets(entry({1, 2}) + "~+.936.12"), std::pair(936L, 12L));
  EXPECT_EQ(tickets("+.2.2"), std::pair(2L, 2L));
  for (const auto* odd : {"", "+.5", "+.5.6", "+.5.-1", "+.x.y"}) {
    EXPECT_EQ(tickets(odd), std::pair(0L, 0L)) << odd;
  }
  EXPECT_EQ(owners_in(entry({1, 2}) + "~+.936.12").size(), 1u) << "no call";
}

RC_GTEST_PROP(LockQueue, AnyTextIsReadWithoutHarm, (const std::string& text)) {
  (void)parse_lock_id(text);
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

#include "core/document/lock_readers.hpp"

#include <gtest/gtest.h>

namespace leasehold::core {
namespace {

const Owner kAnn{0xA, 1}, kBen{0xB, 2}, kNobody{0xC, 3};

std::string entry(std::string until, Owner owner, std::string holder = "host:1:") {
  return until + ".1700000000000." + format_lock_id({owner, 30'000, 7, holder, {}, kReaders});
}
const std::string kTwo = std::string(kReadersOwner) + "000030000.0.shared|" +
                         entry("1700000060000", kAnn) + '|' + entry("1700000050000", kBen);

TEST(LockReaders, AReadersLeaseHasNineDigitsAndIsTheSameNumber) {
  const auto id = format_lock_id({kAnn, 30'000, 7, "host", {}, kReaders});
  EXPECT_EQ(id, to_hex(kAnn) + ".000030000.7.host");
  const auto parts = parse_lock_id(id);
  ASSERT_TRUE(parts);
  EXPECT_EQ(parts->lease_ms, 30'000);
  EXPECT_EQ(parts->room, kReaders);
  const auto writers = format_lock_id({kAnn, 86'400'000, 7});
  EXPECT_EQ(parse_lock_id(writers)->room, 0);
}

TEST(LockReaders, APermitsLeaseSaysOfHowManyAndItsEntryWhich) {
  const auto id = format_lock_id({kAnn, 86'400'000, 7, "host", {}, 1'000});
  EXPECT_EQ(id, to_hex(kAnn) + ".9000100086400000.7.host");
  EXPECT_EQ(parse_lock_id(id)->room, 1'000);
  EXPECT_EQ(parse_lock_id(id)->lease_ms, 86'400'000);
  const auto text = std::string(kReadersOwner) + "9000100086400000.0.shared|" +
                    "1700000060000." + since_text({1'700'000'000'000}, 1'000, 999) + '.' + id;
  ASSERT_EQ(readers_in(text).size(), 1u);
  EXPECT_EQ(readers_in(text)[0].slot, 999);
  const auto own = holding_of({.name = "l", .lock_id = text}, kAnn);
  EXPECT_EQ(own.lock_id, id);
  EXPECT_EQ(own.slot, 999);
  EXPECT_EQ(own.acquired_at.since_1970_ms, 1'700'000'000'000);
  EXPECT_EQ(holder_for_people(text), "1 of 1000 permits (host)");
}

TEST(LockReaders, ForOthersTheyAreOneHolderWithTheLongestLease) {
  const auto parts = parse_lock_id(kTwo);
  ASSERT_TRUE(parts);
  EXPECT_EQ(parts->owner, Owner());
  EXPECT_EQ(parts->lease_ms, 30'000);
}

TEST(LockReaders, EachIsReadAndTheQueueIsNoReader) {
  const auto text = kTwo + "~" + entry("1700000060000", kNobody);
  const auto all = readers_in(text);
  ASSERT_EQ(all.size(), 2);
  EXPECT_EQ(all[1].until.since_1970_ms, 1700000050000);
  EXPECT_EQ(all[1].since.since_1970_ms, 1700000000000);
  EXPECT_EQ(parse_lock_id(all[1].lock_id)->owner, kBen);
}

TEST(LockReaders, TextThatIsNoEntryIsLeftOut) {
  const std::string begin = std::string(kReadersOwner) + "000030000.0.shared|";
  EXPECT_TRUE(readers_in(begin).empty());
  EXPECT_TRUE(readers_in(begin + "short|170000006000x.1700000000000.x").empty());
  EXPECT_TRUE(readers_in(to_hex(kAnn) + ".30000.1.with|a mark").empty());
  EXPECT_TRUE(readers_in("").empty());
}

TEST(LockReaders, AReaderSeesItsOwnEntryInThePlaceOfAHolder) {
  LockDocument document{.name = "l", .lock_id = kTwo, .acquired_at = {5}};
  const auto bens = holding_of(document, kBen);
  EXPECT_EQ(bens.acquired_at.since_1970_ms, 1700000000000);
  EXPECT_TRUE(names_owner(bens.lock_id, kBen));
  EXPECT_EQ(holding_of(document, kNobody), document);
}

TEST(LockReaders, PeopleAreToldHowManyAndWho) {
  EXPECT_EQ(holder_for_people(kTwo + "~" + entry("1700000060000", kNobody)),
            "2 readers (host:1:, host:1:)");
  EXPECT_EQ(holder_for_people(kTwo + '|' + entry("1700000050000", {4, 4}, "cid") + '|' +
                              entry("1700000050000", {5, 5}, "dan")),
            "4 readers (host:1:, host:1:, cid, ...)");
}

TEST(LockReaders, ANameIsCutAndEndsNoEntry) {
  EXPECT_EQ(readers_holder("a|b"), "a-b");
  EXPECT_EQ(readers_holder(std::string(63, 'x') + "\u00e4").size(), 63);
}

}  // namespace
}  // namespace leasehold::core

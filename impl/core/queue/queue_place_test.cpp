#include "core/queue/queue_place.hpp"

#include <gtest/gtest.h>

#include "core/document/lock_queue.hpp"
#include "core/limits.hpp"

namespace leasehold::core {
namespace {

using std::chrono::milliseconds;

constexpr Owner kOwn{1, 1};

/// What a look showed: how much later than the one before, and the tickets then.
struct Look {
  milliseconds later;
  Tickets tickets;
  std::uint64_t places = kMostInQueue;
  milliseconds apart{0};  ///< the dates of two entries
};

Reply shown_by(const Look& look, std::int64_t at = 1, Outcome outcome = Outcome::done) {
  LockDocument document;
  for (std::uint64_t i = 0; i < look.places; ++i) {
    const auto until = 1'700'000'000'000 + static_cast<std::int64_t>(i) * look.apart.count();
    const auto entry = entry_without_until(milliseconds(1'500), milliseconds(33'000),
                                           format_lock_id({{7, i}, 3'000, 1}));
    document.queue += std::to_string(until) + entry + '~';
  }
  document.queue += "+." + std::to_string(look.tickets.taken) + '.' +
                    std::to_string(look.tickets.admitted);
  Reply reply;
  reply.outcome = outcome;
  reply.operation_time = FencingToken(at);
  reply.documents = {document};
  return reply;
}

/// The place of a call that was shown these, by attempts of its own.
QueuePlace place_after(const std::vector<Look>& looks) {
  QueuePlace place;
  LocalInstant now;
  for (const auto& look : looks) {
    place.sent(1, now);
    now += look.later;
    place.shown(shown_by(look), kOwn, now);
  }
  return place;
}

TEST(QueuePlace, ACallThatFindsNoRoomHasTheTicketThatItsLookTook) {
  EXPECT_EQ(place_after({{milliseconds(0), {10, 3}}}).ticket(), 10);
  EXPECT_EQ(place_after({{milliseconds(0), {10, 3}}, {milliseconds(9), {12, 4}}}).ticket(), 10);
  QueuePlace polled;  // by an attempt that takes none
  polled.shown(shown_by({milliseconds(0), {10, 3}}), kOwn, LocalInstant());
  EXPECT_EQ(polled.ticket(), std::nullopt);
}

TEST(QueuePlace, ATicketOfNumbersThatAreOverIsNone) {
  EXPECT_EQ(place_after({{milliseconds(0), {10, 3}}, {milliseconds(9), {9, 4}}}).ticket(),
            std::nullopt);
}

TEST(QueuePlace, AtFirstSightATurnTakesAsLongAsAMajorityWriteAtLeast) {
  const auto place = place_after({{milliseconds(0), {500, 100}}});
  EXPECT_EQ(place.room_in(), (400 + 16) * milliseconds(3)) << "until 48 of 64 places are taken";
  EXPECT_EQ(place.full_queue_lasts(), Duration(0));
}

TEST(QueuePlace, OnceCallsJoinAsOthersAreServedTheirDatesSayHowLongATurnTakes) {
  const auto place =
      place_after({{milliseconds(0), {500, 100}, kMostInQueue, milliseconds(10)}});
  EXPECT_EQ(place.room_in(), (400 + 16) * milliseconds(10));
  EXPECT_EQ(place.full_queue_lasts(), milliseconds(640));
}

TEST(QueuePlace, TwoLooksSayHowLongATurnTakes) {
  const auto place =
      place_after({{milliseconds(0), {500, 100}}, {milliseconds(2'000), {600, 190}, 54}});
  EXPECT_EQ(place.room_in(), (310 + 6) * milliseconds(20)) << "90 joined and 100 left";
  EXPECT_EQ(place.full_queue_lasts(), 54 * milliseconds(20));
}

TEST(QueuePlace, AQueueThatHasNotMovedIsWatchedFromItsFirstSight) {
  std::vector<Look> looks{{milliseconds(0), {2, 1}}, {milliseconds(4'000), {2, 1}}};
  EXPECT_EQ(place_after(looks).room_in(), milliseconds(4'000)) << "as long again";
  looks.push_back({milliseconds(2'000), {2, 2}, kMostInQueue - 1});
  EXPECT_EQ(place_after(looks).room_in(), 15 * milliseconds(3'000));
}

/// Its queue may be full of others; who left it then would leave an entry, and perhaps the lock.
TEST(QueuePlace, AnOldPrimaryTakesNobodysPlaceAway) {
  const Look found{milliseconds(0), {}}, full{milliseconds(0), {10, 3}, 20};
  QueuePlace place;
  place.sent(1, LocalInstant());
  place.shown(shown_by(found, 9), {7, 21}, LocalInstant());
  place.shown(shown_by(full, 8), {7, 21}, LocalInstant());
  place.shown(shown_by(full, 10, Outcome::unknown), {7, 21}, LocalInstant());
  EXPECT_TRUE(place.stands());
  EXPECT_EQ(place.ticket(), std::nullopt);
  place.shown(shown_by(full, 10), {7, 21}, LocalInstant());
  EXPECT_FALSE(place.stands());
  place.shown(shown_by(found, 11, Outcome::unknown), {7, 21}, LocalInstant());
  EXPECT_TRUE(place.stands()) << "it may have one, and is to leave it";
}

TEST(QueuePlace, ACallThatStandsInTheQueueOrSeesNobodyFindsNothingFull) {
  for (const Look& look : {Look{milliseconds(0), {2, 1}, 0}, Look{milliseconds(0), {2, 2}, 30}}) {
    auto place = place_after({{milliseconds(0), {1, 0}}, {milliseconds(160), {2, 1}}});
    place.shown(shown_by(look), {7, 21}, LocalInstant());
    EXPECT_EQ(place.room_in(), std::nullopt);
    EXPECT_EQ(place.ticket(), std::nullopt);
  }
}

}  // namespace
}  // namespace leasehold::core

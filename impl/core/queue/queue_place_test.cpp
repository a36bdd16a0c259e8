#include "core/queue/queue_place.hpp"

#include <gtest/gtest.h>

#include "core/document/lock_queue.hpp"
#include "core/limits.hpp"

namespace leasehold::core {
namespace {

using std::chrono::milliseconds;

constexpr Owner kOwn{1, 1};

/// A queue of so many, of whom so many are gone since the first.
LockDocument queue_of(std::size_t size, std::uint64_t gone) {
  LockDocument document;
  for (std::uint64_t i = 0; i < size; ++i) {
    const auto entry = entry_without_until(milliseconds(1'500), milliseconds(33'000),
                                           format_lock_id({{7, gone + i}, 3'000, 1}));
    document.queue += (i == 0 ? "" : "~") + std::string("1700000000000") + entry;
  }
  return document;
}

/// The place of a call that was shown queues as long as can be, so far on and so much later each.
QueuePlace place_after(const std::vector<std::pair<std::uint64_t, milliseconds>>& looks) {
  QueuePlace place;
  LocalInstant now;
  for (const auto& [gone, later] : looks) {
    now += later;
    place.shown(queue_of(kMostInQueue, gone), kOwn, FencingToken(1), now);
  }
  return place;
}

TEST(QueuePlace, AtTheFirstSightOfAFullQueueNobodyKnowsHowLongItLasts) {
  EXPECT_EQ(place_after({{0, milliseconds(0)}}).full_queue_lasts(), Duration(0));
}

TEST(QueuePlace, AFullQueueLastsAsLongAsItsPlacesTakeThatWereServed) {
  const auto place = place_after({{0, milliseconds(0)}, {16, milliseconds(160)}});
  EXPECT_EQ(place.full_queue_lasts(), milliseconds(640));
}

TEST(QueuePlace, WhatHasNotMovedIsWatchedFromItsFirstSight) {
  const auto place =
      place_after({{0, milliseconds(0)}, {0, milliseconds(100)}, {32, milliseconds(100)}});
  EXPECT_EQ(place.full_queue_lasts(), milliseconds(400));
}

TEST(QueuePlace, AQueueOfNobodySeenBeforeWasServedWhole) {
  const auto place = place_after({{0, milliseconds(0)}, {500, milliseconds(900)}});
  EXPECT_EQ(place.full_queue_lasts(), milliseconds(900));
}

TEST(QueuePlace, OneThatWasServedWholeSaysNothingNewOfHowLongThatTakes) {
  const auto place = place_after(
      {{0, milliseconds(0)}, {32, milliseconds(200)}, {500, milliseconds(900)}});
  EXPECT_EQ(place.full_queue_lasts(), milliseconds(400));
}

TEST(QueuePlace, WhoStandsThereOrSeesNobodyFindsNothingFull) {
  for (const auto& document : {queue_of(0, 0), queue_of(3, 20)}) {
    auto place = place_after({{0, milliseconds(0)}, {16, milliseconds(160)}});
    place.shown(document, {7, 21}, FencingToken(1), LocalInstant());
    EXPECT_EQ(place.full_queue_lasts(), std::nullopt);
  }
}

}  // namespace
}  // namespace leasehold::core

#include <gtest/gtest.h>

#include "core/testing/core_world.hpp"

namespace leasehold::core::release_test {
namespace {

using std::chrono::milliseconds;
using World = CoreWorld;

/// Session 1 held, and its release is under way.
World releasing() {
  World w;
  w.hold(1);
  w.give(ReleaseAsked{1});
  return w;
}

TEST(Release, IsOneDeleteOfTheOwnerAndSaysWhatItFound) {
  auto w = releasing();
  ASSERT_EQ(w.sent_as<DeleteCommand>().size(), 1u);
  w.give(ReleaseAsked{1});
  EXPECT_TRUE(w.effects.empty()) << "it is asked for already";
  w.reply(World::with(Outcome::done, 1));
  ASSERT_TRUE(w.has<Released>());
  EXPECT_EQ(w.find<Released>()->result, ReleaseResult::released);
  w.advance(milliseconds(10'000));
  EXPECT_TRUE(w.sent_as<ExtendCommand>().empty());
  EXPECT_EQ(w.sent_as<DeleteCommand>().size(), 1u);
}

/// A primary that was cut off before the win answers that nothing was there.
TEST(Release, AReplyOfATimeBeforeTheWinIsNoAnswer) {
  auto w = releasing();
  Reply old = World::with(Outcome::done, 0);
  old.operation_time = FencingToken(999);  // the win's is 1000
  w.reply(old);
  EXPECT_FALSE(w.has<Released>());
  w.advance(milliseconds(300));
  EXPECT_EQ(w.sent_as<DeleteCommand>().size(), 2u) << "it is sent again";
  w.reply(World::with(Outcome::done, 1));
  EXPECT_EQ(w.find<Released>()->result, ReleaseResult::released);
}

TEST(Release, IsReportedUnknownInTimeAndGoesOnInTheBackground) {
  auto w = releasing();
  w.advance(milliseconds(1'000));
  ASSERT_TRUE(w.has<Released>());
  EXPECT_EQ(w.find<Released>()->result, ReleaseResult::unknown);
  EXPECT_EQ(w.core.departures_left(), 1u);
  w.advance(milliseconds(250));
  EXPECT_EQ(w.sent_as<DeleteCommand>().size(), 2u);
  w.find_nothing();
  EXPECT_EQ(w.core.departures_left(), 0u);
}

TEST(CleanUp, AfterALostReplyRepeatsUntilAcknowledgedAndOnceMore) {
  World w;
  w.acquire(1, "lock", World::options(), std::nullopt, true);
  w.reply(World::with(Outcome::unknown));
  EXPECT_EQ(w.find<Ended>()->error.kind, ErrorKind::unknown_outcome);
  ASSERT_EQ(w.sent_as<DeleteCommand>().size(), 1u);
  w.reply(World::with(Outcome::not_executed));
  w.advance(milliseconds(250));
  ASSERT_EQ(w.sent_as<DeleteCommand>().size(), 2u);
  w.reply(World::with(Outcome::done, 1));
  EXPECT_EQ(w.core.departures_left(), 0u) << "acknowledged once";
  w.advance(milliseconds(1'000));
  EXPECT_EQ(w.sent_as<DeleteCommand>().size(), 3u) << "against a request still on its way";
  w.find_nothing();
  w.advance(milliseconds(20'000));
  EXPECT_EQ(w.sent_as<DeleteCommand>().size(), 3u);
}

/// Many processes that clean up at full rate keep an overloaded server from recovering.
TEST(CleanUp, PausesLongerAfterEachFailureButEndsInTime) {
  World w;
  auto o = World::options();
  o.expiry = milliseconds(30'000);
  const auto began = w.now;
  w.acquire(1, "lock", o, std::nullopt, true);
  w.reply(World::with(Outcome::unknown));
  std::vector<milliseconds> sent;
  while (w.core.departures_left() > 0) {
    sent.push_back(std::chrono::duration_cast<milliseconds>(w.now - began));
    w.reply(World::with(Outcome::not_executed));
    const auto deletes = w.sent_as<DeleteCommand>().size();
    while (w.core.departures_left() > 0 && w.sent_as<DeleteCommand>().size() == deletes) {
      w.advance(milliseconds(500));
    }
  }
  EXPECT_EQ(std::vector(sent.begin(), sent.begin() + 5),
            (std::vector<milliseconds>{milliseconds(0), milliseconds(1'000), milliseconds(3'000),
                                       milliseconds(7'000), milliseconds(12'000)}));
  EXPECT_EQ(sent.back(), milliseconds(60'000)) << "two expiries";
}

/// A permission that was taken away, say.
TEST(Release, OneThatTheServerWillNeverTakeIsWarnedOfAndNotRepeated) {
  auto w = releasing();
  auto refused = World::with(Outcome::configuration);
  refused.message = "not authorized";
  w.reply(refused);
  EXPECT_EQ(w.find<Released>()->result, ReleaseResult::unknown);
  EXPECT_EQ(w.find<Warned>()->message, "lock 'lock' cannot be deleted: not authorized");
  w.advance(milliseconds(10'000));
  EXPECT_EQ(w.sent_as<DeleteCommand>().size(), 1u);
  EXPECT_EQ(w.core.departures_left(), 0u);
}

}  // namespace
}  // namespace leasehold::core::release_test

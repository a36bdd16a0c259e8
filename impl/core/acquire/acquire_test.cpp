#include <gtest/gtest.h>

#include "core/testing/core_world.hpp"

namespace leasehold::core::acquire_test {
namespace {

using std::chrono::milliseconds;
using World = CoreWorld;

TEST(Acquire, SendsOneCommandThatNamesOwnerLeaseAndBeat) {
  World w;
  w.acquire(1);
  const auto body = std::get<AcquireCommand>(w.last_command().body);
  EXPECT_EQ(body.lock_id, to_hex({1, 2}) + ".3000.1.host:1:test");
  EXPECT_EQ(body.margin, milliseconds(30'000));
  EXPECT_FALSE(body.observed);
  EXPECT_EQ(w.last_command().timeout, milliseconds(1'000));
}

TEST(Acquire, GrantsWithTheTokenAndADeadlineCountedFromTheSending) {
  World w;
  const auto sent = w.now;
  w.acquire(1);
  w.now += milliseconds(200);
  w.reply(w.won(w.last_command(), 4'711));
  const auto* granted = w.find<Granted>();
  ASSERT_NE(granted, nullptr);
  EXPECT_EQ(granted->token, FencingToken(4'711));
  EXPECT_EQ(granted->sent, sent);
  EXPECT_EQ(granted->deadline, lease_deadline(sent, milliseconds(3'000), 0.005));
  EXPECT_LT(granted->deadline, sent + milliseconds(2'986));
}

TEST(Acquire, AnothersLockIdIsRefusedEvenBesideAWriteConcernError) {
  World w;
  w.acquire(1, "lock", World::options(), std::nullopt, true);
  auto reply = World::refused(to_hex({9, 9}) + ".3000.1.db:1:app");
  reply.outcome = Outcome::unknown;
  w.reply(reply);
  ASSERT_TRUE(w.has<Ended>());
  EXPECT_EQ(w.find<Ended>()->error.kind, ErrorKind::refused);
  EXPECT_EQ(w.find<Ended>()->error.message, "lock 'lock': held by db:1:app");
  EXPECT_EQ(w.count<Send>(), 1) << "nothing can have been won, so nothing is cleaned up";
}

TEST(Acquire, RetriesAtOnceWithTheSameOwnerAfterALostReply) {
  World w;
  w.acquire(1);
  w.advance(milliseconds(1'000));  // the operation timeout
  EXPECT_EQ(w.count<Abandon>(), 1);
  const auto sent = w.sent_as<AcquireCommand>();
  ASSERT_EQ(sent.size(), 2u);
  const auto& first = std::get<AcquireCommand>(sent[0].body);
  const auto& second = std::get<AcquireCommand>(sent[1].body);
  EXPECT_EQ(first.owner, second.owner);
  EXPECT_NE(first.lock_id, second.lock_id) << "the beat names the execution";
  w.give(ReplyArrived{sent[0].id, w.won(sent[0])});
  EXPECT_TRUE(w.effects.empty()) << "an abandoned command gets no answer";
  w.reply(w.won(w.last_command()));
  EXPECT_TRUE(w.has<Granted>());
}

TEST(Acquire, ADriverRetriedReplyGivesNoToken) {
  World w;
  w.acquire(1);
  auto reply = w.won(w.last_command());
  reply.retried = true;
  w.reply(reply);
  EXPECT_FALSE(w.has<Granted>());
  EXPECT_EQ(w.sent_as<AcquireCommand>().size(), 2u);
}

TEST(Acquire, AWinThatArrivesPastItsDeadlineIsGivenBackAndTheCallGoesOnWithAFreshOwner) {
  World w;
  auto slow = World::options();
  w.acquire(1, "lock", slow);
  const auto first = w.last_command();
  w.now += milliseconds(2'990);  // the process was paused: no timer ran
  w.give(ReplyArrived{first.id, w.won(first)});
  EXPECT_FALSE(w.has<Granted>());
  ASSERT_EQ(w.sent_as<DeleteCommand>().size(), 1u);
  const auto removed = std::get<DeleteCommand>(w.sent_as<DeleteCommand>()[0].body);
  const auto again = std::get<AcquireCommand>(w.sent_as<AcquireCommand>().back().body);
  EXPECT_EQ(removed.owner, std::get<AcquireCommand>(first.body).owner);
  EXPECT_NE(again.owner, removed.owner);
}

TEST(Acquire, ATokenNotAboveTheStoredOneEndsTheCallAndDeletesItsOwner) {
  World w;
  w.acquire(1);
  auto reply = w.won(w.last_command(), 50);
  reply.documents[0].fencing_token = 50;
  w.reply(reply);
  ASSERT_TRUE(w.has<Ended>());
  EXPECT_NE(w.find<Ended>()->error.message.find("not above the stored 50"), std::string::npos);
  EXPECT_EQ(w.sent_as<DeleteCommand>().size(), 1u);
}

TEST(Acquire, WaitsByTheStrategyBetweenRefusals) {
  World w;
  w.acquire(1);
  w.reply(World::refused("0123456789abcdef0123456789abcdef"));
  w.advance(milliseconds(99));
  EXPECT_EQ(w.sent_as<AcquireCommand>().size(), 1u);
  w.advance(milliseconds(1));
  EXPECT_EQ(w.sent_as<AcquireCommand>().size(), 2u);
}

TEST(Acquire, ADeadHoldersLockIdIsComparedExactlyWhenItsSightMatures) {
  World w;
  auto o = World::options();
  o.waiting = uniform_waiting(milliseconds(60'000), milliseconds(60'000));
  w.acquire(1, "lock", o);
  const auto dead = to_hex({9, 9}) + ".500.7";
  w.reply(World::refused(dead));
  w.advance(milliseconds(502));
  EXPECT_EQ(w.sent_as<AcquireCommand>().size(), 1u) << "lease and drift are not over";
  w.advance(milliseconds(2));
  ASSERT_EQ(w.sent_as<AcquireCommand>().size(), 2u) << "at maturity, whatever the strategy says";
  EXPECT_EQ(std::get<AcquireCommand>(w.last_command().body).observed, dead);
}

TEST(Acquire, ARenewalSeenStartsTheObservationAnew) {
  World w;
  w.acquire(1);
  w.reply(World::refused(to_hex({9, 9}) + ".500.7"));
  w.advance(milliseconds(100));
  w.reply(World::refused(to_hex({9, 9}) + ".500.8"));
  for (int i = 0; i < 4; ++i) {
    w.advance(milliseconds(100));
    EXPECT_FALSE(std::get<AcquireCommand>(w.last_command().body).observed);
    w.reply(World::refused(to_hex({9, 9}) + ".500.8"));
  }
}

TEST(Acquire, ObservationsAreSharedByTheCallsOfAProvider) {
  World w;
  const auto dead = to_hex({9, 9}) + ".500.7";
  w.acquire(1, "lock", World::options(), std::nullopt, true);
  w.reply(World::refused(dead));
  w.advance(milliseconds(600));
  w.acquire(2, "lock", World::options(), std::nullopt, true);
  EXPECT_EQ(std::get<AcquireCommand>(w.last_command().body).observed, dead);
}

TEST(Acquire, TimesOutOnTimeAndNamesTheLastFailure) {
  World w;
  w.acquire(1, "lock", World::options(), milliseconds(250));
  w.reply(World::refused(to_hex({9, 9}) + ".3000.7.db:1:app"));
  w.advance(milliseconds(100));
  w.reply(World::refused(to_hex({9, 9}) + ".3000.7.db:1:app"));
  w.advance(milliseconds(100));
  w.reply(World::refused(to_hex({9, 9}) + ".3000.7.db:1:app"));
  w.advance(milliseconds(50));
  ASSERT_TRUE(w.has<Ended>());
  EXPECT_EQ(w.find<Ended>()->error.kind, ErrorKind::timed_out);
  EXPECT_EQ(w.find<Ended>()->error.message,
            "lock 'lock': timed out; last attempt: held by db:1:app");
  EXPECT_TRUE(w.sent_as<DeleteCommand>().empty());
}

TEST(Acquire, ConfigurationErrorsEndTheCallAtOnce) {
  World w;
  w.acquire(1);
  auto reply = World::with(Outcome::configuration);
  reply.code = 13;
  reply.message = "not authorized";
  w.reply(reply);
  ASSERT_TRUE(w.has<Ended>());
  EXPECT_EQ(w.find<Ended>()->error, (Error{ErrorKind::configuration, 13, "not authorized"}));
  EXPECT_TRUE(w.sent_as<DeleteCommand>().empty()) << "it was not executed";
}

TEST(Acquire, ACorruptDocumentIsHeldAndReportedOnce) {
  World w;
  w.acquire(1);
  auto reply = World::refused("x");
  reply.documents[0].corruption = "expiresAt is a string";
  w.reply(reply);
  ASSERT_TRUE(w.has<Warned>());
  EXPECT_NE(w.find<Warned>()->message.find("expiresAt is a string"), std::string::npos);
  w.advance(milliseconds(100));
  w.reply(reply);
  EXPECT_EQ(w.count<Warned>(), 1);
}

TEST(Acquire, TheTtlIndexIsAskedForOnceAndOffTheAcquirePath) {
  World w;
  w.hold(1, "a");
  w.hold(2, "b");
  ASSERT_EQ(w.sent_as<EnsureIndexCommand>().size(), 1u);
  auto reply = World::with(Outcome::done);
  reply.message = "none on expiresAt";
  w.give(ReplyArrived{w.sent_as<EnsureIndexCommand>()[0].id, reply});
  EXPECT_TRUE(w.has<Warned>());
}

/// A write concern that can never be met: executed, but no majority will acknowledge it.
TEST(Acquire, AnUnknownOutcomeThatNoTryCanMendEndsTheCallAndIsCleanedUp) {
  World w;
  w.acquire(1);
  auto permanent = World::with(Outcome::unknown);
  permanent.permanent = true;
  w.reply(permanent);
  ASSERT_TRUE(w.has<Ended>());
  EXPECT_EQ(w.find<Ended>()->error.kind, ErrorKind::configuration);
  EXPECT_EQ(w.sent_as<DeleteCommand>().size(), 1u);
}

/// The lock is not reentrant: the first mistake with it is to wait for a lock of one's own.
TEST(Acquire, BehindALockOfItsOwnProcessSaysSo) {
  World w;
  w.hold(1);
  w.give(AcquireAsked{2, "lock", World::options(), w.now + milliseconds(300), false});
  w.advance(milliseconds(300));
  EXPECT_EQ(w.find<Ended>()->error.message,
            "lock 'lock': timed out; another call of this process has the lock, or waited for it "
            "before");
}

}  // namespace
}  // namespace leasehold::core::acquire_test

#include <gtest/gtest.h>

#include "core/queue/queue_test.hpp"

namespace leasehold::core::passed_on_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr milliseconds kRenewal(500);  ///< of an entry, at first

using World = QueueWorld;

TEST(LockQueues, ACallThatIsRefusedStandsInTheQueueAndHearsOfItsOwnersAlone) {
  World w;
  w.acquire(1, "lock", World::queued());
  EXPECT_FALSE(w.asked().queues_for) << "who finds a lock free needs no entry";
  w.give(ReplyArrived{w.attempt().id, World::refused(World::kRival)});
  ASSERT_EQ(w.attempts(), 2u) << "at once";
  EXPECT_TRUE(w.asked().queues_for);
  EXPECT_TRUE(w.sent_as<StreamCommand>().empty()) << "nor a stream";
  w.answer_queued();
  const auto open = std::get<StreamCommand>(w.stream().body);
  EXPECT_EQ(open.provider, w.asked().owner.high);
  w.answer_stream();
  EXPECT_EQ(w.attempts(), 2u) << "the stream begins where it stood";
  w.acquire(2, "other", World::queued());
  EXPECT_EQ(w.asked().owner.high, open.provider) << "as all its owners begin";
}

TEST(LockQueues, AFirstAttemptEnlistsWhereARivalWasSeenLately) {
  for (const auto later : {seconds(0), seconds(10)}) {
    auto w = World::waiting();
    w.give(CancelAsked{1});
    w.leave_answered_at(++w.oplog);
    w.now += later;
    w.acquire(2, "lock", World::queued());
    EXPECT_EQ(w.asked().queues_for.has_value(), later == seconds(0));
  }
}

TEST(LockQueues, WithoutARivalThePairOfCommandsIsThatOfACallThatPolls) {
  for (const auto& options : {World::queued(), World::options()}) {
    World w;
    for (SessionId id = 1; id < 4; ++id) {
      w.hold(id, "lock", options);
      w.give(ReleaseAsked{id});
      w.reply(World::with(Outcome::done, 1));
      ASSERT_TRUE(w.has<Released>());
    }
    const auto attempts = w.sent_as<AcquireCommand>();
    EXPECT_TRUE(std::ranges::none_of(attempts, [](const Command& c) {
      return std::get<AcquireCommand>(c.body).queues_for.has_value();
    }));
    EXPECT_EQ(w.sent().size(), 3u + 3u + 1u) << "and one for the index";
  }
}

TEST(LockQueues, ASingleAttemptDoesNotQueue) {
  World w;
  w.acquire(1, "lock", World::queued(), milliseconds(0), true);
  EXPECT_FALSE(w.asked().queues_for);
}

TEST(LockQueues, AQueuedCallRenewsItsEntryEverMoreSeldom) {
  auto w = World::waiting();
  std::vector<std::size_t> attempts;
  for (int i = 0; i < 3; ++i) {
    w.advance(milliseconds(2'000));
    attempts.push_back(w.attempts());
    if (w.core.departures_left() == 0 && w.has<Send>()) w.answer_queued();
  }
  EXPECT_LE(attempts.back(), 2u + 4u);
  EXPECT_GT(attempts.back(), 2u);
  EXPECT_GE(w.asked().queues_for, 2 * milliseconds(500));
}

TEST(LockQueues, AfterALongWaitTheNextCallRenewsItsEntryLater) {
  auto w = World::waiting();
  w.advance(milliseconds(440));
  w.answer_stream({w.named(w.asked().lock_id)});
  ASSERT_TRUE(w.has<Granted>());
  w.give(ReleaseAsked{1});
  w.leave_answered_at(++w.oplog);
  w.acquire(2, "lock", World::queued());
  EXPECT_EQ(w.asked().queues_for, 3 * milliseconds(660));
  w.answer_queued();
  const auto before = w.attempts();
  w.advance(milliseconds(650));
  EXPECT_EQ(w.attempts(), before) << "one and a half times 440 ms";
  w.advance(milliseconds(20));
  EXPECT_EQ(w.attempts(), before + 1);
}

TEST(LockQueues, AGrantThatNobodyRemembersOrWithoutDatesLeadsToAnAttempt) {
  for (const bool dated : {true, false}) {
    auto w = World::waiting();
    const auto before = w.attempts();
    const auto unknown = to_hex(w.asked().owner) + ".60000.999";
    w.answer_stream({dated ? w.named(unknown)
                           : w.named(w.asked().lock_id, NamedOwner::As::unclear)});
    EXPECT_FALSE(w.has<Granted>());
    ASSERT_EQ(w.attempts(), before + 1);
    w.give(ReplyArrived{w.attempt().id, w.won(w.attempt(), ++w.oplog)});
    EXPECT_TRUE(w.has<Granted>()) << "it finds the lock its own, and counts from this attempt";
  }
}

TEST(LockQueues, AGrantThatIsOverLeadsToAnAttempt) {
  auto w = World::waiting();
  const auto lock_id = w.asked().lock_id;
  const auto before = w.attempts();
  w.now += seconds(61);  // the process was paused
  w.answer_stream({w.named(lock_id)});
  EXPECT_FALSE(w.has<Granted>());
  w.advance(milliseconds(0));  // its timer is overdue too
  EXPECT_EQ(w.attempts(), before + 1);
}

TEST(LockQueues, NewsDuringAnAttemptCountOnceItIsAnsweredUnlessItWasRefusedLater) {
  enum { kRefusedBefore, kRefusedLater, kNotExecuted };
  for (const auto attempt : {kRefusedBefore, kRefusedLater, kNotExecuted}) {
    auto w = World::waiting();
    w.advance(kRenewal);  // the second attempt is under way
    const auto news = w.named(w.asked().lock_id);
    w.answer_stream({news});
    EXPECT_FALSE(w.has<Granted>());
    auto r = attempt == kNotExecuted ? World::with(Outcome::not_executed) : w.refused(w.kRival);
    r.operation_time = FencingToken(news.at.value() + (attempt == kRefusedLater ? 1 : -1));
    w.give(ReplyArrived{w.attempt().id, r});
    EXPECT_EQ(w.has<Granted>(), attempt != kRefusedLater) << attempt;
  }
}

TEST(LockQueues, ACallThatIsOfferedTheLockLeavesOthersATurn) {
  auto w = World::waiting();
  const auto before = w.attempts();
  w.answer_stream({w.named(w.asked().lock_id, NamedOwner::As::next)});
  EXPECT_EQ(w.attempts(), before);
  w.advance(milliseconds(20));
  EXPECT_EQ(w.attempts(), before + 1);
}

TEST(LockQueues, ACallThatFindsNoRoomComesBackWithItsTicketAndLeavesNothing) {
  World w;
  w.join(1);
  EXPECT_FALSE(w.asked().ticket);
  auto full = w.refused(World::kRival);
  full.documents.front().queue = World::entry_of(to_hex({7, 7}) + ".3000.1") + "~+.5.2";
  w.give(ReplyArrived{w.attempt().id, full});
  w.advance(milliseconds(300));
  ASSERT_EQ(w.attempts(), 3u);
  EXPECT_EQ(w.asked().ticket, 5);
  w.answer_queued(true);
  w.give(CancelAsked{1});
  EXPECT_EQ(w.pass_ons(), 0u);
}

TEST(LockQueues, OnlyALockThatWasNotPassedOnAsksForTheIndex) {
  auto w = World::waiting();
  w.answer_stream({w.named(w.asked().lock_id)});
  ASSERT_TRUE(w.has<Granted>());
  EXPECT_TRUE(w.sent_as<EnsureIndexCommand>().empty());
  w.hold(2, "other");
  EXPECT_EQ(w.sent_as<EnsureIndexCommand>().size(), 1u);
}

/// Found by seed 1186 of plans with semaphores: two attempts of one call were executed after its
/// end, and each was granted the lock.
TEST(LockQueues, EachGrantToACallThatEndedIsGivenBackOnce) {
  auto w = World::waiting();
  const auto asked = w.asked();
  w.join(2, "other");  // so that the stream is read on
  w.answer_queued();
  w.give(CancelAsked{1});
  w.leave_answered_at(w.oplog);
  w.answer_stream({w.named(to_hex({8, 8}) + ".60000.1")});
  EXPECT_EQ(w.pass_ons(), 1u) << "of no call that was here";
  for (const std::size_t grants : {1u, 2u}) {
    const auto news = w.named(asked.lock_id);
    w.answer_stream({news});
    ASSERT_EQ(w.pass_ons(), 1 + grants);
    EXPECT_EQ(w.passed_on().owner, asked.owner);
    w.leave_answered_at(news.at.value() + 500);
    w.answer_stream({news});  // reported once more
    EXPECT_EQ(w.pass_ons(), 1 + grants);
    EXPECT_FALSE(w.has<Granted>());
  }
}

TEST(LockQueues, LateNewsOfItsOwnWinLeavesAReleaseTheOnlyOne) {
  auto w = World::waiting();
  w.advance(seconds(2));
  w.give(ReplyArrived{w.attempt().id, World::with(Outcome::unknown)});
  w.advance(seconds(2));
  const auto lock_id = w.asked().lock_id;
  w.give(ReplyArrived{w.attempt().id, w.won(w.attempt())});
  ASSERT_TRUE(w.has<Granted>());
  w.give(ReleaseAsked{1});
  w.give(ReplyArrived{w.last_command().id, World::with(Outcome::not_executed)});
  ASSERT_EQ(w.pass_ons(), 1u);
  w.answer_stream({w.named(lock_id)});
  ASSERT_EQ(w.pass_ons(), 2u);
  auto before = World::with(Outcome::done);
  before.documents = {{"lock", lock_id, ServerInstant{99}, 1, ""}};
  w.give(ReplyArrived{w.sent_as<PassOnCommand>().back().id, before});
  EXPECT_EQ(w.the<Released>().result, ReleaseResult::released);
}

TEST(LockQueues, AnOldPrimaryThatDoesNotKnowTheEntryIsNotWhereACallLeaves) {
  auto w = World::waiting();
  const auto owner = w.asked().owner;
  w.give(CancelAsked{1});
  ASSERT_EQ(w.pass_ons(), 1u);
  EXPECT_EQ(w.passed_on().owner, owner);
  EXPECT_FALSE(w.passed_on().offers);
  w.leave_answered_at(w.oplog - 1);
  w.advance(seconds(1));
  ASSERT_EQ(w.pass_ons(), 2u);
  w.leave_answered_at(w.oplog);
  w.advance(seconds(60));
  EXPECT_EQ(w.pass_ons(), 2u);
}

TEST(LockQueues, AnOldPrimaryDoesNotKnowTheEntryOfAnAttemptThatTheEndCameInto) {
  auto w = World::waiting();
  w.advance(seconds(2));
  w.give(CancelAsked{1});
  EXPECT_EQ(w.pass_ons(), 0u);
  w.answer_queued();
  ASSERT_EQ(w.pass_ons(), 1u);
  w.leave_answered_at(w.oplog - 1);
  w.advance(seconds(1));
  EXPECT_EQ(w.pass_ons(), 2u);
}

TEST(LockQueues, AReleaseThatFindsNothingToDeleteLooksForAQueueWhetherItsHolderQueuedOrPolled) {
  for (const auto& options : {World::queued(), World::options()}) {
    World w;
    w.hold(1, "lock", options);
    w.give(ReleaseAsked{1});
    EXPECT_TRUE(std::get<DeleteCommand>(w.last_command().body).unless_queued);
    w.reply(World::with(Outcome::done, 0));
    EXPECT_FALSE(w.has<Released>());
    ASSERT_EQ(w.pass_ons(), 1u);
    w.reply(World::with(Outcome::done, 0));
    EXPECT_EQ(w.the<Released>().result, ReleaseResult::not_owner) << "nor is there a document";
  }
}

TEST(LockQueues, AHolderThatPollsPassesOnWhereItSawAQueueLately) {
  for (const auto later : {seconds(0), seconds(10)}) {
    World w;
    auto polls = World::options();
    polls.expiry = seconds(60);
    w.acquire(1, "lock", polls);
    auto r = w.won(w.attempt());
    r.documents.front().queue = World::entry_of(to_hex({7, 7}) + ".3000.1");
    w.give(ReplyArrived{w.attempt().id, r});
    w.now += later;
    w.give(ReleaseAsked{1});
    EXPECT_EQ(w.pass_ons(), later == seconds(0) ? 1u : 0u) << "a call that waited may have left";
  }
}

TEST(LockQueues, ACallThatPollsJoinsTheQueueThatItFinds) {
  World w;
  w.acquire(1);
  const Owner polls = w.asked().owner;
  EXPECT_FALSE(w.asked().queues_for);
  w.answer_queued(true);
  ASSERT_EQ(w.attempts(), 2u) << "at once, to have a place";
  EXPECT_TRUE(w.asked().queues_for);
  EXPECT_NE(w.asked().owner, polls);
  w.answer_queued();
  w.answer_stream();
  w.answer_queued();
  w.answer_stream({w.named(w.asked().lock_id)});
  EXPECT_EQ(w.the<Granted>().by, Granted::By::pass_on);
}

TEST(LockQueues, NoCallJoinsWithASingleAttemptOrWhileItsOwnerMayHaveTheLock) {
  World single;
  single.acquire(1, "lock", World::options(), std::nullopt, true);
  single.answer_queued(true);
  EXPECT_EQ(single.attempts(), 1u);
  World unanswered;
  unanswered.acquire(1);
  unanswered.reply(World::with(Outcome::unknown));
  ASSERT_EQ(unanswered.attempts(), 2u);
  unanswered.answer_queued(true);
  unanswered.advance(milliseconds(100));
  ASSERT_EQ(unanswered.attempts(), 3u);
  EXPECT_FALSE(unanswered.asked().queues_for);
}

TEST(LockQueues, AfterItsHandOversInARowAProcessOffersTheLockToAll) {
  auto o = World::queued();
  o.hand_overs_in_a_row = 1;
  World w;
  w.hold(1, "lock", o);
  w.acquire(2, "lock", o);
  w.acquire(3, "lock", o);
  w.give(ReleaseAsked{1});
  const auto command = std::get<HandOverCommand>(w.last_command().body);
  auto r = World::with(Outcome::done);
  r.operation_time = FencingToken(5'000);
  r.documents = {{"lock", command.lock_id, ServerInstant{80}, 1, ""}};
  r.documents.front().queue = World::entry_of(World::kRival);
  w.reply(r);
  ASSERT_TRUE(w.has<Granted>());
  w.give(ReleaseAsked{2});
  ASSERT_EQ(w.pass_ons(), 1u);
  EXPECT_TRUE(w.passed_on().offers);
  EXPECT_EQ(w.asked().session, 3u) << "who waits here joins the queue at once";
}

/// A call in a lock's queue is cancelled, and its pass-on waits for the only slot. The event of a
/// grant to it.
NamedOwner waits_for_a_slot(World& w) {
  w.core = ProviderCore("host:1:test", 1);
  w.hold(1, "held");
  w.join(2);
  w.answer_queued();
  w.answer_stream();
  const auto granted = w.named(w.asked().lock_id);
  w.acquire(3, "other");  // takes the slot
  w.give(CancelAsked{2});
  return granted;
}

/// Found by a live run at load 29: each event of a grant sent the pass-on to the end of the line,
/// until it was too late for it.
TEST(LockQueues, APassOnThatWaitsForASlotKeepsItsPlaceInTheLineWhenItsOwnerIsGrantedTheLock) {
  World w;
  const auto granted = waits_for_a_slot(w);
  w.now += milliseconds(1);
  w.give(ReleaseAsked{1});
  w.now += milliseconds(1);
  w.answer_stream({granted});
  ASSERT_EQ(w.pass_ons() + w.sent_as<DeleteCommand>().size(), 0u);
  w.give(ReplyArrived{w.attempt().id, w.won(w.attempt())});
  EXPECT_EQ(w.pass_ons(), 1u) << "of the call that was cancelled first";
}

/// Found by seed 50879: a pass-on that had waited for a slot for two leases was dropped, although
/// its owner had been granted the lock meanwhile.
TEST(LockQueues, APassOnThatWaitsForASlotIsSentForTwoLeasesAfterItsOwnerIsGrantedTheLock) {
  World w;
  const auto granted = waits_for_a_slot(w);
  w.now += milliseconds(5'999);
  w.answer_stream({granted});
  w.now += milliseconds(2);
  w.give(ReplyArrived{w.attempt().id, w.won(w.attempt())});
  EXPECT_EQ(w.pass_ons(), 1u);
}

}  // namespace
}  // namespace leasehold::core::passed_on_test

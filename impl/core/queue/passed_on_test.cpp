#include <gtest/gtest.h>

#include "core/document/lock_queue.hpp"
#include "core/testing/core_world.hpp"

namespace leasehold::core::passed_on_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

const std::string kRival = to_hex({9, 9}) + ".60000.1";
constexpr std::int64_t kCursor = 77;

std::string entry(const std::string& lock_id) {
  return "1700000000000" + entry_without_until(milliseconds(1'500), milliseconds(33'000), lock_id);
}

constexpr milliseconds kRenewal(500);  ///< of an entry, at first

/// Calls that queue, in a process whose stream the test answers.
struct QueueWorld : CoreWorld {
  static LockOptions queued() {
    auto o = options();
    o.expiry = seconds(60);
    o.waiting = queue_waiting();
    return o;
  }

  [[nodiscard]] Command attempt() const { return sent_as<AcquireCommand>().back(); }
  [[nodiscard]] AcquireCommand asked() const { return std::get<AcquireCommand>(attempt().body); }
  [[nodiscard]] std::size_t attempts() const { return sent_as<AcquireCommand>().size(); }
  [[nodiscard]] Command stream() const { return sent_as<StreamCommand>().back(); }
  [[nodiscard]] std::size_t pass_ons() const { return sent_as<PassOnCommand>().size(); }
  [[nodiscard]] PassOnCommand passed_on() const {
    return std::get<PassOnCommand>(sent_as<PassOnCommand>().back().body);
  }

  /// Refused; the call stands in the queue unless it is full.
  void answer_queued(bool full = false) {
    auto r = refused(kRival);
    r.documents.front().queue = entry(to_hex({7, 7}) + ".3000.1");
    if (!full) r.documents.front().queue += '~' + entry(asked().lock_id);
    r.operation_time = FencingToken(++oplog);
    give(ReplyArrived{attempt().id, r});
  }

  [[nodiscard]] NamedOwner named(const std::string& lock_id,
                                 NamedOwner::As as = NamedOwner::As::holder) {
    ++oplog;
    return {as, {"lock", lock_id, ServerInstant{99}, oplog - 1, ""}, FencingToken(oplog)};
  }
  void answer_stream(const std::vector<NamedOwner>& news = {}) {
    auto r = with(Outcome::done);
    r.cursor = kCursor;
    r.named = news;
    give(ReplyArrived{stream().id, r});
  }

  /// By a primary that knows this much, and finds nothing that is to leave.
  void leave_answered_at(std::int64_t time) {
    auto r = with(Outcome::done);
    r.operation_time = FencingToken(time);
    give(ReplyArrived{sent_as<PassOnCommand>().back().id, r});
  }

  /// Session 1 stands in the queue, and the stream is open and read.
  static QueueWorld waiting() {
    QueueWorld w;
    w.acquire(1, "lock", queued());
    w.answer_queued();
    w.answer_stream();
    return w;
  }

  std::int64_t oplog = 1'000;
};

TEST(LockQueues, ACallThatIsRefusedStandsInTheQueueAndHearsOfItsOwnersAlone) {
  QueueWorld w;
  w.acquire(1, "lock", QueueWorld::queued());
  EXPECT_TRUE(w.asked().queues_for);
  EXPECT_TRUE(w.sent_as<StreamCommand>().empty()) << "who finds a lock free needs none";
  w.answer_queued();
  const auto open = std::get<StreamCommand>(w.stream().body);
  EXPECT_EQ(open.provider, w.asked().owner.high);
  w.answer_stream();
  EXPECT_EQ(w.attempts(), 1u) << "the stream begins where it stood";
}

TEST(LockQueues, TheOwnersOfAProviderBeginAlike) {
  QueueWorld w;
  w.acquire(1, "one", QueueWorld::queued());
  const auto first = w.asked().owner;
  w.acquire(2, "other", QueueWorld::queued());
  EXPECT_EQ(w.asked().owner.high, first.high);
  EXPECT_NE(w.asked().owner.low, first.low);
}

TEST(LockQueues, ASingleAttemptDoesNotQueue) {
  QueueWorld w;
  w.acquire(1, "lock", QueueWorld::queued(), milliseconds(0), true);
  EXPECT_FALSE(w.asked().queues_for);
}

TEST(LockQueues, WhoStandsThereRenewsItsEntryEverMoreSeldom) {
  auto w = QueueWorld::waiting();
  std::vector<std::size_t> attempts;
  for (int i = 0; i < 3; ++i) {
    w.advance(milliseconds(2'000));
    attempts.push_back(w.attempts());
    if (w.core.departures_left() == 0 && w.has<Send>()) w.answer_queued();
  }
  EXPECT_LE(attempts.back(), 1u + 4u);
  EXPECT_GT(attempts.back(), 1u);
  EXPECT_GE(w.asked().queues_for, 2 * milliseconds(500));
}

TEST(LockQueues, WhereTheLastWaitWasLongTheNextCallRenewsItsEntryLater) {
  auto w = QueueWorld::waiting();
  w.advance(milliseconds(440));
  w.answer_stream({w.named(w.asked().lock_id)});
  ASSERT_TRUE(w.has<Granted>());
  w.give(ReleaseAsked{1});
  w.leave_answered_at(++w.oplog);
  w.acquire(2, "lock", QueueWorld::queued());
  EXPECT_EQ(w.asked().queues_for, 3 * milliseconds(660));
  w.answer_queued();
  const auto before = w.attempts();
  w.advance(milliseconds(650));
  EXPECT_EQ(w.attempts(), before) << "one and a half times 440 ms";
  w.advance(milliseconds(20));
  EXPECT_EQ(w.attempts(), before + 1);
}

TEST(LockQueues, AGrantCountsFromTheAttemptThatItNames) {
  QueueWorld w = QueueWorld::waiting();
  const auto sent = w.now;
  const auto lock_id = w.asked().lock_id;
  w.advance(milliseconds(300));
  w.answer_stream({w.named(lock_id)});
  const auto* granted = w.find<Granted>();
  ASSERT_NE(granted, nullptr);
  EXPECT_EQ(granted->by, Granted::By::pass_on);
  EXPECT_EQ(granted->sent, sent);
  EXPECT_EQ(granted->deadline, lease_deadline(sent, seconds(60), 0.005));
  EXPECT_EQ(granted->token, FencingToken(w.oplog));
  EXPECT_EQ(granted->lock_id, lock_id);
}

TEST(LockQueues, AGrantOfAnEarlierAttemptCountsFromThatOne) {
  QueueWorld w;
  w.acquire(1, "lock", QueueWorld::queued());
  const auto sent = w.now;
  const auto first = w.asked().lock_id;
  w.advance(milliseconds(200));
  w.answer_queued();
  w.answer_stream();
  w.advance(kRenewal);
  w.answer_queued();
  w.answer_stream({w.named(first)});
  ASSERT_TRUE(w.has<Granted>());
  EXPECT_EQ(w.find<Granted>()->sent, sent);
}

TEST(LockQueues, AGrantThatNobodyRemembersLeadsToAnAttempt) {
  auto w = QueueWorld::waiting();
  const auto before = w.attempts();
  const auto owner = to_hex(w.asked().owner);
  w.answer_stream({w.named(owner + ".60000.999")});
  EXPECT_FALSE(w.has<Granted>());
  ASSERT_EQ(w.attempts(), before + 1);
  w.give(ReplyArrived{w.attempt().id, w.won(w.attempt(), ++w.oplog)});
  EXPECT_TRUE(w.has<Granted>()) << "it finds the lock its own, and counts from this attempt";
}

TEST(LockQueues, AGrantThatIsOverLeadsToAnAttempt) {
  auto w = QueueWorld::waiting();
  const auto lock_id = w.asked().lock_id;
  const auto before = w.attempts();
  w.now += seconds(61);  // the process was paused
  w.answer_stream({w.named(lock_id)});
  EXPECT_FALSE(w.has<Granted>());
  w.advance(milliseconds(0));  // its timer is overdue too
  EXPECT_EQ(w.attempts(), before + 1);
}

TEST(LockQueues, NewsDuringAnAttemptWaitForItsAnswer) {
  QueueWorld w;
  w.acquire(1, "lock", QueueWorld::queued());
  w.answer_queued();
  w.answer_stream();
  w.advance(kRenewal);  // the second attempt is under way
  const auto news = w.named(w.asked().lock_id);
  w.answer_stream({news});
  EXPECT_FALSE(w.has<Granted>());
  auto r = QueueWorld::refused(kRival);
  r.operation_time = FencingToken(news.at.value() - 1);
  w.give(ReplyArrived{w.attempt().id, r});
  EXPECT_TRUE(w.has<Granted>()) << "it was refused before the lock was passed on";
}

TEST(LockQueues, AnAttemptThatWasRefusedLaterKnowsBetter) {
  QueueWorld w;
  w.acquire(1, "lock", QueueWorld::queued());
  w.answer_queued();
  w.answer_stream();
  w.advance(kRenewal);
  w.answer_stream({w.named(w.asked().lock_id)});
  w.answer_queued();
  EXPECT_FALSE(w.has<Granted>());
}

TEST(LockQueues, AnAttemptWithoutAnAnswerDoesNotDenyIt) {
  QueueWorld w;
  w.acquire(1, "lock", QueueWorld::queued());
  w.answer_queued();
  w.answer_stream();
  w.advance(kRenewal);
  w.answer_stream({w.named(w.asked().lock_id)});
  w.give(ReplyArrived{w.attempt().id, QueueWorld::with(Outcome::not_executed)});
  EXPECT_TRUE(w.has<Granted>());
}

TEST(LockQueues, WhoIsOfferedTheLockLeavesOthersATurn) {
  auto w = QueueWorld::waiting();
  const auto before = w.attempts();
  w.answer_stream({w.named(w.asked().lock_id, NamedOwner::As::next)});
  EXPECT_EQ(w.attempts(), before);
  w.advance(milliseconds(20));
  EXPECT_EQ(w.attempts(), before + 1);
}

TEST(LockQueues, AReportWithoutDatesLeadsToAnAttempt) {
  auto w = QueueWorld::waiting();
  const auto before = w.attempts();
  w.answer_stream({w.named(w.asked().lock_id, NamedOwner::As::unclear)});
  EXPECT_FALSE(w.has<Granted>());
  EXPECT_EQ(w.attempts(), before + 1);
}

TEST(LockQueues, AnAttemptThatFindsTheLockItsOwnNeedsNoNews) {
  auto w = QueueWorld::waiting();
  w.advance(milliseconds(600));
  const auto renewal = w.attempt();
  w.give(ReplyArrived{renewal.id, w.won(renewal, ++w.oplog)});
  ASSERT_TRUE(w.has<Granted>());
  EXPECT_EQ(w.find<Granted>()->by, Granted::By::attempt);
}

TEST(LockQueues, ACallThatEndsLeavesTheQueue) {
  auto w = QueueWorld::waiting();
  const auto owner = w.asked().owner;
  w.give(CancelAsked{1});
  ASSERT_EQ(w.pass_ons(), 1u);
  EXPECT_EQ(w.passed_on().owner, owner);
  EXPECT_FALSE(w.passed_on().offers);
}

TEST(LockQueues, ACallThatFoundNoRoomLeavesNothing) {
  QueueWorld w;
  w.acquire(1, "lock", QueueWorld::queued());
  w.answer_queued(true);
  w.give(CancelAsked{1});
  EXPECT_EQ(w.pass_ons(), 0u);
}

TEST(LockQueues, ACallThatFoundNoRoomComesBackWithItsTicket) {
  QueueWorld w;
  w.acquire(1, "lock", QueueWorld::queued());
  EXPECT_FALSE(w.asked().ticket);
  auto full = w.refused(kRival);
  full.documents.front().queue = entry(to_hex({7, 7}) + ".3000.1") + "~+.5.2";
  w.give(ReplyArrived{w.attempt().id, full});
  w.advance(milliseconds(300));
  ASSERT_EQ(w.attempts(), 2u);
  EXPECT_EQ(w.asked().ticket, 5);
}

TEST(LockQueues, OnlyALockThatWasNotPassedOnAsksForTheIndex) {
  auto w = QueueWorld::waiting();
  w.answer_stream({w.named(w.asked().lock_id)});
  ASSERT_TRUE(w.has<Granted>());
  EXPECT_TRUE(w.sent_as<EnsureIndexCommand>().empty());
  w.hold(2, "other");
  EXPECT_EQ(w.sent_as<EnsureIndexCommand>().size(), 1u);
}

TEST(LockQueues, ACallThatEndsDuringAnAttemptLeavesOnceThatIsAnswered) {
  QueueWorld w;
  w.acquire(1, "lock", QueueWorld::queued());
  w.give(CancelAsked{1});
  EXPECT_EQ(w.pass_ons(), 0u);
  w.answer_queued();
  EXPECT_EQ(w.pass_ons(), 1u);
}

TEST(LockQueues, AGrantToACallThatEndedIsGivenBack) {
  auto w = QueueWorld::waiting();
  const auto lock_id = w.asked().lock_id;
  w.give(CancelAsked{1});
  w.give(ReplyArrived{w.last_command().id, QueueWorld::with(Outcome::unknown)});
  w.answer_stream({w.named(lock_id)});
  EXPECT_EQ(w.pass_ons(), 2u);
  EXPECT_FALSE(w.has<Granted>());
}

TEST(LockQueues, LateNewsOfItsOwnWinLeavesAReleaseTheOnlyOne) {
  auto w = QueueWorld::waiting();
  w.advance(seconds(2));
  w.give(ReplyArrived{w.attempt().id, QueueWorld::with(Outcome::unknown)});
  w.advance(seconds(2));
  const auto lock_id = w.asked().lock_id;
  w.give(ReplyArrived{w.attempt().id, w.won(w.attempt())});
  ASSERT_TRUE(w.has<Granted>());
  w.give(ReleaseAsked{1});
  w.give(ReplyArrived{w.last_command().id, QueueWorld::with(Outcome::not_executed)});
  ASSERT_EQ(w.pass_ons(), 1u);
  w.answer_stream({w.named(lock_id)});
  ASSERT_EQ(w.pass_ons(), 2u);
  auto before = QueueWorld::with(Outcome::done);
  before.documents = {{"lock", lock_id, ServerInstant{99}, 1, ""}};
  w.give(ReplyArrived{w.sent_as<PassOnCommand>().back().id, before});
  ASSERT_TRUE(w.has<Released>());
  EXPECT_EQ(w.find<Released>()->result, ReleaseResult::released);
}

TEST(LockQueues, AReleaseWhereSomebodyWaitsPassesTheLockOn) {
  auto w = QueueWorld::waiting();
  w.answer_stream({w.named(w.asked().lock_id)});
  w.give(ReleaseAsked{1});
  ASSERT_EQ(w.pass_ons(), 1u);
  EXPECT_TRUE(w.sent_as<DeleteCommand>().empty());
  auto before = QueueWorld::with(Outcome::done);
  before.documents = {{"lock", to_hex(w.passed_on().owner) + ".60000.2", ServerInstant{99}, 1, ""}};
  w.give(ReplyArrived{w.last_command().id, before});
  ASSERT_TRUE(w.has<Released>());
  EXPECT_EQ(w.find<Released>()->result, ReleaseResult::released);
}

TEST(LockQueues, AnOldPrimaryThatDoesNotKnowTheEntryIsNotWhereACallLeaves) {
  auto w = QueueWorld::waiting();
  w.give(CancelAsked{1});
  ASSERT_EQ(w.pass_ons(), 1u);
  w.leave_answered_at(w.oplog - 1);
  w.advance(seconds(1));
  ASSERT_EQ(w.pass_ons(), 2u);
  w.leave_answered_at(w.oplog);
  w.advance(seconds(60));
  EXPECT_EQ(w.pass_ons(), 2u);
}

TEST(LockQueues, NorDoesItKnowTheEntryOfAnAttemptThatTheEndCameInto) {
  auto w = QueueWorld::waiting();
  w.advance(seconds(2));
  w.give(CancelAsked{1});
  EXPECT_EQ(w.pass_ons(), 0u);
  w.answer_queued();
  ASSERT_EQ(w.pass_ons(), 1u);
  w.leave_answered_at(w.oplog - 1);
  w.advance(seconds(1));
  EXPECT_EQ(w.pass_ons(), 2u);
}

TEST(LockQueues, AReleaseWhereNobodyWaitedIsOneDelete) {
  QueueWorld w;
  w.hold(1, "lock", QueueWorld::queued());
  w.give(ReleaseAsked{1});
  ASSERT_EQ(w.sent_as<DeleteCommand>().size(), 1u);
  EXPECT_TRUE(std::get<DeleteCommand>(w.last_command().body).unless_queued);
  w.reply(QueueWorld::with(Outcome::done, 1));
  EXPECT_EQ(w.pass_ons(), 0u);
  EXPECT_EQ(w.find<Released>()->result, ReleaseResult::released);
}

TEST(LockQueues, AReleaseThatFindsNothingToDeleteLooksForAQueue) {
  QueueWorld w;
  w.hold(1, "lock", QueueWorld::queued());
  w.give(ReleaseAsked{1});
  w.reply(QueueWorld::with(Outcome::done, 0));
  EXPECT_FALSE(w.has<Released>());
  ASSERT_EQ(w.pass_ons(), 1u);
  w.reply(QueueWorld::with(Outcome::done, 0));
  ASSERT_TRUE(w.has<Released>());
  EXPECT_EQ(w.find<Released>()->result, ReleaseResult::not_owner) << "nor is there a document";
}

TEST(LockQueues, AHolderThatPollsPassesOnWhereItSawAQueue) {
  QueueWorld w;
  w.acquire(1);
  auto r = w.won(w.attempt());
  r.documents.front().queue = entry(to_hex({7, 7}) + ".3000.1");
  w.give(ReplyArrived{w.attempt().id, r});
  w.give(ReleaseAsked{1});
  EXPECT_EQ(w.pass_ons(), 1u);
}

TEST(LockQueues, ACallThatPollsJoinsTheQueueThatItFinds) {
  QueueWorld w;
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
  ASSERT_TRUE(w.has<Granted>());
  EXPECT_EQ(w.find<Granted>()->by, Granted::By::pass_on);
}

TEST(LockQueues, NobodyJoinsWithASingleAttemptOrWhileItsOwnerMayHaveTheLock) {
  QueueWorld single;
  single.acquire(1, "lock", QueueWorld::options(), std::nullopt, true);
  single.answer_queued(true);
  EXPECT_EQ(single.attempts(), 1u);
  QueueWorld unanswered;
  unanswered.acquire(1);
  unanswered.reply(QueueWorld::with(Outcome::unknown));
  ASSERT_EQ(unanswered.attempts(), 2u);
  unanswered.answer_queued(true);
  unanswered.advance(milliseconds(100));
  ASSERT_EQ(unanswered.attempts(), 3u);
  EXPECT_FALSE(unanswered.asked().queues_for);
}

TEST(LockQueues, AHolderThatPollsPassesOnToAQueueThatItNeverSaw) {
  QueueWorld w;
  w.hold(1);
  w.give(ReleaseAsked{1});
  EXPECT_TRUE(std::get<DeleteCommand>(w.last_command().body).unless_queued);
  w.reply(QueueWorld::with(Outcome::done, 0));
  EXPECT_FALSE(w.has<Released>());
  EXPECT_EQ(w.pass_ons(), 1u);
}

TEST(LockQueues, AfterItsHandOversInARowAProcessOffersTheLockToAll) {
  auto o = QueueWorld::queued();
  o.hand_overs_in_a_row = 1;
  QueueWorld w;
  w.hold(1, "lock", o);
  w.acquire(2, "lock", o);
  w.acquire(3, "lock", o);
  w.give(ReleaseAsked{1});
  const auto command = std::get<HandOverCommand>(w.last_command().body);
  auto r = QueueWorld::with(Outcome::done);
  r.operation_time = FencingToken(5'000);
  r.documents = {{"lock", command.lock_id, ServerInstant{80}, 1, "", "", entry(kRival)}};
  w.reply(r);
  ASSERT_TRUE(w.has<Granted>());
  w.give(ReleaseAsked{2});
  ASSERT_EQ(w.pass_ons(), 1u);
  EXPECT_TRUE(w.passed_on().offers);
  EXPECT_EQ(w.asked().session, 3u) << "who waits here joins the queue at once";
}

/// Found by a live run at load 29: each news of a grant sent the pass-on to the end of the line,
/// until it was too late for it.
TEST(LockQueues, APassOnThatWaitsForASlotKeepsItsPlaceInTheLineWhenItsOwnerIsGrantedTheLock) {
  QueueWorld w;
  w.core = ProviderCore("host:1:test", 1);
  w.hold(1, "held");
  w.acquire(2, "lock", QueueWorld::queued());
  w.answer_queued();
  w.answer_stream();
  const auto granted = w.named(w.asked().lock_id);
  w.acquire(3, "other");  // takes the slot
  w.give(CancelAsked{2});
  w.now += milliseconds(1);
  w.give(ReleaseAsked{1});
  w.now += milliseconds(1);
  w.answer_stream({granted});
  ASSERT_EQ(w.pass_ons() + w.sent_as<DeleteCommand>().size(), 0u);
  w.give(ReplyArrived{w.attempt().id, w.won(w.attempt())});
  EXPECT_EQ(w.pass_ons(), 1u) << "of the call that was cancelled first";
}

}  // namespace
}  // namespace leasehold::core::passed_on_test

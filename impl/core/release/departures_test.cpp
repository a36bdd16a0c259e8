#include "core/release/departures.hpp"

#include <gtest/gtest.h>

#include "core/document/lock_queue.hpp"
#include "core/testing/part_world.hpp"

namespace leasehold::core {
namespace {

using std::chrono::milliseconds;
using Answer = Departures::HandedOver;

LockOptions queued() {
  auto options = CoreWorld::options();
  options.waiting = queue_waiting();
  return options;
}

HeldLock held(const LockOptions& options = CoreWorld::options()) {
  HeldLock lock;
  lock.name = "lock";
  lock.options = options;
  lock.owner = {1, 2};
  lock.token = FencingToken(1'000);
  return lock;
}

AcquireCall asks(const LockOptions& options = CoreWorld::options()) {
  AcquireCall call;
  call.name = "lock";
  call.options = options;
  call.owner = {3, 4};
  return call;
}

LockDocument with_queue() {
  LockDocument document{"lock", to_hex({9, 9}) + ".3000.1", {}, 1, ""};
  document.queue = "1700000000000" + entry_without_until(milliseconds(1'500), milliseconds(3'000),
                                                         to_hex({7, 7}) + ".3000.1");
  return document;
}

/// An attempt of a call that has ended while it was under way.
CommandId ends_during_attempt(Departures& departures, PartWorld& w, AcquireCall call) {
  const CommandId attempt = w.pending.send({.kind = PendingCommand::Kind::attempt, .sessions = {5}},
                                           milliseconds(1'000), AcquireCommand{}, w.step());
  call.phase = AcquireCall::Attempting{attempt};
  departures.ended(call, w.step());
  return attempt;
}

TEST(Departures, AReleaseWhereNoCallWasSeenToQueueDeletesOnlyIfThereIsNoQueue) {
  PartWorld w;
  Departures departures("host");
  departures.release(held(), 5, w.step());
  EXPECT_TRUE(w.last<DeleteCommand>().unless_queued) << "its holder polls";
  departures.release(held(queued()), 6, w.step());
  EXPECT_TRUE(w.last<DeleteCommand>().unless_queued);
}

TEST(Departures, AReleaseIsAPassOnWhereACallQueuedLately) {
  PartWorld w;
  Departures departures("host");
  departures.see("lock", with_queue(), w.now);
  departures.release(held(), 5, w.step());
  EXPECT_EQ(w.sent<PassOnCommand>().size(), 1u);
  w.now += std::chrono::seconds(10);
  departures.release(held(), 6, w.step());
  EXPECT_EQ(w.sent<DeleteCommand>().size(), 1u) << "the call that waited may have left";
}

TEST(Departures, ACallThatMayNotHaveWonLeavesNothing) {
  PartWorld w;
  Departures departures("host");
  departures.ended(asks(), w.step());
  EXPECT_TRUE(w.effects.empty());
  EXPECT_EQ(departures.left(), 0u);
}

TEST(Departures, ACallThatMayHaveWonIsDeletedTwice) {
  PartWorld w;
  Departures departures("host");
  auto call = asks();
  call.unanswered = 1;
  departures.ended(call, w.step());
  const auto sent = w.sent<DeleteCommand>();
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(departures.answered_delete(w.answered(sent[0].id), CoreWorld::with(Outcome::done, 1),
                                       w.step()),
            "lock");
  EXPECT_EQ(departures.left(), 0u) << "a majority has acknowledged it";
  w.now += milliseconds(1'000);
  departures.due(1, false, w.step());
  EXPECT_EQ(w.sent<DeleteCommand>().size(), 2u) << "against a request that is still on its way";
}

TEST(Departures, AnAttemptUnderWayIsWaitedFor) {
  for (const bool won : {false, true}) {
    PartWorld w;
    Departures departures("host");
    const auto id = ends_during_attempt(departures, w, asks());
    EXPECT_TRUE(w.sent<DeleteCommand>().empty());
    const auto attempt = w.answered(id);
    EXPECT_TRUE(attempt.sessions.empty()) << "the answer is the departure's alone";
    const auto lock_id = to_hex(won ? Owner{3, 4} : Owner{9, 9}) + ".3000.1";
    departures.answered_attempt(attempt.departure, shows(lock_id), w.step());
    EXPECT_EQ(w.sent<DeleteCommand>().size(), won ? 1u : 0u);
  }
}

TEST(Departures, OneThatWonTooLateIsDeletedByItsOwnOwner) {
  PartWorld w;
  Departures departures("host");
  departures.won_too_late(asks(), w.step());
  EXPECT_EQ(w.last<DeleteCommand>().owner, (Owner{3, 4}));
  EXPECT_FALSE(w.last<DeleteCommand>().or_owner);
}

/// The lock goes from the handle of session 5 to the call of session 6.
struct HandOverWorld : PartWorld {
  explicit HandOverWorld(AcquireCall receiver = asks()) : call(std::move(receiver)) {
    call.options.expiry = kReceiversLease;
    call.phase = AcquireCall::Receiving{id};
    departures.hand_over(id, held(), 5, 6, call, step());
  }
  std::optional<Answer> answer(const Reply& reply) {
    return departures.answered_hand_over(answered(sent<HandOverCommand>().back().id), reply,
                                         step());
  }
  [[nodiscard]] Reply given() const {
    Reply reply = CoreWorld::with(Outcome::done);
    reply.documents = {{"lock", last<HandOverCommand>().lock_id, {}, 1, ""}};
    return reply;
  }
  [[nodiscard]] std::optional<ReleaseResult> reported() const {
    for (const auto& effect : effects) {
      if (const auto* released = std::get_if<Released>(&effect)) return released->result;
    }
    return std::nullopt;
  }

  static constexpr milliseconds kReceiversLease{3'000};
  Departures departures{"host"};
  DepartureId id = departures.new_id();
  AcquireCall call;
};

TEST(HandOvers, OnlyTheLockIdOfThisVeryExecutionGives) {
  HandOverWorld w;
  const auto reply = w.given();
  EXPECT_EQ(w.answer(CoreWorld::with(Outcome::unknown)), Answer::waits);
  EXPECT_EQ(w.answer(reply), Answer::waits) << "the document of the first one, without its time";
  w.now += milliseconds(250);
  w.departures.due(w.id, false, w.step());
  EXPECT_EQ(w.answer(w.given()), Answer::given);
  EXPECT_EQ(w.reported(), ReleaseResult::released);
  EXPECT_EQ(w.departures.left(), 0u);
}

TEST(HandOvers, NothingAfterAnUnansweredOneIsUnclear) {
  HandOverWorld certain, uncertain;
  EXPECT_EQ(certain.answer(CoreWorld::with(Outcome::done)), Answer::nothing);
  EXPECT_EQ(certain.reported(), ReleaseResult::not_owner);
  EXPECT_EQ(uncertain.answer(CoreWorld::with(Outcome::unknown)), Answer::waits);
  EXPECT_EQ(uncertain.answer(CoreWorld::with(Outcome::done)), Answer::unclear);
  EXPECT_EQ(uncertain.reported(), ReleaseResult::unknown);
}

TEST(HandOvers, ATimerThatIsEarlyOrOfNoneDoesNothing) {
  HandOverWorld w;
  EXPECT_EQ(w.answer(CoreWorld::with(Outcome::not_executed)), Answer::waits);
  const auto effects = w.effects.size();
  w.departures.due(w.id, false, w.step());
  w.departures.due(w.id + 1, false, w.step());
  w.departures.report_unknown(w.id + 1, w.step());
  EXPECT_EQ(w.effects.size(), effects);
}

TEST(HandOvers, WaitNoLongerThanTheShorterTimeoutOfBoth) {
  auto call = asks();
  call.options.operation_timeout = milliseconds(200);
  const HandOverWorld w(call);
  EXPECT_EQ(w.sent<HandOverCommand>().at(0).timeout, milliseconds(200));
}

TEST(HandOvers, AReceiverThatEndsLeavesADeleteOfBothOwnersOnceTheCommandIsAnswered) {
  HandOverWorld w;
  w.departures.ended(w.call, w.step());
  EXPECT_EQ(w.departures.left(), 1u);
  EXPECT_TRUE(w.sent<DeleteCommand>().empty()) << "its command may be executed yet";
  EXPECT_FALSE(w.answer(CoreWorld::with(Outcome::done))) << "no call has the lock by it";
  EXPECT_EQ(w.last<DeleteCommand>().owner, (Owner{1, 2}));
  EXPECT_EQ(w.last<DeleteCommand>().or_owner, (Owner{3, 4}));
  EXPECT_FALSE(w.reported()) << "the giver waits for the delete";
  const auto sent = w.sent<DeleteCommand>().back().id;
  EXPECT_EQ(
      w.departures.answered_delete(w.answered(sent), CoreWorld::with(Outcome::done, 1), w.step()),
      "lock");
  EXPECT_EQ(w.reported(), ReleaseResult::released);
}

TEST(HandOvers, TheDeleteOfAReceiverThatEndsGoesOnForTwoOfItsLeases) {
  HandOverWorld w;
  w.now += milliseconds(700);  // the receiver's lease may begin as late as now
  w.departures.ended(w.call, w.step());
  EXPECT_FALSE(w.answer(CoreWorld::with(Outcome::unknown)));
  for (const auto at : {2 * w.kReceiversLease - milliseconds(1), 2 * w.kReceiversLease}) {
    w.now = LocalInstant(std::chrono::hours(1)) + milliseconds(700) + at;
    EXPECT_EQ(w.departures.left(), 1u);
    const auto sent = w.sent<DeleteCommand>().back().id;
    EXPECT_FALSE(w.departures.answered_delete(w.answered(sent),
                                              CoreWorld::with(Outcome::not_executed), w.step()));
    w.now += milliseconds(1);
    w.departures.due(w.id, false, w.step());
  }
  EXPECT_EQ(w.departures.left(), 0u);
}

TEST(Departures, AGrantToAnOwnerThatIsOverIsGivenBackOnce) {
  PartWorld w;
  Departures departures("host");
  auto call = asks(queued());
  departures.ended(call, w.step());
  NamedOwner named;
  named.document.name = "lock";
  named.at = FencingToken(2'000);
  departures.granted(named, Owner{8, 8}, w.step());
  EXPECT_TRUE(w.sent<PassOnCommand>().empty()) << "of no call that was here";
  departures.granted(named, call.owner, w.step());
  departures.granted(named, call.owner, w.step());
  ASSERT_EQ(w.sent<PassOnCommand>().size(), 1u);
  EXPECT_EQ(w.last<PassOnCommand>().owner, call.owner);
}

/// Found by seed 1186 of plans with semaphores: two attempts of one call were executed after its
/// end, and each was granted the lock.
TEST(Departures, EachGrantToAnOwnerThatIsOverIsGivenBack) {
  PartWorld w;
  Departures departures("host");
  const auto call = asks(queued());
  departures.ended(call, w.step());
  NamedOwner named;
  named.document.name = "lock";
  for (const int second : {2'000, 2'001}) {
    named.at = FencingToken(second);
    departures.granted(named, call.owner, w.step());
    const auto pass_on = w.sent<PassOnCommand>().back();
    Reply reply = CoreWorld::with(Outcome::done);
    reply.matched = 1;
    reply.operation_time = FencingToken(second + 500);
    (void)departures.answered_delete(w.answered(pass_on.id), reply, w.step());
    departures.granted(named, call.owner, w.step());  // reported once more
  }
  EXPECT_EQ(w.sent<PassOnCommand>().size(), 2u);
}

}  // namespace
}  // namespace leasehold::core

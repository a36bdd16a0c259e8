#include "core/release/departures.hpp"

#include <gtest/gtest.h>

#include "core/document/lock_queue.hpp"
#include "core/testing/part_world.hpp"

namespace leasehold::core {
namespace {

using std::chrono::milliseconds;

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

TEST(Departures, AReleaseIsADeleteWhereNobodyQueued) {
  PartWorld w;
  Departures departures("host");
  EXPECT_EQ(departures.release_of(held(), 5, w.step()).by, Cleanup::By::deletion);
  EXPECT_EQ(departures.release_of(held(queued()), 5, w.step()).by,
            Cleanup::By::deletion_unless_queued)
      << "one that queues might meet a queue";
  EXPECT_TRUE(w.effects.empty()) << "who waits here may come first";
}

TEST(Departures, AReleaseIsAPassOnWhereSomebodyQueuedLately) {
  PartWorld w;
  Departures departures("host");
  departures.see("lock", with_queue(), w.now);
  EXPECT_EQ(departures.release_of(held(), 5, w.step()).by, Cleanup::By::pass_on);
  w.now += std::chrono::seconds(10);
  EXPECT_EQ(departures.release_of(held(), 5, w.step()).by, Cleanup::By::deletion)
      << "who waited may have left";
}

TEST(Departures, WhoNeverMayHaveWonLeavesNothing) {
  PartWorld w;
  Departures departures("host");
  departures.ended(asks(), w.step());
  EXPECT_TRUE(w.effects.empty());
  EXPECT_EQ(departures.left(), 0u);
}

TEST(Departures, WhoMayHaveWonIsDeletedTwice) {
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
    EXPECT_TRUE(attempt.sessions.empty()) << "the answer is nobody's but the clean-up's";
    const auto lock_id = to_hex(won ? Owner{3, 4} : Owner{9, 9}) + ".3000.1";
    departures.answered_attempt(attempt.cleanup, shows(lock_id), w.step());
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

TEST(Departures, AReceiverThatEndsTakesTheHandOverAlong) {
  PartWorld w;
  Departures departures("host");
  const auto id = departures.new_id();
  auto call = asks();
  departures.hand_over(id, departures.release_of(held(), 5, w.step()), 6, call, w.step());
  const auto command = w.sent<HandOverCommand>().at(0).id;
  call.phase = AcquireCall::Receiving{id};
  departures.ended(call, w.step());
  EXPECT_EQ(departures.left(), 1u);
  const auto answer =
      departures.answered_hand_over(w.answered(command), CoreWorld::with(Outcome::done), w.step());
  EXPECT_FALSE(answer) << "nobody has the lock by it";
  EXPECT_EQ(w.last<DeleteCommand>().owner, (Owner{1, 2}));
  EXPECT_EQ(w.last<DeleteCommand>().or_owner, (Owner{3, 4}));
}

TEST(Departures, AHandOverWaitsNoLongerThanTheMoreImpatientOfBoth) {
  PartWorld w;
  Departures departures("host");
  auto call = asks();
  call.options.operation_timeout = milliseconds(200);
  departures.hand_over(departures.new_id(), departures.release_of(held(), 5, w.step()), 6, call,
                       w.step());
  EXPECT_EQ(w.sent<HandOverCommand>().at(0).timeout, milliseconds(200));
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
  EXPECT_TRUE(w.sent<PassOnCommand>().empty()) << "of nobody that was here";
  departures.granted(named, call.owner, w.step());
  departures.granted(named, call.owner, w.step());
  ASSERT_EQ(w.sent<PassOnCommand>().size(), 1u);
  EXPECT_EQ(w.last<PassOnCommand>().owner, call.owner);
}

}  // namespace
}  // namespace leasehold::core

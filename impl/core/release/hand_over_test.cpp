#include <gtest/gtest.h>

#include "core/testing/core_world.hpp"

namespace leasehold::core::hand_over_test {
namespace {

using std::chrono::milliseconds;
using World = CoreWorld;

const std::string kRival = to_hex({9, 9}) + ".3000.1";

HandOverCommand hand_over_of(const Command& command) {
  return std::get<HandOverCommand>(command.body);
}

Reply given(const Command& command, std::int64_t token) {
  const auto body = hand_over_of(command);
  Reply r;
  r.outcome = Outcome::done;
  r.operation_time = FencingToken(token);
  r.documents = {{body.name, body.lock_id, ServerInstant{88}, token - 1, ""}};
  return r;
}

/// Session 1 holds, 2 and so on wait behind it.
World with_waiters(SessionId last, LockOptions options = World::options()) {
  World w;
  w.hold(1, "lock", options);
  for (SessionId id = 2; id <= last; ++id) w.acquire(id, "lock", options, milliseconds(60'000));
  return w;
}

/// And 1 releases: the hand-over to 2 is under way.
World handing_over(LockOptions options = World::options()) {
  auto w = with_waiters(2, options);
  w.give(ReleaseAsked{1});
  return w;
}

/// The holder releases, and the hand-over is answered.
void pass_on(World& w, SessionId from, std::int64_t token) {
  w.give(ReleaseAsked{from});
  w.reply(given(w.last_command(), token));
  ASSERT_TRUE(w.has<Granted>());
}

TEST(WaitQueue, ACallThatIsNotInFrontSendsNothing) {
  World w;
  w.acquire(1);
  w.acquire(2);
  w.acquire(3, "another");
  EXPECT_EQ(w.sent_as<AcquireCommand>().size(), 2u) << "one for each name";
  w.advance(milliseconds(800));
  EXPECT_EQ(w.sent_as<AcquireCommand>().size(), 2u);
}

TEST(WaitQueue, AReleaseGivesTheLockToTheNextInOneCommand) {
  auto w = with_waiters(3);
  w.advance(milliseconds(500));
  const auto commands = w.sent().size();
  const auto sent = w.now;
  w.give(ReleaseAsked{1});
  ASSERT_EQ(w.sent().size(), commands + 1);
  const auto body = hand_over_of(w.last_command());
  EXPECT_EQ(body.session, 2u);
  EXPECT_EQ(body.from, (Owner{1, 2}));
  EXPECT_EQ(body.owner, (Owner{3, 4}));
  EXPECT_TRUE(body.lock_id.starts_with(to_hex(body.owner) + ".3000."));
  w.now += milliseconds(3);
  w.reply(given(w.last_command(), 2'000));
  ASSERT_TRUE(w.has<Released>());
  EXPECT_EQ(w.find<Released>()->session, 1u);
  EXPECT_EQ(w.find<Released>()->result, ReleaseResult::released);
  ASSERT_TRUE(w.has<Granted>());
  EXPECT_EQ(w.find<Granted>()->session, 2u);
  EXPECT_EQ(w.find<Granted>()->token, FencingToken(2'000));
  EXPECT_EQ(w.find<Granted>()->sent, sent) << "the deadline counts from the sending";
  EXPECT_EQ(w.core.departures_left(), 0u);
}

/// Observers read the lease in the lockId: by a shorter one they would take what is held.
TEST(WaitQueue, AHandOverIsByTheOptionsOfItsReceiver) {
  auto giver = World::options();
  giver.expiry = milliseconds(1'000);
  auto receiver = World::options();
  receiver.clock_margin = milliseconds(700);
  receiver.operation_timeout = milliseconds(200);
  World w;
  w.hold(1, "lock", giver);
  w.acquire(2, "lock", receiver, milliseconds(60'000));
  w.give(ReleaseAsked{1});
  const auto body = hand_over_of(w.last_command());
  EXPECT_EQ(body.lease, milliseconds(3'000));
  EXPECT_EQ(body.margin, milliseconds(700));
  EXPECT_EQ(w.last_command().timeout, milliseconds(200)) << "the shorter one of both";
  EXPECT_TRUE(body.lock_id.starts_with(to_hex(body.owner) + ".3000.")) << body.lock_id;
  w.reply(given(w.last_command(), 2'000));
  EXPECT_EQ(w.find<Granted>()->deadline,
            lease_deadline(w.now, receiver.expiry, receiver.max_drift));
}

TEST(WaitQueue, AnOldPrimaryOfBeforeTheWinDoesNotDenyTheReleaserItsLock) {
  auto w = handing_over();
  auto old = World::with(Outcome::done);   // no document
  old.operation_time = FencingToken(999);  // the win's is 1000
  w.reply(old);
  EXPECT_FALSE(w.has<Released>());
  w.advance(milliseconds(250));
  EXPECT_EQ(hand_over_of(w.last_command()).from, (Owner{1, 2})) << "sent again";
  w.reply(given(w.last_command(), 2'000));
  EXPECT_EQ(w.find<Released>()->result, ReleaseResult::released);
  EXPECT_TRUE(w.has<Granted>());
}

TEST(WaitQueue, ATimerOfAHandOverThatIsEarlyOrOfNoneDoesNothing) {
  auto w = handing_over();
  w.reply(World::with(Outcome::not_executed));
  const auto of_departure = std::find_if(w.timers.begin(), w.timers.end(), [](const auto& one) {
    return one.first.kind == Timer::Kind::departure;
  });
  ASSERT_NE(of_departure, w.timers.end());
  const auto id = of_departure->first.id;
  for (const auto& timer : std::vector<Timer>{{Timer::Kind::departure, id},
                                              {Timer::Kind::departure, id + 1},
                                              {Timer::Kind::report, id + 1}}) {
    w.give(TimerFired{timer});
    EXPECT_TRUE(w.effects.empty()) << static_cast<int>(timer.kind) << ' ' << timer.id;
  }
}

TEST(WaitQueue, TheDeleteOfAReceiverThatGivesUpGoesOnForTwoOfItsLeases) {
  auto brief = World::options();
  brief.expiry = milliseconds(1'000);
  World w;
  w.hold(1, "lock", brief);
  w.acquire(2);
  w.give(ReleaseAsked{1});
  const auto command = w.last_command();
  w.now += milliseconds(100);
  const auto ended = w.now;  // the receiver's lease may begin as late as now
  w.give(CancelAsked{2});
  w.give(ReplyArrived{command.id, World::with(Outcome::unknown)});
  auto last = ended;
  while (w.core.departures_left() > 0) {
    last = w.now;
    w.reply(World::with(Outcome::not_executed));
    const auto deletes = w.sent_as<DeleteCommand>().size();
    while (w.core.departures_left() > 0 && w.sent_as<DeleteCommand>().size() == deletes) {
      w.advance(milliseconds(10));
    }
  }
  EXPECT_EQ(last - ended, 2 * milliseconds(3'000));
}

TEST(WaitQueue, AHandOverHeardOfTooLateIsGivenBack) {
  auto options = World::options();
  options.expiry = milliseconds(1'000);
  options.operation_timeout = milliseconds(400);
  auto w = handing_over(options);
  const auto command = w.last_command();
  w.now += milliseconds(1'000);
  w.give(ReplyArrived{command.id, given(command, 2'000)});
  EXPECT_FALSE(w.has<Granted>());
  EXPECT_EQ(w.sent_as<DeleteCommand>().size(), 1u);
  EXPECT_NE(std::get<AcquireCommand>(w.last_command().body).owner, hand_over_of(command).owner);
}

TEST(WaitQueue, AHandOverWithoutANewTokenEndsTheCall) {
  auto w = handing_over();
  auto reply = given(w.last_command(), 2'000);
  reply.documents[0].fencing_token = 2'000;
  w.reply(reply);
  ASSERT_TRUE(w.has<Ended>());
  EXPECT_EQ(w.find<Ended>()->error.kind, ErrorKind::configuration);
  EXPECT_EQ(std::get<DeleteCommand>(w.last_command().body).owner, (Owner{3, 4}));
}

TEST(WaitQueue, AfterSomeHandOversInARowOthersGetTheirTurn) {
  auto w = with_waiters(20);
  for (SessionId id = 1; id <= 8; ++id) {
    pass_on(w, id, 2'000 + static_cast<std::int64_t>(id));
  }
  w.give(ReleaseAsked{9});
  EXPECT_TRUE(std::holds_alternative<DeleteCommand>(w.last_command().body));
  w.reply(World::with(Outcome::done, 1));
  EXPECT_EQ(std::get<AcquireCommand>(w.last_command().body).session, 10u)
      << "no rival was seen: it tries at once";
  w.reply(w.won(w.last_command(), 3'000));
  w.give(ReleaseAsked{10});
  EXPECT_EQ(hand_over_of(w.last_command()).session, 11u) << "and a new row begins";
}

TEST(WaitQueue, ARivalGetsItsTurn) {
  auto w = with_waiters(20);
  for (SessionId id = 1; id <= 8; ++id) {
    pass_on(w, id, 2'000 + static_cast<std::int64_t>(id));
  }
  w.give(ReleaseAsked{9});
  w.reply(World::with(Outcome::done, 1));
  w.reply(World::refused(kRival));  // session 10's attempt
  w.advance(milliseconds(100));     // its pause
  w.reply(w.won(w.last_command(), 3'000));
  for (SessionId id = 10; id <= 17; ++id) {
    pass_on(w, id, 3'000 + static_cast<std::int64_t>(id));
  }
  w.now += milliseconds(40);
  w.give(ReleaseAsked{18});
  const auto commands = w.sent().size();
  w.reply(World::with(Outcome::done, 1));
  EXPECT_EQ(w.sent().size(), commands) << "the next one pauses first";
  w.advance(milliseconds(39));
  EXPECT_EQ(w.sent().size(), commands) << "as long as this process had it, or its pause of 100 ms";
  w.advance(milliseconds(1));
  EXPECT_EQ(std::get<AcquireCommand>(w.last_command().body).session, 19u);
}

TEST(WaitQueue, TheNextKeepsThePaceOfOneThatGaveUp) {
  World w;
  w.acquire(1);
  w.acquire(2);
  w.reply(World::refused(kRival));
  w.advance(milliseconds(60));  // of a pause of 100
  const auto commands = w.sent().size();
  w.give(CancelAsked{1});
  EXPECT_EQ(w.sent().size(), commands);
  w.advance(milliseconds(39));
  EXPECT_EQ(w.sent().size(), commands);
  w.advance(milliseconds(1));
  EXPECT_EQ(std::get<AcquireCommand>(w.last_command().body).session, 2u);
}

/// The lock may have become free long ago: the pause that is left was another call's.
TEST(WaitQueue, TheNextDoesNotWaitLongerThanItsOwnStrategySays) {
  World w;
  auto patient = World::options();
  patient.waiting = fixed_waiting(milliseconds(60'000));
  w.acquire(1, "lock", patient);
  w.acquire(2);
  w.reply(World::refused(kRival));
  const auto commands = w.sent().size();
  w.give(CancelAsked{1});
  w.advance(milliseconds(99));
  EXPECT_EQ(w.sent().size(), commands) << "nor sooner than that";
  w.advance(milliseconds(1));
  ASSERT_EQ(w.sent().size(), commands + 1);
  EXPECT_EQ(std::get<AcquireCommand>(w.last_command().body).session, 2u);
}

TEST(WaitQueue, TheNextAfterAReleaseWaitsByItsOwnStrategy) {
  World w;
  auto patient = World::options();
  patient.waiting = fixed_waiting(milliseconds(60'000));
  patient.hand_overs_in_a_row = 0;
  w.hold(1, "lock", patient);
  w.acquire(2);
  w.give(ReleaseAsked{1});  // and the answer to its delete is lost
  EXPECT_TRUE(std::holds_alternative<DeleteCommand>(w.last_command().body)) << "no hand-over";
  w.advance(milliseconds(100));
  EXPECT_EQ(std::get<AcquireCommand>(w.last_command().body).session, 2u);
}

TEST(WaitQueue, WhenTheHolderLosesItTheNextContends) {
  auto w = with_waiters(2);
  w.give(DeadlineSeen{1});
  EXPECT_TRUE(w.has<Lost>());
  EXPECT_EQ(std::get<AcquireCommand>(w.last_command().body).session, 2u);
  w.give(ReleaseAsked{1});
  EXPECT_TRUE(std::holds_alternative<DeleteCommand>(w.last_command().body))
      << "what is lost is not handed over";
}

TEST(WaitQueue, ACallWhoseAttemptIsUnderWayIsHandedNothing) {
  World w;
  w.acquire(1);
  w.acquire(2, "lock", World::options(), std::nullopt, true);
  w.reply(w.won(w.last_command()));
  w.give(ReleaseAsked{2});
  EXPECT_TRUE(std::holds_alternative<DeleteCommand>(w.last_command().body));
}

/// Nobody knows what the hand-over did.
TEST(WaitQueue, AReceiverThatGivesUpAfterAnUnclearHandOverIsDeleted) {
  auto w = handing_over();
  w.reply(World::with(Outcome::unknown));
  w.advance(milliseconds(250));
  w.reply(World::with(Outcome::done));  // no document
  EXPECT_EQ(w.find<Released>()->result, ReleaseResult::unknown);
  w.reply(World::refused(kRival));
  w.give(CancelAsked{2});
  ASSERT_EQ(w.sent_as<DeleteCommand>().size(), 1u);
  EXPECT_EQ(std::get<DeleteCommand>(w.last_command().body).owner, (Owner{3, 4}));
}

TEST(WaitQueue, ClosingEndsAllOfItAndNobodyBegins) {
  auto w = with_waiters(5);
  w.give(CloseAsked{});
  EXPECT_EQ(w.count<Ended>(), 4);
  EXPECT_EQ(w.find<Ended>()->error.kind, ErrorKind::shut_down);
  EXPECT_EQ(w.core.departures_left(), 0u);
  w.acquire(6);
  EXPECT_EQ(w.find<Ended>()->error.kind, ErrorKind::shut_down);
  w.give(ReleaseAsked{1});
  EXPECT_TRUE(std::holds_alternative<DeleteCommand>(w.last_command().body));
  w.reply(World::with(Outcome::done, 1));
  EXPECT_EQ(w.sent_as<AcquireCommand>().size(), 1u);
}

TEST(WaitQueue, AHandOverThatCanNeverBeEndsTheReceiversCall) {
  auto w = handing_over();
  w.reply(World::with(Outcome::configuration));
  ASSERT_TRUE(w.has<Ended>());
  EXPECT_EQ(w.find<Ended>()->session, 2u);
  EXPECT_EQ(w.find<Ended>()->error.kind, ErrorKind::configuration);
}

}  // namespace
}  // namespace leasehold::core::hand_over_test

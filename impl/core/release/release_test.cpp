#include <gtest/gtest.h>

#include "core/release/forced_release.hpp"
#include "core/testing/core_world.hpp"

namespace leasehold::core::release_test {
namespace {

using std::chrono::milliseconds;
using World = CoreWorld;

/// When its deletes are sent, none of which is executed, until it gives them up.
std::vector<LocalInstant> sendings_of_deletes(World& w) {
  std::vector<LocalInstant> sent;
  while (w.core.departures_left() > 0) {
    sent.push_back(w.now);
    w.reply(World::with(Outcome::not_executed));
    const auto deletes = w.sent_as<DeleteCommand>().size();
    while (w.core.departures_left() > 0 && w.sent_as<DeleteCommand>().size() == deletes) {
      w.advance(milliseconds(10));
    }
  }
  return sent;
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
  const auto sent = sendings_of_deletes(w);
  for (const auto& [nth, second] : {std::pair{0, 0}, {1, 1}, {2, 3}, {3, 7}, {4, 12}}) {
    EXPECT_EQ(sent.at(nth), began + std::chrono::seconds(second)) << nth;
  }
  EXPECT_EQ(sent.back(), began + milliseconds(60'000)) << "two expiries";
}

/// A permission that was taken away, say.
TEST(Release, OneThatTheServerWillNeverTakeIsWarnedOfAndNotRepeated) {
  World w;
  w.hold(1);
  w.give(ReleaseAsked{1});
  auto refused = World::with(Outcome::configuration);
  refused.message = "not authorized";
  w.reply(refused);
  EXPECT_EQ(w.find<Released>()->result, ReleaseResult::unknown);
  EXPECT_EQ(w.find<Warned>()->message, "lock 'lock' cannot be deleted: not authorized");
  w.advance(milliseconds(10'000));
  EXPECT_EQ(w.sent_as<DeleteCommand>().size(), 1u);
  EXPECT_EQ(w.core.departures_left(), 0u);
}

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
World with_waiters(SessionId last) {
  World w;
  w.hold(1);
  for (SessionId id = 2; id <= last; ++id) w.acquire(id);
  return w;
}

/// And 1 releases: the hand-over to 2 is under way.
World handing_over() {
  auto w = with_waiters(2);
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
  const auto commands = w.sent().size();
  const auto sent = w.now;
  w.give(ReleaseAsked{1});
  ASSERT_EQ(w.sent().size(), commands + 1) << "one command";
  const auto body = hand_over_of(w.last_command());
  EXPECT_EQ(body.from, (Owner{1, 2}));
  EXPECT_EQ(body.lease, milliseconds(3'000));
  EXPECT_EQ(body.margin, milliseconds(700));
  EXPECT_EQ(w.last_command().timeout, milliseconds(200)) << "the shorter one of both";
  EXPECT_TRUE(body.lock_id.starts_with(to_hex(body.owner) + ".3000.")) << body.lock_id;
  w.now += milliseconds(3);
  w.reply(given(w.last_command(), 2'000));
  EXPECT_EQ(w.the<Released>().result, ReleaseResult::released);
  EXPECT_EQ(w.the<Granted>().session, 2u);
  EXPECT_EQ(w.the<Granted>().deadline, lease_deadline(sent, receiver.expiry, receiver.max_drift));
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
  EXPECT_EQ(sendings_of_deletes(w).back() - ended, 2 * milliseconds(3'000));
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

/// The lock may have become free long ago: what is left of a longer pause was another call's.
TEST(WaitQueue, TheNextKeepsThePaceOfOneThatGaveUpButWaitsNoLongerThanItsOwnStrategySays) {
  for (const auto& [pause, waited] : {std::pair{100, 60}, {60'000, 0}}) {
    World w;
    auto options = World::options();
    options.waiting = fixed_waiting(milliseconds(pause));
    w.acquire(1, "lock", options);
    w.acquire(2);
    w.reply(World::refused(kRival));
    w.advance(milliseconds(waited));
    const auto commands = w.sent().size();
    w.give(CancelAsked{1});
    w.advance(milliseconds(99 - waited));
    EXPECT_EQ(w.sent().size(), commands) << pause;
    w.advance(milliseconds(1));
    EXPECT_EQ(std::get<AcquireCommand>(w.last_command().body).session, 2u) << pause;
  }
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

TEST(WaitQueue, ACallWhoseAttemptIsUnderWayIsHandedNothing) {
  World w;
  w.acquire(1);
  w.acquire(2, "lock", World::options(), std::nullopt, true);
  w.reply(w.won(w.last_command()));
  w.give(ReleaseAsked{2});
  EXPECT_TRUE(std::holds_alternative<DeleteCommand>(w.last_command().body));
}

TEST(WaitQueue, AHandOverThatCanNeverBeEndsTheReceiversCall) {
  auto w = handing_over();
  w.reply(World::with(Outcome::configuration));
  EXPECT_EQ(w.the<Ended>().session, 2u);
  EXPECT_EQ(w.the<Ended>().error.kind, ErrorKind::configuration);
}

constexpr Owner kVictim{1, 2}, kFresh{3, 4};

LockDocument seen(const std::string& lock_id, std::int64_t expires_ms = 90'000) {
  return {.name = "l", .lock_id = lock_id, .acquired_at = {}, .corruption = {},
          .expires_at = {expires_ms}, .read_at = {30'000}};
}

TEST(ForcedRelease, WaitsForTheHoldersLeaseAndTheLargestDriftOfTheAdministratorsClock) {
  const auto force = forced_release(seen(format_lock_id({kVictim, 10'000, 7, "p"})), kFresh);
  EXPECT_EQ(force->wait, milliseconds(11'001));
  EXPECT_EQ(force->take.lease, force->wait) << "a waiting call presumes it dead after that";
  EXPECT_EQ(force->take.observed, "00000000000000010000000000000002.10000.7.p");
  EXPECT_EQ(force->free.owner, kFresh);
  EXPECT_TRUE(force->free.offers) << "the first in the queue takes it by an attempt of its own";
  EXPECT_EQ(forced_release(seen(force->take.lock_id), {5, 6})->wait, force->wait) << "a second one";
  const auto longest =
      forced_release(seen(format_lock_id({kVictim, kMaxExpiry.count(), 7, "p"})), kFresh);
  EXPECT_EQ(longest->wait, kMaxExpiry + kMaxExpiry / 10 + milliseconds(1));
  EXPECT_TRUE(parse_lock_id(longest->take.lock_id)) << longest->take.lock_id;
  const auto of_others = forced_release(seen("other software's"), kFresh);
  EXPECT_EQ(of_others->wait, milliseconds(66'001)) << "as long as the document says";
  EXPECT_EQ(forced_release(seen("other software's", 1'000), kFresh)->wait, kMinExpiry);
}

/// The holder's clock is as slow as its `max_drift` allows, the administrator's as fast.
TEST(ForcedRelease, EndsAfterTheHolderWhateverDriftThatMayHave) {
  for (const double drift : {0.0, 0.005, 0.01, 0.02, 0.05, kMaxDrift}) {
    const milliseconds lease(30'000);
    const auto force = forced_release(seen(format_lock_id({kVictim, lease.count(), 7})), kFresh);
    const std::chrono::duration<double> held =
        lease_deadline({}, lease, drift).time_since_epoch() / (1 - drift);
    EXPECT_GE(std::chrono::duration<double>(force->wait) / (1 + drift), held) << drift;
  }
}

}  // namespace
}  // namespace leasehold::core::release_test

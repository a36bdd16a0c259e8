#include <gtest/gtest.h>

#include "core/testing/core_world.hpp"

/// What the core does where more is to be sent than its slots allow. What comes of it with tens of
/// thousands of locks: FlowInTheVirtualWorld.
namespace leasehold::core {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

CoreWorld world_with(int slots) {
  CoreWorld w;
  w.core = ProviderCore("host:1:test", slots);
  return w;
}

/// So many calls for as many free locks; the first `slots` are sent.
void ask(CoreWorld& w, SessionId first, SessionId last, std::optional<milliseconds> timeout = {}) {
  for (SessionId id = first; id <= last; ++id) {
    w.acquire(id, "lock-" + std::to_string(id), CoreWorld::options(), timeout);
  }
}

TEST(FlowControl, ACallWaitsUnsentUntilASlotIsFree) {
  auto w = world_with(2);
  ask(w, 1, 3);
  ASSERT_EQ(w.sent().size(), 2u);
  w.now += milliseconds(700);
  w.give(ReplyArrived{w.sent()[0].id, w.won(w.sent()[0])});
  ASSERT_EQ(w.sent_as<AcquireCommand>().size(), 3u);
  const Command third = w.sent_as<AcquireCommand>()[2];
  EXPECT_EQ(w.timers.at({Timer::Kind::command_timeout, third.id}), w.now + third.timeout)
      << "its time counts from its sending";
  const auto sent = w.now;
  w.now += milliseconds(100);
  w.give(ReplyArrived{third.id, w.won(third)});
  EXPECT_EQ(w.the<Granted>().sent, sent) << "and so does the lease";
}

TEST(FlowControl, ACallThatWasNeverSentEndsWithoutATrace) {
  auto w = world_with(1);
  ask(w, 1, 3, milliseconds(500));
  w.give(CancelAsked{2});
  EXPECT_EQ(w.find<Ended>()->error.kind, ErrorKind::cancelled);
  w.advance(milliseconds(500));
  EXPECT_EQ(w.core.departures_left(), 1u) << "of the one attempt that was sent";
  EXPECT_EQ(w.sent().size(), 1u);
}

TEST(FlowControl, ASingleAttemptEndsWithinAnOperationWhetherItFindsASlotOrNot) {
  for (const bool finds : {false, true}) {
    auto w = world_with(1);
    w.acquire(1, "one");
    w.acquire(2, "other", CoreWorld::options(), {}, true);
    w.give(ReplyArrived{99, {}});
    const auto first = w.sent()[0];
    w.timers.erase({Timer::Kind::command_timeout, first.id});
    w.advance(milliseconds(900));
    if (finds) w.give(ReplyArrived{first.id, w.won(first)});
    w.advance(milliseconds(99));
    EXPECT_FALSE(w.has<Ended>());
    w.advance(milliseconds(1));
    EXPECT_EQ(w.the<Ended>().session, 2u);
    EXPECT_EQ(w.the<Ended>().error.kind,
              finds ? ErrorKind::unknown_outcome : ErrorKind::unavailable);
    EXPECT_EQ(w.core.departures_left(), finds ? 1u : 0u) << "what was sent may have won";
  }
}

/// A process that was stopped finds everything due at once, in any order.
TEST(FlowControl, ACallWhoseTimeIsOverIsNotSentThoughASlotIsFree) {
  auto w = world_with(1);
  ask(w, 1, 2, milliseconds(500));
  w.now += milliseconds(600);
  w.give(ReplyArrived{w.sent()[0].id, w.won(w.sent()[0])});
  EXPECT_EQ(w.sent_as<AcquireCommand>().size(), 1u);
  w.advance(milliseconds(0));
  EXPECT_EQ(w.count<Ended>(), 1);
  EXPECT_EQ(w.core.departures_left(), 0u);
}

TEST(FlowControl, AReleaseIsNotBehindAllAttempts) {
  auto w = world_with(1);
  w.hold(1, "held");
  ask(w, 2, 100);
  w.give(ReleaseAsked{1});
  for (int answered = 0; answered < 2; ++answered) {
    w.give(ReplyArrived{w.last_command().id, w.won(w.sent_as<AcquireCommand>().back())});
  }
  EXPECT_EQ(w.sent_as<DeleteCommand>().size(), 1u);
  EXPECT_LE(w.sent_as<AcquireCommand>().size(), 3u);
}

/// A delete that is too late to be of use is dropped, and the next delete is sent in its place.
TEST(FlowControl, AReleaseThatIsNotSentAnyMoreTakesNoTurnFromTheNext) {
  auto w = world_with(1);
  w.hold(1, "first");
  w.hold(2, "second");
  ask(w, 3, 3);  // takes the slot
  w.give(ReleaseAsked{1});
  w.now += seconds(5);
  w.give(ReleaseAsked{2});
  ask(w, 4, 9);
  w.now += milliseconds(1'500);  // two leases after the first release
  const auto attempts = w.sent_as<AcquireCommand>();
  w.give(ReplyArrived{w.last_command().id, w.won(w.last_command())});
  ASSERT_EQ(w.sent_as<DeleteCommand>().size(), 1u);
  EXPECT_EQ(std::get<DeleteCommand>(w.last_command().body).name, "second");
  EXPECT_EQ(w.sent_as<AcquireCommand>().size(), attempts.size());
}

TEST(FlowControl, NoAttemptIsSentWhileExtensionsAreBehind) {
  auto w = world_with(1);
  constexpr SessionId kHeld = 2 * kMaxBatch + 1;
  for (SessionId id = 1; id <= kHeld; ++id) w.hold(id, "held-" + std::to_string(id));
  ask(w, kHeld + 1, kHeld + 2);  // one is sent
  w.now += milliseconds(1'000);
  w.give(TimerFired{{Timer::Kind::extension_round, 0}});
  const auto attempts = w.sent_as<AcquireCommand>().size();
  w.give(ReplyArrived{w.last_command().id, w.won(w.last_command())});
  for (std::size_t round = 1; round <= 3; ++round) {
    ASSERT_EQ(w.sent_as<ExtendCommand>().size(), round);
    EXPECT_EQ(w.sent_as<AcquireCommand>().size(), attempts);
    const auto extension = w.last_command();
    const auto count = std::get<ExtendCommand>(extension.body).statements.size();
    w.give(ReplyArrived{extension.id,
                        CoreWorld::with(Outcome::done, static_cast<std::int64_t>(count))});
  }
  EXPECT_EQ(w.sent_as<AcquireCommand>().size(), attempts + 1);
}

/// Servers that cannot do so much within an operation timeout would never do it.
TEST(FlowControl, ABatchOfExtensionsWithoutAnAnswerIsSentInHalvesUntilOneIsAnswered) {
  auto w = world_with(1);
  for (SessionId id = 1; id <= 80; ++id) w.hold(id, "held-" + std::to_string(id));
  w.now += milliseconds(1'000);
  w.give(TimerFired{{Timer::Kind::extension_round, 0}});
  const auto size = [&] {
    return std::get<ExtendCommand>(w.last_command().body).statements.size();
  };
  const auto answer = [&](Outcome outcome) {
    const auto matched = outcome == Outcome::done ? static_cast<std::int64_t>(size()) : 0;
    const auto sent = w.sent_as<ExtendCommand>().size();
    w.give(ReplyArrived{w.last_command().id, CoreWorld::with(outcome, matched)});
    while (w.sent_as<ExtendCommand>().size() == sent) w.advance(milliseconds(10));
  };
  std::vector<std::size_t> sizes{size()};
  for (const auto outcome : {Outcome::unknown, Outcome::unknown, Outcome::unknown, Outcome::unknown,
                             Outcome::done, Outcome::done}) {
    answer(outcome);
    sizes.push_back(size());
  }
  EXPECT_EQ(sizes, (std::vector<std::size_t>{80, 40, 20, 10, 10, 20, 40}));
}

TEST(FlowControl, ASlotThatAnAnswerFreesIsForExtensionsThatWaitNotForWhatFollowsFromTheAnswer) {
  auto w = world_with(1);
  w.hold(1, "held");
  ask(w, 2, 2);
  w.now += milliseconds(1'000);
  w.give(TimerFired{{Timer::Kind::extension_round, 0}});
  w.give(CancelAsked{2});
  const auto attempt = w.sent_as<AcquireCommand>().back();
  w.give(ReplyArrived{attempt.id, w.won(attempt)});  // a delete follows
  EXPECT_EQ(w.sent_as<ExtendCommand>().size(), 1u);
  EXPECT_TRUE(w.sent_as<DeleteCommand>().empty());
}

/// The attempts of the receiver were refused: it has nothing to clean up.
TEST(FlowControl, AHandOverThatWasNeverSentEndsAsADeleteOfItsGiverAlone) {
  auto w = world_with(1);
  w.hold(1, "lock");
  w.acquire(2, "lock");  // behind it
  ask(w, 3, 3);          // takes the slot
  w.give(ReleaseAsked{1});
  w.give(CancelAsked{2});
  w.give(ReplyArrived{w.last_command().id, w.won(w.last_command())});
  EXPECT_TRUE(w.sent_as<HandOverCommand>().empty());
  ASSERT_EQ(w.sent_as<DeleteCommand>().size(), 1u);
  EXPECT_FALSE(std::get<DeleteCommand>(w.last_command().body).or_owner);
}

TEST(FlowControl, CongestionIsReportedFromTheFirstThatWaitsToTheLast) {
  auto w = world_with(1);
  std::vector<bool> told;
  const auto listen = [&] {
    for (const auto& effect : w.effects) {
      if (const auto* news = std::get_if<Congested>(&effect)) told.push_back(news->begins);
    }
  };
  for (SessionId id = 1; id <= 3; ++id) {
    ask(w, id, id);
    listen();
  }
  EXPECT_EQ(told, std::vector{true});
  w.give(CancelAsked{3});
  listen();
  w.give(ReplyArrived{w.last_command().id, w.won(w.last_command())});
  listen();
  EXPECT_EQ(told, (std::vector{true, false}));
}

/// It got the lock from this process while it waited for a slot.
TEST(FlowControl, ACallThatIsGivenTheLockLeavesTheLine) {
  auto w = world_with(1);
  w.hold(1, "lock");
  w.acquire(2, "lock");
  w.give(ReleaseAsked{1});  // the hand-over takes the slot
  const auto hand_over = w.last_command();
  w.give(ReplyArrived{hand_over.id, CoreWorld::with(Outcome::done)});  // nothing there: it contends
  ask(w, 3, 3);
  const auto attempt = w.last_command();
  w.give(ReplyArrived{attempt.id, w.won(attempt)});
  EXPECT_EQ(w.sent_as<AcquireCommand>().size(), 3u);
  EXPECT_EQ(w.count<Congested>(), 2) << "no line is left";
}

TEST(FlowControl, InTroubleOneCommandAtATimeAsksUntilOneIsAnswered) {
  auto w = world_with(2);
  ask(w, 1, 20);
  const auto sent = [&w] { return w.sent_as<AcquireCommand>().size(); };
  w.advance(milliseconds(1'000));  // both time out
  EXPECT_EQ(sent(), 3u);
  w.advance(milliseconds(1'000));
  EXPECT_EQ(sent(), 4u);
  w.give(ReplyArrived{w.last_command().id, w.won(w.last_command())});
  EXPECT_EQ(sent(), 6u) << "both slots";
}

}  // namespace
}  // namespace leasehold::core

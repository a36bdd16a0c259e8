#include "core/release/hand_overs.hpp"

#include <gtest/gtest.h>

#include "core/testing/core_world.hpp"

namespace leasehold::core {
namespace {

using std::chrono::milliseconds;
using Answer = HandOvers::Answer;

const CleanupId kId = 5;
const Owner kGiver{1, 2}, kReceiver{3, 4};
constexpr milliseconds kReceiversLease(3'000);

/// One hand-over, without queues, calls or clean-ups.
struct HandOverWorld {
  HandOverWorld() {
    HandOver hand_over{cleanup_of("lock", kGiver, CoreWorld::options(), now), 7, kReceiversLease,
                       milliseconds(0)};
    hand_over.giver.or_owner = kReceiver;
    hand_over.giver.known_at = FencingToken(1'000);
    hand_over.giver.reporting = 6;
    hand_overs.start(kId, std::move(hand_over), step());
  }
  SendingStep step() { return {{now, entropy, effects}, pending}; }
  Answer answer(const Reply& reply) {
    const auto sent = last();
    return hand_overs.answered(*pending.take(sent.id, step()), reply, step());
  }
  [[nodiscard]] Command last() const {
    for (auto e = effects.rbegin(); e != effects.rend(); ++e) {
      if (const auto* send = std::get_if<Send>(&*e)) return send->command;
    }
    return {};
  }
  [[nodiscard]] std::optional<ReleaseResult> reported() const {
    for (const auto& effect : effects) {
      if (const auto* released = std::get_if<Released>(&effect)) return released->result;
    }
    return std::nullopt;
  }

  LocalInstant now{std::chrono::hours(1)};
  CountingEntropy entropy;
  Effects effects;
  PendingCommands pending;
  HandOvers hand_overs{"host"};
};

Reply given(const HandOverWorld& w) {
  Reply reply = CoreWorld::with(Outcome::done);
  const auto body = std::get<HandOverCommand>(w.last().body);
  reply.documents = {{"lock", body.lock_id, {}, 1, ""}};
  return reply;
}

TEST(HandOvers, OnlyTheLockIdOfThisVeryExecutionGives) {
  HandOverWorld w;
  auto reply = given(w);
  EXPECT_EQ(w.answer(CoreWorld::with(Outcome::unknown)), Answer::waits);
  EXPECT_EQ(w.answer(reply), Answer::waits) << "the document of the first one, without its time";
  w.now += milliseconds(250);
  w.hand_overs.due(kId, w.step());
  EXPECT_EQ(w.answer(given(w)), Answer::given);
  EXPECT_EQ(w.reported(), ReleaseResult::released);
  EXPECT_EQ(w.hand_overs.left(), 0u);
}

TEST(HandOvers, NothingAfterAnUnansweredOneIsUnclear) {
  HandOverWorld certain, uncertain;
  EXPECT_EQ(certain.answer(CoreWorld::with(Outcome::done)), Answer::nothing);
  EXPECT_EQ(certain.reported(), ReleaseResult::not_owner);
  EXPECT_EQ(uncertain.answer(CoreWorld::with(Outcome::unknown)), Answer::waits);
  EXPECT_EQ(uncertain.answer(CoreWorld::with(Outcome::done)), Answer::unclear);
  EXPECT_EQ(uncertain.reported(), ReleaseResult::unknown);
}

TEST(HandOvers, AStoppedOneLeavesADeleteOfBothOwnersAndItsCommand) {
  HandOverWorld w;
  w.now += milliseconds(700);
  const auto left = w.hand_overs.stop(kId, w.step());
  EXPECT_EQ(left.owner, kGiver);
  EXPECT_EQ(left.or_owner, kReceiver);
  EXPECT_EQ(left.command, w.last().id);
  EXPECT_TRUE(w.pending.at(left.command).sessions.empty()) << "nobody receives any more";
  EXPECT_EQ(left.reporting, 6u) << "the giver still waits for its result";
  EXPECT_GE(left.give_up_at, w.now + 2 * kReceiversLease) << "its lease may begin as late as now";
}

TEST(HandOvers, ATimerThatIsEarlyOrOfNoneDoesNothing) {
  HandOverWorld w;
  EXPECT_EQ(w.answer(CoreWorld::with(Outcome::not_executed)), Answer::waits);
  const auto effects = w.effects.size();
  w.hand_overs.due(kId, w.step());
  w.hand_overs.due(kId + 1, w.step());
  w.hand_overs.report_unknown(kId + 1, w.step());
  EXPECT_EQ(w.effects.size(), effects);
}

}  // namespace
}  // namespace leasehold::core

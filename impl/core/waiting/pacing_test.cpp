#include "core/waiting/pacing.hpp"

#include <gtest/gtest.h>

#include <functional>

#include "core/document/lock_queue.hpp"
#include "core/testing/core_world.hpp"

namespace leasehold::core::pacing_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

const std::string kRival = to_hex({9, 9}) + ".3000.1";

AcquireCall waits_by(std::shared_ptr<const WaitingStrategy> strategy) {
  AcquireCall call;
  call.name = "lock";
  call.options.expiry = seconds(60);
  call.options.waiting = std::move(strategy);
  call.owner = {1, 2};
  return call;
}

/// It is refused then, and sees a queue: this entry, and these tickets.
void see_queue(AcquireCall& call, const std::string& lock_id, const char* tickets,
               LocalInstant now) {
  Reply refusal;
  refusal.outcome = Outcome::done;
  auto& document = refusal.documents.emplace_back(LockDocument{"lock", kRival, {}, 1, ""});
  document.queue = "1700000000000" +
                   entry_without_until(milliseconds(1'500), seconds(90), lock_id) + tickets;
  call.place.shown(refusal, call.owner, now);
}

/// It is queued since then.
AcquireCall stands_in_queue(LocalInstant since) {
  auto call = waits_by(queue_waiting());
  see_queue(call, call.lock_id(1, ""), "", since);
  return call;
}

TEST(Pacing, AnAttemptIsNotPutOffBeyondTheHoldersPresumedDeath) {
  PartWorld w;
  Pacing pacing;
  auto call = waits_by(fixed_waiting(seconds(60)));
  pacing.see_holder("lock", kRival, w.now);
  const auto dies = sight_matures(w.now, seconds(3), call.options.max_drift);
  EXPECT_EQ(pacing.next_attempt_at(call, true, false, w.step()), dies);
  EXPECT_FALSE(pacing.presumed_dead(call, w.now));
  w.now = dies;
  EXPECT_EQ(pacing.presumed_dead(call, w.now), kRival);
  EXPECT_EQ(pacing.next_attempt_at(call, true, false, w.step()), w.now + seconds(60))
      << "who is dead already hastens nothing";
}

/// A strategy of an application that pauses as asked, and says that it stays below ten seconds.
struct OfATest final : WaitingStrategy {
  using Ns = std::chrono::nanoseconds;
  explicit OfATest(std::function<Ns(const AttemptSeen&)> pause_) : asked(std::move(pause_)) {}
  Ns pause(const AttemptSeen& seen, std::uint64_t) const override { return asked(seen); }
  Ns longest_pause() const override { return seconds(10); }
  std::optional<Ns> next_pace(const AttemptSeen&, bool won) const override {
    return won ? seconds(1) : seconds(2);
  }
  std::function<Ns(const AttemptSeen&)> asked;
};

AcquireCall pauses(std::function<OfATest::Ns(const AttemptSeen&)> pause) {
  return waits_by(std::make_shared<OfATest>(std::move(pause)));
}

TEST(Pacing, AStrategyIsHeldToItsOwnBound) {
  PartWorld w;
  const Pacing pacing;
  auto call = pauses([](const AttemptSeen&) { return OfATest::Ns::max(); });
  EXPECT_EQ(pacing.next_attempt_at(call, true, false, w.step()), w.now + seconds(10));
  call = pauses([](const AttemptSeen&) { return OfATest::Ns::min(); });
  EXPECT_EQ(pacing.next_attempt_at(call, true, false, w.step()), w.now);
}

TEST(Pacing, AStrategyIsShownWhatItsCallHasSeen) {
  PartWorld w;
  const Pacing pacing;
  AttemptSeen last;
  auto call = pauses([&last](const AttemptSeen& seen) {
    last = seen;
    return milliseconds(20);
  });
  call.contends_since = w.now;
  for (int attempt = 1; attempt <= 2; ++attempt) {
    const bool refused = attempt == 2;
    call.attempts = attempt;
    w.now += milliseconds(20);
    pacing.next_attempt_at(call, refused, false, w.step());
    EXPECT_EQ(last.attempts, attempt);
    EXPECT_EQ(last.refused, refused);
    EXPECT_EQ(last.waited, attempt * milliseconds(20));
    EXPECT_EQ(last.last_pause, (attempt - 1) * milliseconds(20));
    EXPECT_EQ(last.pace, std::nullopt);
    EXPECT_EQ(last.room_in, std::nullopt);
  }
}

TEST(Pacing, TheNextHeadAsksAfterItsOwnPauseAndBeforeItsTimeIsOver) {
  PartWorld w;
  const Pacing pacing;
  auto call = waits_by(fixed_waiting(seconds(10)));
  EXPECT_EQ(pacing.first_attempt_at(call, w.now, false, w.step()), w.now);
  EXPECT_EQ(pacing.first_attempt_at(call, w.now + seconds(3), false, w.step()), w.now + seconds(3));
  EXPECT_EQ(pacing.first_attempt_at(call, LocalInstant::max(), false, w.step()),
            w.now + seconds(10));
  call.give_up_at = w.now + seconds(8);
  EXPECT_EQ(pacing.first_attempt_at(call, LocalInstant::max(), false, w.step()),
            w.now + seconds(4));
}

TEST(Pacing, AQueuedCallThatHearsOfItsTurnOnlyRenewsItsEntry) {
  PartWorld w;
  const Pacing pacing;
  auto call = stands_in_queue(w.now);
  EXPECT_EQ(pacing.next_attempt_at(call, true, true, w.step()), w.now + milliseconds(500));
  EXPECT_TRUE(call.place.awaits_news);
  EXPECT_EQ(pacing.entry_is_good_for(call, w.now), milliseconds(1'500)) << "three renewals";
  pacing.next_attempt_at(call, true, false, w.step());
  EXPECT_FALSE(call.place.awaits_news) << "without a stream it polls";
}

TEST(Pacing, ARenewalTakesNoLongerThanAThirdOfTheLease) {
  const Pacing pacing;
  const LocalInstant since;
  const auto call = stands_in_queue(since);
  EXPECT_EQ(pacing.entry_is_good_for(call, since + seconds(10)), 3 * seconds(5));
  auto short_lease = call;
  short_lease.options.expiry = seconds(6);
  EXPECT_EQ(pacing.entry_is_good_for(short_lease, since + seconds(10)), 3 * seconds(2));
}

TEST(Pacing, TheLastWaitInTheQueueSaysWhenTheNextCallAsksAgain) {
  PartWorld w;
  Pacing pacing;
  const auto at_first = [&](AcquireCall call) {
    return pacing.next_attempt_at(call, true, true, w.step()) - w.now;
  };
  const auto call = stands_in_queue(w.now);
  w.now += seconds(2);
  pacing.learn_turn(call, true, w.now);
  const auto next = stands_in_queue(w.now);
  EXPECT_EQ(at_first(next), seconds(3)) << "half as long again";
  EXPECT_EQ(pacing.entry_is_good_for(next, w.now), 3 * seconds(3));
  w.now += seconds(3);
  EXPECT_EQ(at_first(next), milliseconds(1'500)) << "past that it is half of its own wait";
  pacing.learn_turn(next, false, w.now);
  EXPECT_EQ(at_first(stands_in_queue(w.now)), milliseconds(500)) << "it won without the queue";
  pacing.learn_turn(call, true, w.now + seconds(100));
  EXPECT_EQ(at_first(stands_in_queue(w.now)), seconds(10)) << "the strategy's longest pause";
}

TEST(Pacing, HowLongAFullQueueLastsSaysWhenACallInItAsksAgain) {
  PartWorld w;
  Pacing pacing;
  auto outside = waits_by(queue_waiting());
  for (const char* tickets : {"~+.2.0", "~+.2.1"}) {  // the one in it is served between both looks
    see_queue(outside, kRival, tickets, w.now);
    w.now += seconds(2);
  }
  pacing.learn(outside, false, w.now);
  auto inside = stands_in_queue(w.now);
  EXPECT_EQ(pacing.next_attempt_at(inside, true, true, w.step()), w.now + seconds(3));
}

TEST(Pacing, ALearnedPaceIsKeptByNameForTheNextCall) {
  PartWorld w;
  Pacing pacing;
  auto call = pauses([](const AttemptSeen& seen) { return seen.pace.value_or(seconds(0)); });
  pacing.learn(call, false, w.now);
  EXPECT_EQ(pacing.next_attempt_at(call, true, false, w.step()), w.now + seconds(2));
  pacing.learn(call, true, w.now);
  pacing.learn(waits_by(uniform_waiting()), false, w.now);  // which learns nothing
  EXPECT_EQ(pacing.next_attempt_at(call, true, false, w.step()), w.now + seconds(1));
  call.place.awaits_news = true;
  pacing.learn(call, false, w.now);
  EXPECT_EQ(pacing.next_attempt_at(call, true, false, w.step()), w.now + seconds(1))
      << "whose turn comes by the queue says nothing of how often to ask";
  call.name = "another";
  EXPECT_EQ(pacing.next_attempt_at(call, true, false, w.step()), w.now);
}

}  // namespace
}  // namespace leasehold::core::pacing_test

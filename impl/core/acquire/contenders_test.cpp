#include "core/acquire/contenders.hpp"

#include <gtest/gtest.h>

#include "core/document/lock_queue.hpp"
#include "core/testing/part_world.hpp"

namespace leasehold::core::contenders_test {
namespace {

using std::chrono::milliseconds;

const std::string kRival = to_hex({9, 9}) + ".3000.1";

/// Calls for one lock, without held locks and clean-ups.
struct ContendersWorld : PartWorld {
  void ask(SessionId id, bool single = false, const LockOptions& options = CoreWorld::options()) {
    contenders.add({id, "lock", options, std::nullopt, single}, step());
  }
  CallResult answer(SessionId id, const Reply& reply) {
    const auto attempt = answered(sent<AcquireCommand>().back().id);
    return contenders.answered(id, attempt, reply, step());
  }
  [[nodiscard]] std::size_t attempts() const { return sent<AcquireCommand>().size(); }
  [[nodiscard]] std::string asked() const { return last<AcquireCommand>().lock_id; }

  /// Refused, and shown in the lock's queue.
  [[nodiscard]] Reply enlisted() const {
    auto reply = shows(kRival);
    reply.documents.front().queue =
        "1700000000000" + entry_without_until(milliseconds(1'500), milliseconds(3'000), asked());
    return reply;
  }
  [[nodiscard]] NamedOwner grant(std::int64_t time) const {
    return {NamedOwner::As::holder, shows(asked(), time).documents.front(), FencingToken(time)};
  }

  Contenders contenders{"host"};
};

LockOptions queued() {
  auto options = CoreWorld::options();
  options.waiting = queue_waiting();
  return options;
}

TEST(Contenders, OneAsksForAllButSingleAttempts) {
  ContendersWorld w;
  w.ask(1);
  w.ask(2);
  EXPECT_EQ(w.attempts(), 1u);
  w.ask(3, true);
  EXPECT_EQ(w.attempts(), 2u);
}

TEST(Contenders, AnAnswerSaysWhatBecomesOfTheCall) {
  ContendersWorld w;
  w.ask(1);
  const auto goes_on = w.answer(1, shows(kRival));
  EXPECT_TRUE(std::holds_alternative<std::monostate>(goes_on));
  w.ask(2, true);
  const auto ends = w.answer(2, shows(kRival));
  ASSERT_TRUE(std::holds_alternative<Error>(ends));
  EXPECT_EQ(std::get<Error>(ends).kind, ErrorKind::refused);
  w.contenders.take(2, w.step());
  w.now += milliseconds(100);
  w.contenders.due({Timer::Kind::attempt, 1}, w.step());
  const auto sent = w.now;
  w.now += milliseconds(3);
  const auto wins = w.answer(1, shows(w.asked()));
  ASSERT_TRUE(std::holds_alternative<Win>(wins));
  EXPECT_EQ(std::get<Win>(wins).sent, sent);
  EXPECT_EQ(std::get<Win>(wins).at, FencingToken(1'000));
}

TEST(Contenders, AnErrorThatNoTryCanMakeGoodEndsTheCall) {
  ContendersWorld w;
  w.ask(1);
  const auto ends = w.answer(1, CoreWorld::with(Outcome::configuration));
  ASSERT_TRUE(std::holds_alternative<Error>(ends));
  EXPECT_FALSE(w.contenders.at(1).may_own());
  auto lost = CoreWorld::with(Outcome::unknown);
  lost.permanent = true;
  w.ask(2, true);
  EXPECT_TRUE(std::holds_alternative<Error>(w.answer(2, lost)));
  EXPECT_TRUE(w.contenders.at(2).may_own()) << "its end deletes what it may have won";
}

TEST(Contenders, WhoWonStaysTheHeadUntilItLeaves) {
  ContendersWorld w;
  w.ask(1);
  w.ask(2);
  const auto result = w.answer(1, shows(w.asked()));
  w.contenders.won(1, std::get<Win>(result), w.step());
  EXPECT_EQ(w.contenders.find(1), nullptr);
  EXPECT_EQ(w.attempts(), 1u);
  w.contenders.leave(1, "lock", w.now, w.step());
  ASSERT_EQ(w.attempts(), 2u);
  EXPECT_EQ(w.last<AcquireCommand>().session, 2u);
}

TEST(Contenders, OnlyOneThatWaitsReceives) {
  ContendersWorld w;
  w.ask(1);
  EXPECT_EQ(w.contenders.receiver_after(9, "lock"), 0u) << "its attempt is under way";
  w.ask(2);
  EXPECT_EQ(w.contenders.receiver_after(1, "lock"), 2u);
  EXPECT_EQ(w.contenders.receiver_after(1, "another"), 0u);
}

TEST(Contenders, AReceiverThatGotNothingAsksAtOnce) {
  ContendersWorld w;
  w.ask(1);
  w.ask(2);
  w.contenders.won(1, std::get<Win>(w.answer(1, shows(w.asked()))), w.step());
  w.contenders.receive(2, 7, 1, w.step());
  EXPECT_EQ(w.contenders.receiver_after(2, "lock"), 0u);
  w.contenders.contend_for_itself(2, true, w.step());
  EXPECT_EQ(w.last<AcquireCommand>().session, 2u);
  EXPECT_TRUE(w.contenders.at(2).may_own()) << "nobody knows what the hand-over did";
}

TEST(Contenders, AfterAWinThatCannotBeUsedTheCallIsSomebodyElse) {
  ContendersWorld w;
  w.ask(1);
  const auto before = w.last<AcquireCommand>().owner;
  EXPECT_TRUE(std::holds_alternative<Win>(w.answer(1, shows(w.asked()))));
  w.contenders.start_over(1, w.step());
  EXPECT_NE(w.last<AcquireCommand>().owner, before);
}

TEST(Contenders, NewsOfAGrantDuringAnAttemptCountOnceItIsAnswered) {
  ContendersWorld w;
  w.ask(1, false, queued());
  w.answer(1, w.enlisted());
  w.now += milliseconds(500);
  const auto sent = w.now;
  w.contenders.due({Timer::Kind::attempt, 1}, w.step());
  ASSERT_EQ(w.attempts(), 2u);
  const auto owner = w.last<AcquireCommand>().owner;
  EXPECT_EQ(w.contenders.head_with(owner, "lock"), 1u);
  const auto now = w.contenders.notify(1, w.grant(2'000), 5, w.step());
  EXPECT_TRUE(std::holds_alternative<std::monostate>(now));
  const auto then = w.answer(1, CoreWorld::with(Outcome::not_executed));
  ASSERT_TRUE(std::holds_alternative<Win>(then));
  EXPECT_EQ(std::get<Win>(then).by, Granted::By::pass_on);
  EXPECT_EQ(std::get<Win>(then).sent, sent) << "of the attempt that the grant names";
}

TEST(Contenders, AnAttemptThatWasExecutedAfterTheNewsKnowsBetter) {
  ContendersWorld w;
  w.ask(1, false, queued());
  const auto now = w.contenders.notify(1, w.grant(500), 5, w.step());
  EXPECT_TRUE(std::holds_alternative<std::monostate>(now));
  const auto then = w.answer(1, shows(kRival, 1'000));
  EXPECT_TRUE(std::holds_alternative<std::monostate>(then)) << "the grant was over by then";
}

TEST(Contenders, OnceClosedNobodysTurnComesAndNobodyBegins) {
  ContendersWorld w;
  w.ask(1);
  w.ask(2);
  EXPECT_EQ(w.contenders.close(w.step()), (std::vector<SessionId>{1, 2}));
  w.contenders.take(1, w.step());
  w.contenders.leave(1, "lock", w.now, w.step());
  EXPECT_EQ(w.attempts(), 1u);
  w.ask(3);
  EXPECT_EQ(w.contenders.find(3), nullptr);
  ASSERT_TRUE(std::holds_alternative<Ended>(w.effects.back()));
  EXPECT_EQ(std::get<Ended>(w.effects.back()).error.kind, ErrorKind::shut_down);
}

}  // namespace
}  // namespace leasehold::core::contenders_test

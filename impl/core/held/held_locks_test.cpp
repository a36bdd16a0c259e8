#include <gtest/gtest.h>

#include "core/held/index_creation.hpp"
#include "core/testing/core_world.hpp"

namespace leasehold::core {
namespace {

using std::chrono::milliseconds;
using World = CoreWorld;

Reply extended(std::int64_t matched) { return World::with(Outcome::done, matched); }

void hold_many(World& w, int count, LockOptions options = World::options()) {
  for (int i = 1; i <= count; ++i) {
    w.hold(static_cast<SessionId>(i), "lock" + std::to_string(i), options);
  }
}

/// So many locks are held, and their first extension is under way.
World extending(int count) {
  World w;
  hold_many(w, count);
  w.advance(milliseconds(1'000));
  return w;
}

TEST(Extension, LocksThatAreDueTogetherTravelTogetherAtMost500Each) {
  auto w = extending(1'100);
  const auto commands = w.sent_as<ExtendCommand>();
  ASSERT_EQ(commands.size(), 3u);
  EXPECT_EQ(std::get<ExtendCommand>(commands[0].body).statements.size(), 500u);
  EXPECT_EQ(std::get<ExtendCommand>(commands[2].body).statements.size(), 100u);
}

TEST(Extension, ShortLeasesTravelAlone) {
  World w;
  auto brief = World::options();
  brief.expiry = milliseconds(1'500);
  hold_many(w, 3, brief);
  w.advance(milliseconds(500));
  EXPECT_EQ(w.sent_as<ExtendCommand>().size(), 3u);
}

TEST(Extension, OneThatIsAskedForIsSentAtOnceAndTheNextIsACadenceLater) {
  World w;
  w.hold(1);
  w.advance(milliseconds(300));
  const auto sent = w.now;
  w.give(ExtendAsked{1});
  ASSERT_EQ(w.sent_as<ExtendCommand>().size(), 1u);
  w.give(ExtendAsked{1});
  EXPECT_EQ(w.sent_as<ExtendCommand>().size(), 1u) << "one is under way";
  w.reply(extended(1));
  EXPECT_EQ(w.the<Extended>().deadline, lease_deadline(sent, milliseconds(3'000), 0.005));
  w.advance(milliseconds(990));
  EXPECT_EQ(w.sent_as<ExtendCommand>().size(), 1u);
  w.advance(milliseconds(10));
  EXPECT_EQ(w.sent_as<ExtendCommand>().size(), 2u);
}

TEST(Extension, OneThatIsAskedForWhileTheRoundIsBehindFollowsTheRound) {
  World w;
  w.core = ProviderCore("", 1);
  w.hold(1, "a");
  w.hold(2, "b");
  w.acquire(3, "c");
  const auto attempt = w.last_command();
  w.give(ExtendAsked{1});
  EXPECT_TRUE(w.sent_as<ExtendCommand>().empty()) << "the attempt has the only slot";
  w.give(ReplyArrived{attempt.id, w.refused("another")});
  EXPECT_EQ(w.sent_as<ExtendCommand>().size(), 1u);
}

TEST(Extension, NoneMovesTheDeadlineBeyondTheLongestHolding) {
  World w;
  auto limited = World::options();
  limited.max_holding = milliseconds(4'000);
  const auto began = w.now;
  w.hold(1, "lock", limited);
  EXPECT_EQ(w.find<Granted>()->deadline, lease_deadline(began, milliseconds(3'000), 0.005));
  w.advance(milliseconds(1'000));
  w.reply(extended(1));
  w.advance(milliseconds(1'000));
  w.reply(extended(1));
  EXPECT_EQ(w.find<Extended>()->deadline, began + milliseconds(4'000));
  const auto extensions = w.sent_as<ExtendCommand>().size();
  w.advance(milliseconds(1'999));
  EXPECT_FALSE(w.has<Lost>());
  EXPECT_EQ(w.sent_as<ExtendCommand>().size(), extensions) << "more would be in vain";
  w.advance(milliseconds(1));
  EXPECT_EQ(w.the<Lost>().reason, LostReason::max_holding);
  EXPECT_EQ(w.sent_as<DeleteCommand>().size(), 1u) << "others need not wait for the lease";
}

TEST(Extension, AGrantThatComesAfterTheLongestHoldingIsGivenBack) {
  for (const bool single : {false, true}) {
    World w;
    auto limited = World::options();
    limited.max_holding = milliseconds(500);
    w.acquire(1, "lock", limited, std::nullopt, single);
    const auto command = w.last_command();
    w.advance(milliseconds(500));
    w.give(ReplyArrived{command.id, w.won(command)});
    EXPECT_FALSE(w.has<Granted>());
    EXPECT_EQ(w.sent_as<DeleteCommand>().size(), 1u);
    EXPECT_EQ(w.sent_as<AcquireCommand>().size(), single ? 1u : 2u) << "else it asks again";
    ASSERT_EQ(w.has<Ended>(), single);
    EXPECT_TRUE(!single || w.find<Ended>()->error.kind == ErrorKind::timed_out);
  }
}

TEST(Extension, ALookTellsWhichOfABatchIsLost) {
  auto w = extending(4);
  const auto batch = std::get<ExtendCommand>(w.last_command().body).statements;
  w.reply(extended(2));
  ASSERT_EQ(w.sent_as<ReadHoldersCommand>().size(), 1u);
  EXPECT_FALSE(w.has<Lost>());
  Reply read_holders = World::with(Outcome::done);
  read_holders.documents = {
      {"lock1", batch[0].lock_id, ServerInstant{77}, 0, ""},
      {"lock2", to_hex(batch[1].owner) + ".3000.1", ServerInstant{77}, 0, ""},  // an older beat
      {"lock3", to_hex({99, 99}) + ".3000.4", ServerInstant{78}, 0, ""}};
  w.reply(read_holders);
  EXPECT_EQ(w.count<Extended>(), 1);
  EXPECT_EQ(w.find<Extended>()->session, 1u);
  EXPECT_EQ(w.count<Lost>(), 2) << "lock3 is another's, lock4 is gone";
  w.advance(milliseconds(200));
  const auto again = w.sent_as<ExtendCommand>();
  ASSERT_EQ(again.size(), 2u);
  EXPECT_EQ(std::get<ExtendCommand>(again[1].body).statements.at(0).name, "lock2");
}

TEST(Extension, OneBadStatementCostsTheOthersNothing) {
  auto w = extending(3);
  Reply reply = extended(2);
  reply.failed = {1};
  w.reply(reply);
  EXPECT_EQ(w.count<Extended>(), 2);
  EXPECT_EQ(w.count<Lost>(), 0);
  w.advance(milliseconds(150));
  EXPECT_EQ(std::get<ExtendCommand>(w.last_command().body).statements.at(0).name, "lock2");
}

TEST(Extension, ALookWithoutAnAnswerIsFollowedByAnotherExtension) {
  auto w = extending(2);
  w.reply(extended(1));  // one of two: which?
  ASSERT_EQ(w.sent_as<ReadHoldersCommand>().size(), 1u);
  w.reply(World::with(Outcome::unknown));
  EXPECT_EQ(w.count<Lost>(), 0);
  w.advance(milliseconds(150));
  EXPECT_EQ(w.sent_as<ExtendCommand>().size(), 2u);
  w.reply(extended(2));
  EXPECT_EQ(w.count<Extended>(), 2);
}

/// After a pause of the process the timers that came due meanwhile fire in any order.
TEST(Extension, NoneIsSentAfterTheDeadlineWhicheverOfRoundRetryAndQuestionComesFirst) {
  for (const auto* first : {"round", "retry", "question"}) {
    World w;
    w.give(ExtendAsked{1});  // of nothing
    w.hold(1);
    const bool retry = first == std::string("retry");
    if (retry) {
      w.advance(milliseconds(1'000));
      w.reply(World::with(Outcome::not_executed));
    }
    w.now += milliseconds(3'000);
    if (first == std::string("question")) {
      w.give(ExtendAsked{1});
    } else {
      w.give(TimerFired{{Timer::Kind::extension_round, 0}});
    }
    EXPECT_EQ(w.the<Lost>().reason, LostReason::deadline) << first;
    EXPECT_EQ(w.sent_as<ExtendCommand>().size(), retry ? 1u : 0u) << first;
  }
}

/// The late attempt would take the lock again, for a call that is over.
TEST(Extension, TheEndOfALimitedHoldingIsDeletedTwiceAfterAnAttemptWithoutAnswer) {
  World w;
  auto limited = World::options();
  limited.max_holding = milliseconds(500);
  w.acquire(1, "lock", limited);
  w.advance(milliseconds(1'000));  // no answer
  w.reply(w.won(w.last_command()));
  EXPECT_EQ(w.the<Granted>().deadline, w.now + milliseconds(500)) << "below the lease";
  w.advance(milliseconds(500));
  ASSERT_TRUE(w.has<Lost>());
  w.reply(World::with(Outcome::done, 1));
  w.advance(milliseconds(1'000));
  EXPECT_EQ(w.sent_as<DeleteCommand>().size(), 2u);
}

struct IndexWorld : PartWorld {
  [[nodiscard]] std::size_t asked() const { return sent<EnsureIndexCommand>().size(); }
  IndexCreation index;
};

TEST(IndexCreation, IsAskedForAgainFiveTimesInAllAndThenWarned) {
  for (const auto outcome : {Outcome::unknown, Outcome::not_executed}) {
    IndexWorld w;
    auto lost = CoreWorld::with(outcome);
    lost.message = "no reply";
    for (int i = 0; i < 10; ++i) {
      const auto before = w.asked();
      w.index.ensure(w.step());
      w.index.ensure(w.step());
      EXPECT_LE(w.asked(), before + 1) << "one at a time";
      if (w.asked() > before) w.index.answered(lost, w.step());
    }
    EXPECT_EQ(w.asked(), 5u) << static_cast<int>(outcome);
    ASSERT_TRUE(std::holds_alternative<Warned>(w.effects.back()));
    EXPECT_EQ(std::get<Warned>(w.effects.back()).message, "TTL index: no reply");
  }
}

/// The collection may have been dropped meanwhile, and made again by an upsert.
TEST(IndexCreation, IsAskedForAgainTenMinutesLaterAndWarnsOnce) {
  IndexWorld w;
  auto refused = CoreWorld::with(Outcome::done);
  refused.message = "no permission";
  for (std::size_t period = 1; period <= 3; ++period) {
    w.index.ensure(w.step());
    w.index.answered(refused, w.step());
    w.index.ensure(w.step());
    EXPECT_EQ(w.asked(), period);
    w.now += std::chrono::minutes(10);
  }
  EXPECT_EQ(std::count_if(w.effects.begin(), w.effects.end(),
                          [](const auto& e) { return std::holds_alternative<Warned>(e); }),
            1);
}

}  // namespace
}  // namespace leasehold::core

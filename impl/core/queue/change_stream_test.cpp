#include <gtest/gtest.h>

#include "core/limits.hpp"
#include "core/queue/queue_test.hpp"

namespace leasehold::core {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Step = StreamCommand::Step;

/// It may hang for longer than an operation, and every other command would wait for it.
TEST(Stream, OpeningItTakesNoSlot) {
  QueueWorld w;
  w.core = ProviderCore("host:1:test", 1);
  w.join(1);
  w.answer_queued();
  ASSERT_EQ(w.step(), Step::open);
  const auto before = w.attempts();
  w.acquire(2, "free");
  EXPECT_EQ(w.attempts(), before + 1);
}

TEST(Stream, OnlyARefusedCallThatWantsOneOpensIt) {
  QueueWorld w;
  w.hold(1, "mine", QueueWorld::queued());
  w.acquire(2, "polled");
  w.give(ReplyArrived{w.attempt().id, CoreWorld::refused(w.kRival)});
  EXPECT_TRUE(w.sent_as<StreamCommand>().empty());
  w.join(3);
  w.answer_queued();
  ASSERT_EQ(w.sent_as<StreamCommand>().size(), 1u);
  EXPECT_EQ(w.step(), Step::open);
  w.join(4, "another");
  w.answer_queued();
  EXPECT_EQ(w.sent_as<StreamCommand>().size(), 1u) << "one for all locks";
}

TEST(Stream, BeginsAtTheAttemptSoThatNoCallAsksAgainOnceItIsOpen) {
  QueueWorld w;
  w.oplog = 41;
  w.join(1);
  w.answer_queued();
  EXPECT_EQ(std::get<StreamCommand>(w.stream().body).since, FencingToken(42));
  w.answer_stream();
  EXPECT_EQ(w.attempts(), 2u);
}

TEST(Stream, AfterAFailureAGrantMayBeMissingSoAllAskAgainAndOnceMoreWhenItIsOpen) {
  auto w = QueueWorld::refused_once();
  w.give(ReplyArrived{w.stream().id, CoreWorld::with(Outcome::not_executed)});
  EXPECT_EQ(w.attempts(), 3u);
  w.answer_queued();
  w.advance(kStreamRetry);
  ASSERT_EQ(w.step(), Step::open);
  EXPECT_EQ(std::get<StreamCommand>(w.stream().body).since, FencingToken());
  w.answer_queued();  // it polls meanwhile
  const auto before = w.attempts();
  w.answer_stream();
  EXPECT_EQ(w.attempts(), before + 1);
}

/// The next queued call asks for what has come until then.
TEST(Stream, IsNotReadWhileNoCallWaits) {
  auto w = QueueWorld::waiting();
  w.give(CancelAsked{1});
  w.answer_stream();
  const auto steps = w.sent_as<StreamCommand>().size();
  w.advance(seconds(5));
  EXPECT_EQ(w.sent_as<StreamCommand>().size(), steps);
  w.join(2);
  w.answer_queued();
  EXPECT_EQ(w.sent_as<StreamCommand>().size(), steps + 1);
  EXPECT_EQ(w.step(), Step::next);
}

/// It cannot know of the place, and its clock may be later all the same.
TEST(Stream, IsReadOnThoughAnOldPrimaryWithoutAMajorityShowsNoQueue) {
  auto w = QueueWorld::waiting();
  w.advance(milliseconds(500));
  auto r = CoreWorld::refused(w.kRival);
  r.outcome = Outcome::unknown;
  r.operation_time = FencingToken(w.oplog + 100);
  w.give(ReplyArrived{w.attempt().id, r});
  const auto read = w.sent_as<StreamCommand>().size();
  w.answer_stream();
  EXPECT_EQ(w.sent_as<StreamCommand>().size(), read + 1);
}

/// Each write wakes each stream that is read.
TEST(Stream, IsReadWithPausesByACallThatHasBeenTheFirstForLong) {
  auto w = QueueWorld::waiting();
  const auto first = [&w](Duration later) {
    w.now += later;
    w.advance(milliseconds(0));  // its renewal is due
    auto r = CoreWorld::refused(w.kRival);
    r.documents.front().queue = w.entry_of(w.asked().lock_id);
    r.operation_time = FencingToken(++w.oplog);
    w.give(ReplyArrived{w.attempt().id, r});
  };
  const auto steps = [&w] { return w.sent_as<StreamCommand>().size(); };
  first(seconds(1));
  w.answer_stream();
  EXPECT_EQ(w.step(), Step::next) << "at once";
  first(milliseconds(2'900));
  w.answer_stream();
  first(milliseconds(2'900));
  const auto before = steps();
  w.answer_stream();
  w.advance(milliseconds(362));
  EXPECT_EQ(steps(), before);
  w.advance(milliseconds(1));  // 5.8 s / 16
  ASSERT_EQ(steps(), before + 1);
  EXPECT_EQ(w.step(), Step::look);
  w.answer_stream({w.named(w.asked().lock_id)});
  EXPECT_TRUE(w.has<Granted>());
}

TEST(Stream, ABrokenOneIsReplacedAndWakesAllWhileTheyPoll) {
  auto w = QueueWorld::waiting();
  w.give(ReplyArrived{w.stream().id, CoreWorld::with(Outcome::unknown)});
  w.advance(kStreamRetry);
  ASSERT_EQ(w.step(), Step::open);
  w.give(ReplyArrived{w.stream().id, CoreWorld::with(Outcome::not_executed)});
  const auto before = w.sent_as<StreamCommand>().size();
  w.advance(kStreamRetry);
  EXPECT_EQ(w.sent_as<StreamCommand>().size(), before) << "less and less often";
  w.advance(kStreamRetry);
  ASSERT_EQ(w.sent_as<StreamCommand>().size(), before + 1);
  const auto attempts = w.attempts();
  w.answer_stream();
  w.advance(milliseconds(50));
  EXPECT_EQ(w.attempts(), attempts + 1);
}

TEST(Stream, OneThatIsNotPermittedIsReportedOnceAndWaitersPoll) {
  auto w = QueueWorld::refused_once();
  w.give(ReplyArrived{w.stream().id, CoreWorld::with(Outcome::configuration)});
  for (int i = 0; i < 10; ++i) {
    w.advance(milliseconds(800));
    EXPECT_EQ(w.attempts(), static_cast<std::size_t>(i) + 3);
    w.answer_queued();
  }
  EXPECT_EQ(w.count<Warned>(), 1);
  EXPECT_EQ(w.sent_as<StreamCommand>().size(), 1u);
}

/// Nobody has waited for a while, so that it is being closed.
QueueWorld closing() {
  auto w = QueueWorld::waiting();
  w.give(CancelAsked{1});
  while (w.step() != Step::close) {
    w.answer_stream();
    w.advance(seconds(1));
  }
  return w;
}

TEST(Stream, OneThatIsWantedAgainWhileItIsClosedIsOpenedAfterThat) {
  for (const bool answered : {true, false}) {
    auto w = closing();
    ASSERT_EQ(w.step(), Step::close);
    w.join(2);
    w.answer_queued();
    EXPECT_EQ(w.step(), Step::close);
    answered ? w.answer_stream() : w.advance(kStreamTimeout);
    EXPECT_EQ(w.step(), Step::open);
  }
}

TEST(Stream, TheEndOfTheProviderCutsNeitherItNorItsCloseOff) {
  for (const bool closes : {false, true}) {
    auto w = closes ? closing() : QueueWorld::waiting();
    w.give(CloseAsked{});
    EXPECT_FALSE(w.has<Abandon>()) << "the driver would take the server for unreachable";
    w.answer_stream();
    EXPECT_EQ(w.step(), Step::close);
  }
}

TEST(Stream, ItIsClosedWhenNobodyWaitsAnyMore) {
  auto w = QueueWorld::waiting();
  w.give(CancelAsked{1});
  w.answer_stream();
  w.advance(seconds(9));
  EXPECT_EQ(w.step(), Step::next);
  w.advance(seconds(1));
  EXPECT_EQ(w.step(), Step::close);
  EXPECT_EQ(std::get<StreamCommand>(w.stream().body).cursor, QueueWorld::kCursor);
}

TEST(Stream, OneThatBreaksWhenNobodyWaitsStaysClosed) {
  auto w = QueueWorld::waiting();
  w.give(CancelAsked{1});
  w.advance(seconds(11));  // the stream was wanted for a while longer
  const auto steps = w.sent_as<StreamCommand>().size();
  w.give(ReplyArrived{w.stream().id, CoreWorld::with(Outcome::unknown)});
  w.advance(seconds(10));
  EXPECT_EQ(w.sent_as<StreamCommand>().size(), steps);
}

}  // namespace
}  // namespace leasehold::core

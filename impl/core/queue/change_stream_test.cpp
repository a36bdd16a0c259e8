#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "core/document/lock_queue.hpp"
#include "core/limits.hpp"
#include "core/testing/drawn_schedule.hpp"

namespace leasehold::core {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Step = StreamCommand::Step;

const std::string kRival = to_hex({9, 9}) + ".60000.1";
constexpr std::int64_t kCursor = 77;

/// Refused; the call of this attempt stands in the lock's queue.
Reply queued_behind_rival(const Command& attempt) {
  auto r = CoreWorld::refused(kRival);
  r.documents.front().queue =
      "1700000000000" + entry_without_until(milliseconds(1'500), milliseconds(33'000),
                                            std::get<AcquireCommand>(attempt.body).lock_id);
  return r;
}

/// Calls that queue, and a stream that the test answers.
struct StreamWorld : CoreWorld {
  static LockOptions queued() {
    auto o = options();
    o.expiry = seconds(60);
    o.waiting = queue_waiting();
    return o;
  }
  [[nodiscard]] Command attempt() const { return sent_as<AcquireCommand>().back(); }
  [[nodiscard]] std::size_t attempts() const { return sent_as<AcquireCommand>().size(); }
  void answer_refused() {
    auto r = queued_behind_rival(attempt());
    r.operation_time = FencingToken(++oplog);
    give(ReplyArrived{attempt().id, r});
  }

  [[nodiscard]] Command stream() const { return sent_as<StreamCommand>().back(); }
  [[nodiscard]] Step step() const { return std::get<StreamCommand>(stream().body).step; }
  void answer_stream() {
    auto r = with(Outcome::done);
    r.cursor = kCursor;
    give(ReplyArrived{stream().id, r});
  }

  std::int64_t oplog = 0;

  /// Session 1 waits, and the stream is open.
  static StreamWorld waiting() {
    StreamWorld w;
    w.acquire(1, "lock", queued());
    w.answer_refused();
    w.answer_stream();
    return w;
  }
};

/// It may hang for longer than an operation, and every other command would wait for it.
TEST(Stream, OpeningItTakesNoSlot) {
  StreamWorld w;
  w.core = ProviderCore("host:1:test", 1);
  w.acquire(1, "lock", StreamWorld::queued());
  w.answer_refused();
  ASSERT_EQ(w.step(), Step::open);
  const auto before = w.attempts();
  w.acquire(2, "free");
  EXPECT_EQ(w.attempts(), before + 1);
}

TEST(Stream, OnlyARefusedCallThatWantsOneOpensIt) {
  StreamWorld w;
  w.hold(1, "mine", StreamWorld::queued());
  w.acquire(2, "polled");
  w.give(ReplyArrived{w.attempt().id, CoreWorld::refused(kRival)});
  EXPECT_TRUE(w.sent_as<StreamCommand>().empty());
  w.acquire(3, "lock", StreamWorld::queued());
  w.answer_refused();
  ASSERT_EQ(w.sent_as<StreamCommand>().size(), 1u);
  EXPECT_EQ(w.step(), Step::open);
  w.acquire(4, "another", StreamWorld::queued());
  w.answer_refused();
  EXPECT_EQ(w.sent_as<StreamCommand>().size(), 1u) << "one for all locks";
}

TEST(Stream, BeginsAtTheAttemptSoThatNoCallAsksAgainOnceItIsOpen) {
  StreamWorld w;
  w.oplog = 41;
  w.acquire(1, "lock", StreamWorld::queued());
  w.answer_refused();
  EXPECT_EQ(std::get<StreamCommand>(w.stream().body).since, FencingToken(42));
  w.answer_stream();
  EXPECT_EQ(w.attempts(), 1u);
}

TEST(Stream, AfterAFailureAGrantMayBeMissingSoAllAskAgainAndOnceMoreWhenItIsOpen) {
  StreamWorld w;
  w.acquire(1, "lock", StreamWorld::queued());
  w.answer_refused();
  w.give(ReplyArrived{w.stream().id, CoreWorld::with(Outcome::not_executed)});
  EXPECT_EQ(w.attempts(), 2u);
  w.answer_refused();
  w.advance(kStreamRetry);
  ASSERT_EQ(w.step(), Step::open);
  EXPECT_EQ(std::get<StreamCommand>(w.stream().body).since, FencingToken());
  w.answer_refused();  // it polls meanwhile
  const auto before = w.attempts();
  w.answer_stream();
  EXPECT_EQ(w.attempts(), before + 1);
}

/// The next call that stands in a queue asks for what has come until then.
TEST(Stream, IsNotReadWhileNoCallWaits) {
  auto w = StreamWorld::waiting();
  w.give(CancelAsked{1});
  w.answer_stream();
  const auto steps = w.sent_as<StreamCommand>().size();
  w.advance(seconds(5));
  EXPECT_EQ(w.sent_as<StreamCommand>().size(), steps);
  w.acquire(2, "lock", StreamWorld::queued());
  w.answer_refused();
  EXPECT_EQ(w.sent_as<StreamCommand>().size(), steps + 1);
  EXPECT_EQ(w.step(), Step::next);
}

TEST(Stream, ABrokenOneIsReplacedAndWakesAllWhileTheyPoll) {
  auto w = StreamWorld::waiting();
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

TEST(Stream, ADeadOneIsNoticedByItsTimeOut) {
  auto w = StreamWorld::waiting();
  w.advance(kStreamTimeout + kStreamRetry);
  EXPECT_EQ(w.step(), Step::open);
}

TEST(Stream, OneThatIsNotPermittedIsReportedOnceAndWaitersPoll) {
  StreamWorld w;
  w.acquire(1, "lock", StreamWorld::queued());
  w.answer_refused();
  w.give(ReplyArrived{w.stream().id, CoreWorld::with(Outcome::configuration)});
  for (int i = 0; i < 10; ++i) {
    w.advance(milliseconds(800));
    EXPECT_EQ(w.attempts(), static_cast<std::size_t>(i) + 2);
    w.answer_refused();
  }
  EXPECT_EQ(w.count<Warned>(), 1);
  EXPECT_EQ(w.sent_as<StreamCommand>().size(), 1u);
}

/// Nobody has waited for a while, so that it is being closed.
StreamWorld closing() {
  auto w = StreamWorld::waiting();
  w.give(CancelAsked{1});
  for (int i = 0; w.step() == Step::next; ++i) {
    w.answer_stream();
    w.advance(seconds(1));
  }
  return w;
}

TEST(Stream, OneThatIsWantedAgainWhileItIsClosedIsOpenedAfterThat) {
  for (const bool answered : {true, false}) {
    auto w = closing();
    ASSERT_EQ(w.step(), Step::close);
    w.acquire(2, "lock", StreamWorld::queued());
    w.answer_refused();
    EXPECT_EQ(w.step(), Step::close);
    answered ? w.answer_stream() : w.advance(kStreamTimeout);
    EXPECT_EQ(w.step(), Step::open);
  }
}

TEST(Stream, ItsCloseIsNotCutOffByTheEndOfTheProvider) {
  auto w = closing();
  w.give(CloseAsked{});
  EXPECT_FALSE(w.has<Abandon>());
  w.answer_stream();
  EXPECT_EQ(w.step(), Step::close);
}

/// All of a kind that are under way.
template <typename Body>
std::vector<Command> under_way(const DrawnSchedule& w) {
  std::vector<Command> found;
  for (const auto& [id, command] : w.under_way) {
    if (std::holds_alternative<Body>(command.body)) found.push_back(command);
  }
  return found;
}

void answer_attempts(DrawnSchedule& w) {
  for (const auto& command : under_way<AcquireCommand>(w)) {
    const bool wins = *rc::gen::inRange(0, 4) == 0;
    w.happen(ReplyArrived{command.id, wins ? w.won(command) : queued_behind_rival(command)});
  }
}

void answer_stream(DrawnSchedule& w, Outcome outcome) {
  for (const auto& command : under_way<StreamCommand>(w)) {
    auto reply = CoreWorld::with(outcome);
    reply.cursor = kCursor;
    w.happen(ReplyArrived{command.id, reply});
  }
}

/// Callers come and go; the stream works, breaks, is not wanted for a while, or says nothing.
void draw_event(DrawnSchedule& w, SessionId& last) {
  switch (*rc::gen::inRange(0, 7)) {
    case 0:
    case 1:
      w.happen(AcquireAsked{++last, "lock", StreamWorld::queued(), std::nullopt});
      return answer_attempts(w);
    case 2: return answer_attempts(w);
    case 3:
      for (SessionId id = 1; id <= last; ++id) {
        w.happen(CancelAsked{id});
        w.happen(ReleaseAsked{id});
      }
      return;
    case 4:
      for (int left = *rc::gen::inRange(1, 15); left > 0; --left) {
        w.pass(seconds(1));
        answer_stream(w, Outcome::done);
      }
      return;
    case 5: return answer_stream(w, Outcome::unknown);
    default: return w.pass(milliseconds(*rc::gen::inRange(0, 4'000)));
  }
}

RC_GTEST_PROP(Stream, HasAtMostOneCommandUnderWay, ()) {
  DrawnSchedule w;
  w.after_each = [&w](const Effects&) { RC_ASSERT(under_way<StreamCommand>(w).size() <= 1); };
  SessionId last = 0;
  for (int left = *rc::gen::inRange(20, 200); left > 0; --left) draw_event(w, last);
}

TEST(Stream, ItIsClosedWhenNobodyWaitsAnyMore) {
  auto w = StreamWorld::waiting();
  w.give(CancelAsked{1});
  w.answer_stream();
  w.advance(seconds(9));
  EXPECT_EQ(w.step(), Step::next);
  w.advance(seconds(1));
  EXPECT_EQ(w.step(), Step::close);
  EXPECT_EQ(std::get<StreamCommand>(w.stream().body).cursor, kCursor);
}

TEST(Stream, TheEndOfTheProviderDoesNotCutItOff) {
  auto w = StreamWorld::waiting();
  w.give(CloseAsked{});
  EXPECT_FALSE(w.has<Abandon>()) << "the driver would take the server for unreachable";
  w.answer_stream();
  EXPECT_EQ(w.step(), Step::close);
}

TEST(Stream, ThatBreaksWhenNobodyWaitsStaysClosed) {
  auto w = StreamWorld::waiting();
  w.give(CancelAsked{1});
  w.advance(seconds(11));  // the stream was wanted for a while longer
  const auto steps = w.sent_as<StreamCommand>().size();
  w.give(ReplyArrived{w.stream().id, CoreWorld::with(Outcome::unknown)});
  w.advance(seconds(10));
  EXPECT_EQ(w.sent_as<StreamCommand>().size(), steps);
}

}  // namespace
}  // namespace leasehold::core

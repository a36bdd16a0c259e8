#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "core/drawn_schedule.hpp"
#include "core/limits.hpp"

namespace leasehold::core {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Step = StreamCommand::Step;

const std::string kRival = to_hex({9, 9}) + ".60000.1";
constexpr std::int64_t kCursor = 77;

/// Calls that wait with `push_waiting`, and a stream that the test answers.
struct StreamWorld : CoreWorld {
  static LockOptions pushed(Ms poll = seconds(20)) {
    auto o = options();
    o.expiry = seconds(60);
    o.waiting = push_waiting(poll);
    return o;
  }
  [[nodiscard]] Command attempt() const { return sent_as<AcquireCommand>().back(); }
  [[nodiscard]] std::size_t attempts() const { return sent_as<AcquireCommand>().size(); }
  void answer_refused() {
    auto r = refused(kRival);
    r.operation_time = FencingToken(++oplog);
    give(ReplyArrived{attempt().id, r});
  }

  [[nodiscard]] Command stream() const { return sent_as<StreamCommand>().back(); }
  [[nodiscard]] Step step() const { return std::get<StreamCommand>(stream().body).step; }
  void answer_stream(const std::vector<std::string>& freed = {}) {
    answer_stream_at(++oplog, freed);
  }
  void answer_stream_at(std::int64_t at, const std::vector<std::string>& freed) {
    auto r = with(Outcome::done);
    r.cursor = kCursor;
    for (const auto& name : freed) r.freed.push_back({name, FencingToken(at)});
    give(ReplyArrived{stream().id, r});
  }

  /// After so many attempts in vain, each half a release longer for whoever comes next.
  void refuse_woken(int attempts_in_vain) {
    for (int i = 0; i < attempts_in_vain; ++i) {
      const auto before = attempts();
      answer_stream({"lock"});
      advance(milliseconds(100));
      ASSERT_EQ(attempts(), before + 1);
      answer_refused();
    }
  }

  std::int64_t oplog = 0;

  /// Session 1 waits, the stream is open, and its first look after that was refused too.
  static StreamWorld waiting() {
    StreamWorld w;
    w.acquire(1, "lock", pushed());
    w.answer_refused();
    w.answer_stream();
    w.answer_refused();
    return w;
  }
};

TEST(Stream, OnlyARefusedCallThatWantsOneOpensIt) {
  StreamWorld w;
  w.hold(1, "mine", StreamWorld::pushed());
  w.acquire(2, "polled");
  w.give(ReplyArrived{w.attempt().id, CoreWorld::refused(kRival)});
  EXPECT_TRUE(w.sent_as<StreamCommand>().empty());
  w.acquire(3, "lock", StreamWorld::pushed());
  w.answer_refused();
  ASSERT_EQ(w.sent_as<StreamCommand>().size(), 1u);
  EXPECT_EQ(w.step(), Step::open);
  w.acquire(4, "another", StreamWorld::pushed());
  w.answer_refused();
  EXPECT_EQ(w.sent_as<StreamCommand>().size(), 1u) << "one for all locks";
}

TEST(Stream, OnceOpenWhoWaitsLooksAgain) {
  StreamWorld w;
  w.acquire(1, "lock", StreamWorld::pushed());
  w.answer_refused();
  EXPECT_EQ(w.attempts(), 1u);
  w.answer_stream();
  EXPECT_EQ(w.attempts(), 2u) << "the release may have come before the stream";
}

TEST(Stream, AReleaseWakesWhoWaitsForThatLock) {
  auto w = StreamWorld::waiting();
  EXPECT_EQ(w.step(), Step::next);
  w.advance(seconds(2));
  EXPECT_EQ(w.attempts(), 2u) << "it polls seldom";
  w = StreamWorld::waiting();
  w.answer_stream({"another"});
  w.advance(milliseconds(100));
  EXPECT_EQ(w.attempts(), 2u);
  w.answer_stream({"lock"});
  w.advance(milliseconds(50));
  EXPECT_EQ(w.attempts(), 3u);
}

TEST(Stream, AReleaseWhileAnAttemptIsOutIsNotForgotten) {
  StreamWorld w;
  w.acquire(1, "lock", StreamWorld::pushed(seconds(1)));
  w.answer_refused();
  w.answer_stream();
  w.answer_refused();
  w.advance(seconds(1));
  ASSERT_EQ(w.attempts(), 3u) << "the safety net";
  w.answer_stream({"lock"});
  w.answer_refused();
  w.advance(milliseconds(50));
  EXPECT_EQ(w.attempts(), 4u);
}

TEST(Stream, NobodyReadsItWhileTheOnlyAttemptIsOut) {
  auto w = StreamWorld::waiting();
  w.answer_stream({"lock"});
  ASSERT_EQ(w.attempts(), 3u);
  const auto steps = w.sent_as<StreamCommand>().size();
  w.advance(milliseconds(500));
  EXPECT_EQ(w.sent_as<StreamCommand>().size(), steps);
  w.answer_refused();
  EXPECT_EQ(w.sent_as<StreamCommand>().size(), steps + 1);
  w.answer_stream({"lock"});
  EXPECT_EQ(w.attempts(), 4u);
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
  w.acquire(1, "lock", StreamWorld::pushed());
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

TEST(Stream, OneThatLagsBehindAPollIsReplaced) {
  auto w = StreamWorld::waiting();
  w.advance(milliseconds(900));
  w.answer_stream();
  for (int s = 0; w.attempts() == 2; ++s) {
    ASSERT_LT(s, 20) << "the safety net";
    w.advance(seconds(1));
    w.answer_stream();
  }
  w.give(ReplyArrived{w.attempt().id, w.won(w.attempt())});
  ASSERT_TRUE(w.has<Granted>());
  w.advance(milliseconds(900));
  w.answer_stream();
  EXPECT_EQ(w.step(), Step::next);
  w.advance(milliseconds(900));
  w.answer_stream();
  EXPECT_EQ(w.step(), Step::close) << "and not opened beside it: both may share a connection";
  w.answer_stream();
  EXPECT_EQ(w.step(), Step::open);
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
    w.acquire(2, "lock", StreamWorld::pushed());
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
    w.happen(ReplyArrived{command.id, wins ? w.won(command) : CoreWorld::refused(kRival)});
  }
}

void answer_stream(DrawnSchedule& w, Outcome outcome) {
  for (const auto& command : under_way<StreamCommand>(w)) {
    auto reply = CoreWorld::with(outcome);
    reply.cursor = kCursor;
    w.happen(ReplyArrived{command.id, reply});
  }
}

/// Callers come and go; the stream works, breaks, lags, is not wanted for a while, or says nothing.
void draw_event(DrawnSchedule& w, SessionId& last) {
  switch (*rc::gen::inRange(0, 7)) {
    case 0:
    case 1:
      w.happen(AcquireAsked{++last, "lock", StreamWorld::pushed(seconds(2)), std::nullopt});
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
  for (int i = 0; i < 11; ++i) {
    EXPECT_EQ(w.step(), Step::next);
    w.answer_stream();
    w.advance(seconds(1));
  }
  w.answer_stream();
  EXPECT_EQ(w.step(), Step::close);
  EXPECT_EQ(std::get<StreamCommand>(w.stream().body).cursor, kCursor);
}

TEST(Stream, TheEndOfTheProviderCutsItOff) {
  auto w = StreamWorld::waiting();
  const auto under_way = w.stream().id;
  w.give(CloseAsked{});
  ASSERT_TRUE(w.has<Abandon>());
  EXPECT_EQ(w.find<Abandon>()->command, under_way);
  w.give(ReplyArrived{under_way, CoreWorld::with(Outcome::done)});
  EXPECT_TRUE(w.effects.empty());
}

TEST(Stream, WhoWasRefusedLeavesTheLockToOthersUntilItsTurn) {
  auto w = StreamWorld::waiting();
  w.refuse_woken(10);
  w.give(CancelAsked{1});
  w.acquire(2, "lock", StreamWorld::pushed());  // its pace: five releases
  w.answer_refused();
  w.answer_stream({"lock"});
  const auto before = w.attempts();
  const auto steps = w.sent_as<StreamCommand>().size();
  w.advance(milliseconds(26));  // of the four that it lacks it leaves 16/6 alone
  EXPECT_EQ(w.attempts(), before);
  EXPECT_EQ(w.sent_as<StreamCommand>().size(), steps) << "it need not hear of more before that";
  w.advance(milliseconds(3));
  EXPECT_EQ(w.attempts(), before + 1);
}

TEST(Stream, NewsFromBeforeItsFirstRefusalDoNotBringItsTurnNearer) {
  auto w = StreamWorld::waiting();
  w.refuse_woken(10);
  w.give(CancelAsked{1});
  w.acquire(2, "lock", StreamWorld::pushed());
  w.answer_refused();
  const auto before = w.attempts();
  auto later = w;
  w.answer_stream_at(1, {"lock", "lock", "lock", "lock", "lock"});
  EXPECT_EQ(w.attempts(), before);
  later.answer_stream({"lock", "lock", "lock", "lock", "lock"});
  EXPECT_EQ(later.attempts(), before + 1);
}

TEST(Stream, NewsPutAnAttemptOffButNotBeyondTheSafetyNet) {
  auto w = StreamWorld::waiting();
  w.refuse_woken(40);
  w.give(CancelAsked{1});
  w.acquire(2, "lock", StreamWorld::pushed(seconds(1)));  // its pace: twenty releases
  w.answer_refused();
  const auto before = w.attempts();
  w.advance(milliseconds(100));
  w.answer_stream({"lock"});  // nineteen are lacking: it leaves the lock alone for 190 to 210 ms
  w.advance(milliseconds(190));
  w.answer_stream({"lock"});  // eighteen are: for 180 to 205 ms from now on
  w.advance(milliseconds(170));
  EXPECT_EQ(w.attempts(), before);
  for (int i = 0; i < 120; ++i) {
    w.advance(milliseconds(5));
    w.answer_stream_at(1, {"lock"});
  }
  EXPECT_EQ(w.attempts(), before + 1);
}

TEST(Stream, ThePaceOfAnotherStrategyForTheSameNameIsNotAPaceInReleases) {
  StreamWorld w;
  auto adaptive = CoreWorld::options();
  adaptive.waiting = adaptive_waiting();
  w.hold(1, "lock", adaptive);  // keeps a pace of 100 ms
  w.give(ReleaseAsked{1});
  w.reply(CoreWorld::with(Outcome::done, 1));
  w.acquire(2, "lock", StreamWorld::pushed());
  w.answer_refused();
  const auto before = w.attempts();
  w.answer_stream();
  EXPECT_EQ(w.attempts(), before + 1) << "it has not learned to leave the lock to anybody";
}

TEST(Stream, APaceInReleasesIsNotThePaceOfAnotherStrategyForTheSameName) {
  auto w = StreamWorld::waiting();
  w.refuse_woken(10);  // keeps a pace of five releases
  w.give(CancelAsked{1});
  auto adaptive = CoreWorld::options();
  adaptive.waiting = adaptive_waiting();
  w.acquire(2, "lock", adaptive);
  w.answer_refused();
  const auto before = w.attempts();
  w.advance(milliseconds(3));
  EXPECT_EQ(w.attempts(), before + 1) << "it has no pace yet, so it begins with short pauses";
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

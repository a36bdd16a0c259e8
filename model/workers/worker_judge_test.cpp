#include "model/workers/worker_judge.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "model/guarantees/checker_stories.hpp"
#include "model/workers/worker_told.hpp"

namespace leasehold::model::worker_judge_test {
namespace {

Finding found(const HistoryBuilder& told, Check check, const Promises& promises = everything()) {
  return find(judge_worker(told.end(20'000), promises), check);
}

std::string violation(const HistoryBuilder& told, Check check) {
  const auto f = found(told, check);
  return f.verdict == Verdict::violated ? f.why : "";
}

/// `a` asks for the lock at 10, and has it from 20 on.
HistoryBuilder a_has() { return workers().got(10, 20, "a", 1, 1); }

TEST(JudgeWorker, ATimeThatAGrantMayBeReliedOnCountsAsHeld) {
  const auto told = [](int b_asks, int b_gets) {
    return workers().asks(10, "a", 1).granted(20, "a", 1, 1, 900).got(b_asks, b_gets, "b", 1, 2);
  };
  EXPECT_EQ(violation(told(500, 600), Check::G2),
            "lock 'x': b was granted it while a held it, for 300.0 ms more");
  EXPECT_EQ(violation(told(500, 901), Check::G2), "");
  EXPECT_EQ(violation(told(15, 600), Check::G2), "") << "it may have had it before a";
  EXPECT_EQ(violation(told(500, 600).released(550, 560, "a", 1), Check::G2), "");
  EXPECT_EQ(violation(told(500, 600).lost(0, 550, "a", 1), Check::G2), "")
      << "it may have been said at once";
  EXPECT_EQ(violation(told(500, 600).crash(550, "a"), Check::G2), "");
}

/// A call that is granted the lock 10 ms later.
void get(HistoryBuilder& told, int asked, const char* process, int token, bool reads) {
  const auto marked = [=](Event& e) { e.shared = reads; };
  told.asks(asked, process, 1).with(marked).granted(asked + 10, process, 1, token).with(marked);
}

TEST(JudgeWorker, ReadersMayHoldItTogetherAndAReaderBesideAWriterIsFound) {
  const auto told = [](bool a_reads, bool b_reads, int token) {
    auto both = workers();
    get(both, 10, "a", 5, a_reads);
    get(both, 30, "b", token, b_reads);
    return both.yes(25, 1'500, "a", 1).yes(45, 1'500, "b", 1);
  };
  for (const Check check : {Check::G2, Check::G4, Check::G5}) {
    EXPECT_EQ(violation(told(true, true, 5), check), "") << "readers may have one token";
    EXPECT_EQ(violation(told(true, true, 4), check), "") << "they are in no order";
    EXPECT_NE(violation(told(true, false, 5), check), "");
    EXPECT_NE(violation(told(false, true, 4), check), "");
  }
}

TEST(JudgeWorker, ADeadReadersLeaseCountsAlsoIfAnotherReaderCameAfterIt) {
  const auto told = [](int c_gets) {
    auto all = workers();
    get(all, 10, "a", 5, true);
    all.crash(50, "a");
    get(all, 60, "b", 6, true);
    return all.released(80, 90, "b", 1).got(40, c_gets, "c", 1, 7);
  };
  EXPECT_EQ(violation(told(1'150), Check::G7), "");
  EXPECT_NE(violation(told(1'200), Check::G7), "");
}

TEST(JudgeWorker, ATokenThatIsLowerThanThatOfAnEarlierGrantIsFound) {
  const auto told = [](int b_asks, int token) {
    return workers().got(10, 20, "a", 1, 7).released(30, 40, "a", 1).got(b_asks, 50, "b", 1, token);
  };
  EXPECT_EQ(violation(told(25, 6), Check::G4), "lock 'x': token 6 of b after token 7 of a");
  EXPECT_EQ(violation(told(15, 6), Check::G4), "") << "b may have had it before";
  EXPECT_EQ(violation(told(25, 8), Check::G4), "");
  EXPECT_EQ(violation(told(15, 7), Check::G4),
            "lock 'x': token 7 of b is also the token 7 of a");
  EXPECT_EQ(violation(told(25, 0), Check::G4), "lock 'x': b was granted it without a token");
}

TEST(JudgeWorker, ACurrentHolderThatIsRefusedIsFoundUnlessALaterOneWrote) {
  const auto told = [](int b_asks) {
    return workers()
        .got(10, 20, "a", 1, 5)
        .wrote(22, 23, "a", 1, 1, 5, "accepted")
        .stored(23, "a", 1, 100)
        .with([](Event& e) { e.token = 5; })
        .released(30, 40, "a", 1)
        .got(b_asks, 50, "b", 1, 4)
        .yes(51, 80, "b", 1)
        .wrote(60, 70, "b", 1, 1, 4, "refused");
  };
  EXPECT_EQ(violation(told(25), Check::G3),
            "resource 'x' refused its current holder b");
  EXPECT_EQ(violation(told(15), Check::G3), "") << "a may be the later one";
}

TEST(JudgeWorker, AnAcceptedWriteOfAnEarlierHolderAfterOneOfALaterIsFound) {
  const auto told = [](int order) {
    return workers()
        .got(10, 20, "a", 1, 5)
        .got(1'100, 1'200, "b", 1, 5)
        .wrote(1'210, 1'220, "b", 1, 1, 5, "accepted")
        .stored(1'220, "b", 1, 100)
        .wrote(1'230, 1'240, "a", 1, 1, 5, "accepted")
        .stored(1'240, "a", 1, order);
  };
  EXPECT_EQ(violation(told(101), Check::G3),
            "resource 'x' accepted a write of an earlier holder after one of a later holder");
  EXPECT_EQ(violation(told(99), Check::G3), "");
}

TEST(JudgeWorker, NotifyingOfALossAfterTheNextGrantIsViolated) {
  const auto told = a_has().got(30, 1'500, "b", 1, 2);
  EXPECT_EQ(violation(told, Check::G5), "lock 'x': a was notified of its loss never");
  EXPECT_EQ(violation(HistoryBuilder(told).lost(1'510, 1'520, "a", 1), Check::G5),
            "lock 'x': a was notified of its loss 10.0 ms late");
  EXPECT_EQ(violation(HistoryBuilder(told).lost(1'490, 1'520, "a", 1), Check::G5), "")
      << "it may have been said in time";
  EXPECT_EQ(violation(HistoryBuilder(told).released(1'400, 1'410, "a", 1), Check::G5), "");
  EXPECT_EQ(violation(HistoryBuilder(told).crash(1'400, "a"), Check::G5), "");
  EXPECT_EQ(violation(HistoryBuilder(told).pause(900, "a"), Check::G5), "");
  const auto answers = HistoryBuilder(told).yes(30, 1'501, "a", 1).lost(20, 1'502, "a", 1);
  EXPECT_NE(violation(answers, Check::G5), "")
      << "it still answered that it held it";
}

TEST(JudgeWorker, ADeadHoldersLockGoesToAWaiterWithinItsLeaseAndAPause) {
  const auto told = [](int b_gets) {
    return a_has().crash(50, "a").got(40, b_gets, "b", 1, 2);
  };
  EXPECT_EQ(violation(told(1'200), Check::G7),
            "lock 'x': an acquire of b waited 150.0 ms for it while it was free, since a's lease "
            "was over");
  EXPECT_EQ(found(told(1'150), Check::G7).counts.at("bounded_takeovers"), 1);
  EXPECT_EQ(violation(told(1'150), Check::G7), "");
  EXPECT_EQ(violation(told(1'200).fault(1'100, "isolate"), Check::G7), "");
  EXPECT_EQ(violation(told(1'200).pause(1'100, "b").resume(1'160, "b"),
                      Check::G7),
            "");
  EXPECT_EQ(found(told(1'200).stall(1'000, 1'190), Check::G7).verdict, Verdict::unknown);
}

/// As long as its author allows for; and by as much as faults put them apart.
TEST(JudgeWorker, ADeadHoldersLockMayStayForTheMarginOfTheClocksToo) {
  auto promises = everything();
  promises.clock_margin_ms = 200;
  const auto waited = [&](int apart, int b_gets, const char* fault) {
    auto told = workers().asks(10, "a", 1).with([&](Event& e) { e.clock_margin_ms = apart; });
    told.granted(20, "a", 1, 1);
    if (*fault != 0) told.fault(30, fault);
    told.crash(50, "a").got(40, b_gets, "b", 1, 2);
    return found(told, Check::G7, promises).verdict;
  };
  EXPECT_EQ(waited(0, 1'350, ""), Verdict::holds);
  EXPECT_EQ(waited(0, 1'352, ""), Verdict::violated);
  EXPECT_EQ(waited(150, 1'500, "clock-jump"), Verdict::holds);
  EXPECT_EQ(waited(150, 1'502, "clock-jump"), Verdict::violated);
  EXPECT_EQ(waited(0, 5'000, "clock-jump"), Verdict::holds) << "nobody knows by how much";
  EXPECT_EQ(waited(250, 5'000, "clock-jump"), Verdict::holds) << "by more than was promised";
}

/// Who comes later may count the dead holder's lease from then on.
TEST(JudgeWorker, ALateWaiterMayWaitForAWholeLease) {
  const auto told = [](int b_gets) {
    return a_has().crash(50, "a").got(900, b_gets, "b", 1, 2);
  };
  EXPECT_EQ(violation(told(1'990), Check::G7), "");
  EXPECT_NE(violation(told(2'100), Check::G7), "");
}

/// Its server hears of it at the end of the fault.
TEST(JudgeWorker, ALockOfOneThatDiedBehindACutLinkMayStayForALeaseAfterThat) {
  const auto told = [](int b_gets) {
    return a_has()
        .fault(30, "cut-link", "begins", "a")
        .fault(2'000, "cut-link", "ends", "a")
        .crash(50, "a")
        .got(40, b_gets, "b", 1, 2);
  };
  EXPECT_EQ(violation(told(3'100), Check::G7), "");
  EXPECT_NE(violation(told(3'110), Check::G7), "");
}

TEST(JudgeWorker, AReleasedLockGoesToAWaiterWithinAPause) {
  const auto told = [](int b_gets, const char* outcome) {
    return a_has().released(30, 40, "a", 1, outcome).got(25, b_gets, "b", 1, 2);
  };
  EXPECT_EQ(violation(told(140, "released"), Check::G7), "");
  EXPECT_NE(violation(told(150, "released"), Check::G7), "");
  EXPECT_EQ(violation(told(150, "unknown"), Check::G7), "") << "it may still be there";
}

/// Servers that are slow for others are slow for one that waits.
TEST(JudgeWorker, AWaiterIsAllowedTheTimeOfTheSlowestCommandMeanwhileThreeTimes) {
  const auto told = [](int b_gets, int write_from, int write_to) {
    return a_has()
        .released(30, 40, "a", 1)
        .got(25, b_gets, "b", 1, 2)
        .wrote(write_from, write_to, "c", 1, 1, 1, "accepted");
  };
  EXPECT_EQ(violation(told(290, 100, 150), Check::G7), "");
  EXPECT_NE(violation(told(291, 100, 150), Check::G7), "");
  EXPECT_NE(violation(told(290, 300, 350), Check::G7), "") << "that one was later";
  EXPECT_EQ(violation(told(5'000, 100, 226), Check::G7), "") << "too slow for such a lease";
}

/// As a session of PostgreSQL may keep it.
TEST(JudgeWorker, ALockThatATimedOutCallMayHaveWonIsFreeALeaseLater) {
  const auto told = [](int b_gets, const char* outcome) {
    return a_has()
        .asks(22, "c", 1, 20)
        .released(30, 40, "a", 1)
        .ended(42, "c", 1, outcome)
        .got(25, b_gets, "b", 1, 2);
  };
  EXPECT_NE(violation(told(500, "refused"), Check::G7), "");
  EXPECT_EQ(violation(told(1'142, "timed_out"), Check::G7), "");
  EXPECT_EQ(violation(told(2'042, "timed_out"), Check::G7),
            "lock 'x': an acquire of b waited 1000.0 ms for it while it was free, since c's lease "
            "was over");
}

TEST(JudgeWorker, AnAcquireThatReturnsFarBehindItsTimeoutIsFound) {
  auto promises = everything();
  promises.answers_within_ms = 100;
  promises.polls_within_ms = 1'000;
  const auto told = [](int end) {
    return workers().asks(10, "a", 1, 50).ended(end, "a", 1, "failed");
  };
  EXPECT_EQ(found(told(161), Check::G7, promises).why,
            "lock 'x': an acquire of a ended 101.0 ms late");
  EXPECT_EQ(found(told(160), Check::G7, promises).verdict, Verdict::holds);
}

TEST(JudgeWorker, ASingleAttemptMustGetAFreeLock) {
  auto promises = everything();
  promises.waits = Promises::Waits::none;
  const auto told = [](int b_asks) {
    return a_has()
        .released(30, 40, "a", 1)
        .asks(b_asks, "b", 1, 0)
        .ended(b_asks + 5, "b", 1, "refused");
  };
  EXPECT_EQ(found(told(50), Check::G7, promises).why,
            "lock 'x': an acquire of b did not get it, although it was free");
  EXPECT_NE(found(told(35), Check::G7, promises).verdict, Verdict::violated);
}

TEST(JudgeWorker, ChecksOnlyWhatWasPromised) {
  Promises nothing;
  nothing.waits = Promises::Waits::none;
  nothing.passes_on_leases = std::nullopt;
  const auto findings = judge_worker(workers().end(100), nothing);
  ASSERT_EQ(findings.size(), 2u);
  EXPECT_EQ(findings[0].check, Check::G2);
  EXPECT_EQ(findings[1].check, Check::protocol);
  EXPECT_EQ(left_out(nothing).size(), 8u);
}

/// A lock that keeps all its promises, with answers and writes that come early or late.
struct SoundRun {
  HistoryBuilder told = workers();
  int end = 0;
};

SoundRun sound_run() {
  SoundRun run;
  HistoryBuilder& told = run.told;
  const std::vector<const char*> processes{"a", "b", "c"};
  const auto upto = [](int most) { return *rc::gen::inRange(0, most + 1); };
  int free_at = 10, session = 0;
  for (int turns = 2 + upto(8); turns > 0; --turns) {
    const char* process = processes[static_cast<std::size_t>(upto(2))];
    const auto owner = "owner-" + std::to_string(++session);
    const auto write = [&](int at) {
      told.put(at - upto(60), at + upto(60), owner, at + 1'000, at);
    };
    const int wins = free_at + 1 + upto(50), heard = wins + upto(20);
    const int asked = std::max(1, wins - 1 - upto(300));
    told.asks(asked, process, session).granted(heard, process, session, session, wins + 900);
    const int extended = upto(1) > 0 ? wins + 1 + upto(800) : wins;
    write(wins);
    if (extended > wins) write(extended);
    free_at = extended + 1'000;
    const int until = std::max(heard, extended) + 1 + upto(400);
    told.yes(heard, until, process, session);
    if (upto(3) == 0) {  // It runs out, and its user is notified in time.
      told.lost(free_at - 50, free_at + upto(50), process, session);
      continue;
    }
    free_at = until + 5;
    told.released(until + 1, free_at + upto(10), process, session);
    told.freed(free_at - upto(60), free_at + upto(60), "", free_at);
  }
  run.end = free_at + 2'000;
  return run;
}

RC_GTEST_PROP(JudgeWorker, ASoundLockIsNeverBlamedWhateverTheStamps, ()) {
  const auto run = sound_run();
  for (const auto& promises : {everything(), mapped()}) {
    for (const Finding& f : judge_worker(run.told.end(run.end), promises)) {
      if (f.verdict == Verdict::violated) RC_LOG() << to_string(f.check) << ": " << f.why;
      RC_ASSERT(f.verdict != Verdict::violated);
    }
  }
}

}  // namespace
}  // namespace leasehold::model::worker_judge_test

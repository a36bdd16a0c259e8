#include "model/generated/promise.hpp"

/// What G7 promises queued calls, each promise kept to the last millisecond, and
/// broken by the next.
namespace leasehold::model {
namespace {

constexpr int kGood = 9'000;  ///< an entry is good for so long

/// A call is refused, and queued from then on.
HistoryBuilder& queues(Scene& s, int at, const char* process, int good_until, int session = 1) {
  s.h.ask(at, process, session).refused(at, at + 8, process, session);
  return s.h.joins_queue(at + 4, process, session, s.order(at + 4), good_until);
}

/// Behind d, which has the lock.
HistoryBuilder& e_queues(Scene& s) {
  s.holds();
  return queues(s, s.at + 20, "e", kGood);
}

void e_reads_news(Scene& s) {
  e_queues(s).reads(s.at + 40, "e").hears(s.at + 60, "e");
}

HistoryBuilder& passes(Scene& s, int at, const char* from, const char* to, int session = 1) {
  return s.h.pass_on(at, at + 6, from, 1, at + 10, to, session, s.order(at));
}

HistoryBuilder& frees(Scene& s, int at, const char* process, int session = 1) {
  return s.h.release(at, at + 8, process, session, s.order(at));
}

/// The queue of d's lock serves this call, which frees the lock soon after.
void serves(Scene& s, int at, const char* to, int session = 1) {
  passes(s, at, "d", to, session);
  frees(s, at + 40, to, session);
}

/// A call of e has ended, and asks to leave the queue.
void gives_up(Scene& s, int at) {
  s.h.ended(at, "e", 1, "timed_out").clean_up(at, at + 8, "e", 1, 0);
}

const std::vector<Promise>& queue_promises() {
  using enum Check;
  static const std::vector<Promise> all{
      {"AQueueServesTheFirst", G7, "which served",
       [](Scene& s, int by) {
         const char* first = by > 0 ? "f" : "e";
         const char* second = by > 0 ? "e" : "f";
         s.holds();
         const bool behind = s.draw.one_in(2);
         if (behind) queues(s, s.at + 12, "d", kGood, 2);
         queues(s, s.at + 20, "e", kGood);
         if (behind) {
           s.h.leaves_queue(s.at + 30, "d", 2, s.order(s.at + 30));
           s.h.ended(s.at + 30, "d", 2, "timed_out").clean_up(s.at + 30, s.at + 38, "d", 2, 0);
         }
         queues(s, s.at + 40, "f", kGood);
         passes(s, s.at + 100, "d", first);
         passes(s, s.at + 150, first, second);
         frees(s, s.at + 200, second);
       }},
      {"AnEntryThatIsOverIsNotServed", G7, "an entry that was over",
       [](Scene& s, int by) {
         s.holds();
         queues(s, s.at + 20, "e", s.at + 100 - by);
         serves(s, s.at + 100, "e");
       }},
      {"AReleaseLeavesOutNoGoodEntry", G7, "a release left it out",
       [](Scene& s, int by) {
         s.holds();
         queues(s, s.at + 20, "e", s.at + 100 + by);
         queues(s, s.at + 40, "f", kGood);
         s.h.leaves_queue(s.at + 100, "e", 1, s.order(s.at + 100));
         serves(s, s.at + 100, "f");
         gives_up(s, s.at + 150);
       }},
      {"WhoAskedToLeaveIsLeftOut", G7, "a release left it out",
       [](Scene& s, int by) {
         e_queues(s);
         queues(s, s.at + 40, "f", kGood);
         gives_up(s, s.at + 99 + std::clamp(by + 1, 0, 2));
         s.h.leaves_queue(s.at + 100, "e", 1, s.order(s.at + 100));
         serves(s, s.at + 100, "f");
       }},
      {"AnExtensionTakesOutNoGoodEntry", G7, "a write of another took it out",
       [](Scene& s, int by) {
         s.holds();
         queues(s, s.at + 15, "d", kGood, 2);
         queues(s, s.at + 30, "e", s.at + 100 + by);
         s.h.extend(s.at + 100, s.at + 108, "d", 1, s.order(s.at + 100));
         s.h.leaves_queue(s.at + 100, "e", 1, s.order(s.at + 100));
         gives_up(s, s.at + 150);
         serves(s, s.at + 200, "d", 2);
       }},
      {"ADeleteTakesAlongNoQueueThatItsProcessKnows", G7, "a delete took it along",
       [](Scene& s, int by) {
         const int over = s.at + 23 + 5'000 + 1 - by;
         s.holds();
         queues(s, s.at + 15, "d", kGood, 2);
         queues(s, s.at + 30, "e", kGood);
         for (int now = s.at + 300; now < over - 20; now += 500) {
           s.h.extend(now, now + 8, "d", 1, s.order(now));
         }
         frees(s, over, "d").leaves_queue(over, "d", 2, s.order(over));
         s.h.leaves_queue(over, "e", 1, s.order(over));
         s.gets(over + 20);
         frees(s, over + 40, "e");
         s.h.ended(over + 30, "d", 2, "timed_out").clean_up(over + 30, over + 38, "d", 2, 0);
       }},
      {"ANewcomerStandsLast", G7, "joined the queue before",
       [](Scene& s, int by) {
         e_queues(s);
         queues(s, s.at + 40, "f", kGood).with([by](Event& e) { e.count = by > 0 ? 1 : 2; });
         passes(s, s.at + 100, "d", "e");
         passes(s, s.at + 150, "e", "f");
         frees(s, s.at + 200, "f");
       }},
      {"CallsThatPollHaveATurnInEachSecond", G7, "had no turn",
       [](Scene& s, int by) {
         const int session = by > 0 ? s.draw.from(1, 3) : s.draw.from(4, 9);
         const int passed = 1'000 + s.draw.from(0, 300);  // after more than 250 ms
         s.holds();
         queues(s, s.at + 20, "e", kGood, session);
         serves(s, passed, "e", session);
       }},
      {"CallsThatPollHaveNoTurnAfterALongHolding", G7, "had no turn",
       [](Scene& s, int by) {
         s.at = 1'000 - s.draw.from(10, 200);
         const int session = s.draw.from(4, 9), passed = s.sent() + 250 - by;
         s.holds();
         queues(s, s.at + 20, "e", kGood, session);
         serves(s, passed, "e", session);
       }},
      {"TurnsAreAskedOfOneClockThatRan", G7, "had no turn",
       [](Scene& s, int by) {
         const int passed = 1'000 + s.draw.from(0, 300), moved = s.draw.from(s.at + 30, passed);
         const int jumped = s.draw.from(s.at - 40, passed);
         e_queues(s);
         serves(s, passed, "e");
         if (by <= 0 && s.draw.one_in(2)) {
           s.h.no_majority(moved - 5, moved);
         } else if (by <= 0) {
           s.h.fault(jumped, "clock-jump");
         }
       }},
      {"TurnsAreAskedOnceTheEntryIsAnswered", G7, "had no turn",
       [](Scene& s, int by) {
         const int passed = 1'000 + s.draw.from(0, 300);
         e_queues(s).refused(passed - 20, passed + 1 - std::clamp(by, 0, 1), "e", 1);
         serves(s, passed, "e");
       }},
      {"AProcessReadsOnAtOnce", G7, "did not read on",
       [](Scene& s, int by) {
         e_queues(s).reads(s.at + 40, "e").stops_reading(s.at + 60, "e");
         s.h.reads(s.at + 60 + std::max(by, 0), "e");
         serves(s, s.at + 200, "e");
       }},
      {"WhoHasLeftNeedsNotReadOn", G7, "did not read on",
       [](Scene& s, int by) {
         e_queues(s);
         const int ended = s.at + 60 + std::clamp(by, -9, 9);
         s.h.ended(ended, "e", 1, "timed_out");
         s.h.clean_up(ended + s.late, ended + s.late + 8, "e", 1, 0);
         s.h.reads(s.at + 40, "e").stops_reading(s.at + 60, "e");
       }},
      {"WhoHasJustBeenToldNeedsNotReadOn", G7, "did not read on",
       [](Scene& s, int by) {
         e_queues(s).reads(s.at + 5, "e").stops_reading(s.at + 28 + std::clamp(by, 0, 1), "e");
         serves(s, s.at + 100, "e");
       }},
      {"WhoWasNotToldNeedsNotReadOn", G7, "did not read on",
       [](Scene& s, int by) {
         e_queues(s).before(2).order -= by > 0 ? 0 : 1;
         s.h.reads(s.at + 40, "e").stops_reading(s.at + 60, "e");
         serves(s, s.at + 100, "e");
       }},
      {"NewsOfAGrantAreActedOn", G7, "did not act on it",
       [](Scene& s, int by) {
         const int given = s.at + 200, heard = given + 6 + 16 + s.late + by;
         e_reads_news(s);
         s.h.pass_on(given, given + 6, "d", 1, heard, "e", 1, s.order(given));
         frees(s, heard + 20, "e");
         s.due = given;
       },
       kWaiters},
      {"OnlyWhoReadsThenActsOnNews", G7, "did not act on it",
       [](Scene& s, int by) {
         const int given = s.at + 200, heard = given + 900;
         const bool opens = s.draw.one_in(2);
         e_queues(s).reads(by <= 0 && opens ? s.at + 5 : s.at + 40, "e").hears(s.at + 60, "e");
         s.h.pass_on(given, given + 6, "d", 1, heard, "e", 1, s.order(given));
         if (by <= 0 && !opens) s.h.stops_reading(given + 3, "e");
         frees(s, heard + 20, "e");
       }},
      {"AnAttemptUnderWaySaysMoreThanNews", G7, "did not act on it",
       [](Scene& s, int by) {
         const int given = s.at + 200, heard = given + 900;
         e_reads_news(s);
         s.h.pass_on(given, given + 6, "d", 1, heard, "e", 1, s.order(given));
         s.h.refused(given - 3, given - std::clamp(by, 0, 1), "e", 1);
         frees(s, heard + 20, "e");
       }},
      {"WhoEndsLaterActsOnNewsBefore", G7, "did not act on it",
       [](Scene& s, int by) {
         const int given = s.at + 200, ended = given + 6 + 16 + s.late + by;
         e_reads_news(s);
         s.h.pass_on(given, given + 6, "d", 1, -1, "e", 1, s.order(given));
         s.h.ended(ended, "e", 1, "timed_out");
         s.h.clean_up(ended, ended + 8, "e", 1, s.order(ended));
         s.due = given;
       },
       kWaiters},
      {"WhatAnEndedCallIsGrantedIsGivenBack", G7, "did not give it back",
       [](Scene& s, int by) {
         const int given = s.at + 200, heard = given + 20, back = heard + s.late + by;
         e_reads_news(s);
         gives_up(s, given - 40);
         s.h.pass_on(given, given + 6, "d", 1, -1, "e", 1, s.order(given));
         const bool was_told = by > 0 || s.draw.one_in(2);
         s.h.hears(heard, "e", s.order(given) - (was_told ? 0 : 1));
         s.h.clean_up(back, back + 6, "e", 1, s.order(std::max(back, heard)));
         s.due = heard;
       },
       kWorker},
      {"WhoEndsLeavesTheQueue", G7, "stayed in the queue",
       [](Scene& s, int by) {
         const int ended = s.at + 100, left = ended + s.late + by;
         e_queues(s).ended(ended, "e", 1, "timed_out");
         s.h.clean_up(left, left + 8, "e", 1, 0);
         s.due = ended;
       },
       kWorker},
      {"WhoWasNotToldOfItsPlaceLeavesNone", G7, "stayed in the queue",
       [](Scene& s, int by) {
         e_queues(s).before(2).order -= by > 0 ? 0 : 1;
         s.h.ended(s.at + 100, "e", 1, "timed_out").look(s.at + 800, s.at + 808, "e");
       }},
      {"WhoWasToldThatItsPlaceWentLeavesNone", G7, "stayed in the queue",
       [](Scene& s, int by) {
         const auto left = s.order(s.at + 60);
         e_queues(s);
         s.h.extend(s.at + 60, s.at + 68, "d", 1, left).leaves_queue(s.at + 60, "e", 1, left);
         s.h.refused(s.at + 80, s.at + 88, "e", 1).with([&](Event& e) {
           e.order = left - std::clamp(by, 0, 1);
         });
         s.h.ended(s.at + 100, "e", 1, "timed_out").look(s.at + 800, s.at + 808, "e");
       }},
      {"AnEntryIsServedInTheTurnsBeforeIt", G7, "was not served in the",
       [](Scene& s, int by) {
         const bool is_read_late = s.draw.one_in(2);  // by then its process had the answer
         const int joined = s.at + (is_read_late ? 28 : 24);
         const int over = s.at + 300, way = 300 + s.kAttempts + s.late;
         const int served = joined + (over - s.at - 9) + 2 * way + by;
         e_queues(s);
         if (is_read_late) s.h.before(1).at_ns = (s.at + 290) * kMs;
         s.h.pass_on(over, over + 6, "d", 1, served, "e", 1, s.order(over));
         frees(s, served + 20, "e");
         s.due = joined;
       },
       kWaiters},
      {"AHolderThatStoodStillLengthensATurn", G7, "was not served in the",
       [](Scene& s, int by) {
         const int told = s.at + 109, over = s.at + 300, way = 300 + s.kAttempts + s.late;
         const int served = s.at + 154 + (over - told + 90) + 2 * way + by;
         s.h.ask(s.at, "d", 1).win(s.sent(), told, "d", 1, s.order(s.sent()));
         s.h.dawdles(s.at + 10, s.at + 100, "d");
         queues(s, s.at + 150, "e", kGood);
         s.h.pass_on(over, over + 6, "d", 1, served, "e", 1, s.order(over));
         frees(s, served + 20, "e");
       }},
  };
  return all;
}

INSTANTIATE_TEST_SUITE_P(Queue, KeptPromises, testing::ValuesIn(queue_promises()), promise_name);

}  // namespace
}  // namespace leasehold::model

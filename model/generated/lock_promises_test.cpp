#include "model/generated/promise.hpp"

/// G1 to G9, each promise kept to the last millisecond, and broken by one.
namespace leasehold::model {
namespace {

/// A call of e ends, its delete finds nothing, and its attempt is executed only then. The owner may
/// pass on after the delete.
void executed_late(Scene& s, int deleted, int executed) {
  s.h.ask(s.at, "e", 1).win_too_late(s.sent(), s.at + 9, "e", 1, s.order(executed)).unanswered();
  s.h.before(2).at_ns = executed * kMs;
  s.h.ended(deleted - 8, "e", 1, "timed_out");
  const bool passes_on = s.draw.one_in(2);
  if (passes_on) s.h.clean_up(deleted - 8, deleted - 4, "e", 1, 0);
  s.h.clean_up(deleted - 4, deleted, "e", 1, 0);
  if (passes_on) s.h.before(2).verb = s.h.before(1).verb = "pass-on";
  s.h.gone(s.at + 2'400, s.order(s.at + 2'400));
}

/// Broken: a process that only waits hands over the lock of another.
void hands_over(Scene& s, int by) {
  s.contended();
  const char* process = by > 0 ? "e" : "d";
  s.h.ask(s.at + 30, process, 2);
  s.h.hand_over(s.at + 90, s.at + 98, process, 1, 2, s.order(s.at + 90));
}

const std::vector<Promise>& lock_promises() {
  using enum Check;
  static const std::vector<Promise> all{
      // G1, G2
      {"ALeaseIsOverBeforeAnotherGetsIt", G1, "was given to another",
       [](Scene& s, int by) {
         s.holds();
         const int sent = s.draw.one_in(2) ? s.at + 300 : s.sent();
         if (sent != s.sent()) s.h.extend(sent, sent + 8, "d", 1, s.order(sent));
         s.h.crash(s.at + 400, "d");
         s.waits(s.at + 20);
         s.gets(sent + s.kLease - by);
         s.due = sent;
       }},
      {"OnlyAnUnansweredPassOnBeforeMayHaveGivenIt", G1, "was given to another",
       [](Scene& s, int by) {
         const int given = s.at + 150, wrong = by > 0 ? s.draw.from(1, 3) : 0;
         const int asked = wrong == 1 ? given + 1 : given;
         s.contended().clean_up(asked, asked + 8, "d", 1, 0).unanswered();
         if (wrong != 2) s.h.before(1).verb = s.h.before(2).verb = "pass-on";
         s.h.win_too_late(given, given + 8, "e", 1, s.order(given));
         if (wrong != 3) s.h.unanswered();
       }},
      {"AHandOverOfAnotherGivesNothingAway", G1, "was given to another", hands_over},
      {"TwoAreNotHeldAtOnce", G2, "at once",
       [](Scene& s, int by) {
         const int end = s.at + 700;
         s.holds().yes(s.at + 10, end, "d", 1);
         s.waits(s.at + 20);
         s.gets(s.at + 100).yes(end - by, end + 60, "e", 1);
         s.due = s.at + 50;
       }},
      {"AReleaseIsTheEndOfHeld", G2, "after its release",
       [](Scene& s, int by) {
         const int over = s.at + 300;
         s.holds().release(over, over + 9, "d", 1, s.order(over));
         s.h.yes(s.at + 10, over + s.late + by, "d", 1);
         s.due = over;
       }},
      {"HeldTurnsFalseForEver", G2, "true again",
       [](Scene& s, int by) {
         s.holds().no(s.at + 400, s.at + 400, "d", 1).yes(s.at + 10, s.at + 400 + by, "d", 1);
         s.due = s.at + 50;
       }},
      // G3, G4
      {"AnEarlierHoldersWriteIsNotAcceptedLater", G3, "accepted a write of an earlier holder",
       [](Scene& s, int by) {
         const auto second = s.order(s.at + 170);
         s.holds().write(s.at + 20, s.at + 28, "d", 1, "accepted", second + (by > 0 ? by : by - 1));
         s.h.release(s.at + 100, s.at + 108, "d", 1, s.order(s.at + 100));
         s.waits(s.at + 40);
         s.gets(s.at + 150).write(s.at + 170, s.at + 178, "e", 1, "accepted", second);
       }},
      {"WhoHeldItUntilTheAnswerIsNotRefused", G3, "refused its current holder",
       [](Scene& s, int by) {
         const int end = s.at + 700;
         s.holds().yes(s.at + 20, end, "d", 1);
         s.h.write(s.at + 100, end + 1 - by, "d", 1, "refused");
         s.due = s.at + 50;
       }},
      {"WhoHeldItFromTheSendingIsNotRefused", G3, "refused its current holder",
       [](Scene& s, int by) {
         const int first = s.at + 320;
         s.holds().yes(first, s.at + 800, "d", 1);
         s.h.write(first - 1 + by, s.at + 790, "d", 1, "refused");
         s.due = s.at + 50;
       }},
      {"ALaterHoldersWriteOvertakesOnlyWhatWasAnsweredAfterIt", G3, "refused its current holder",
       [](Scene& s, int by) {
         const int back = s.at + 200, stored = back + s.lag + by;
         s.holds().yes(s.at + 20, s.at + 900, "d", 1);
         s.h.write(s.at + 100, back, "d", 1, "refused");
         s.waits(s.at + 30);
         s.gets(s.at + 110).write(stored - 1, stored, "e", 1, "accepted", s.order(s.at + 150));
         s.due = s.at + 50;
       }},
      {"ATokenIsTheTimeOfItsWrite", G4, "is not the time of the write",
       [](Scene& s, int by) {
         const int more = std::max(by, 0) * s.draw.any_of({-1, 1});
         s.holds().with([&](Event& e) { e.token += more; });
       }},
      {"TokensRise", G4, " after ",
       [](Scene& s, int by) {
         s.holds().release(s.at + 100, s.at + 108, "d", 1, s.order(s.at + 100));
         s.h.ask(s.at + 120, "e", 1);
         s.h.win(s.at + 120, s.at + 128, "e", 1, s.order(by > 0 ? s.sent() : s.at + 120));
       }},
      {"AGrantIsNotRolledBack", G4, "is not among the server's writes",
       [](Scene& s, int by) {
         s.contended();
         if (by > 0) {
           s.h.granted_by_news(s.at + 110, "e", 1, s.order(s.at + 100));
         } else {
           s.h.pass_on(s.at + 100, s.at + 108, "d", 1, s.at + 110, "e", 1, s.order(s.at + 100));
         }
       }},
      // G5
      {"ALossIsNotifiedByTheDeadlineAndOneByTheServerAtOnce", G5, "was notified of its loss",
       [](Scene& s, int by) {
         const bool by_server = s.draw.one_in(2);
         const int due = by_server ? s.at + 400 : s.lease_end();
         s.holds().yes(s.at + 10, s.at + 50, "d", 1);
         s.h.lose(due, "d", 1, by_server ? "not_owner" : "deadline");
         s.h.notified(due + std::max(s.late + by, 0), "d", 1);
         s.due = due;
       },
       kProcess, "d"},
      {"ALossIsNotifiedOnceTheUserHasTheHandle", G5, "was notified of its loss",
       [](Scene& s, int by) {
         const int due = s.lease_end() + 500;
         s.holds().no(due, due + 1, "d", 1).lose(s.lease_end(), "d", 1);
         s.h.notified(due + std::max(s.late + by, 0), "d", 1);
         s.due = due;
       },
       kProcess, "d"},
      {"ALossIsNotifiedUnlessItIsReleasedBefore", G5, "was notified of its loss never",
       [](Scene& s, int by) {
         const int due = s.lease_end(), released = due + s.late + by;
         s.holds().yes(s.at + 10, s.at + 50, "d", 1).lose(due, "d", 1);
         s.h.release(released, released + 5, "d", 1, 0);
         s.due = due;
       },
       kProcess, "d"},
      {"AHandleIsHeldUntilItsDeadline", G5, "after its deadline",
       [](Scene& s, int by) {
         s.holds().yes(s.at + 10, s.lease_end() + by, "d", 1);
         s.h.release(s.at + 900, s.at + 908, "d", 1, s.order(s.at + 900));
         s.due = s.at + 50;
       }},
      {"AFastClockIsTakenOffTheDeadline", G5, "after its deadline",
       [](Scene& s, int by) {
         s.h.start(2, "f").with([](Event& e) { e.clock_drift_ppm = 5'000; });
         s.h.ask(s.at, "f", 1).with([](Event& e) { e.max_drift_ppm = 5'000; });
         s.h.win(s.sent(), s.at + 9, "f", 1, s.order(s.sent()));
         s.h.yes(s.at + 10, s.sent() + 990 + by, "f", 1);  // 995 ms of its clock
         s.h.release(s.at + 900, s.at + 908, "f", 1, s.order(s.at + 900));
         s.due = s.at + 50;
       }},
      {"TheLongestHoldingIsADeadline", G5, "after its deadline",
       [](Scene& s, int by) {
         s.h.ask(s.at, "d", 1).with([](Event& e) { e.max_holding_ms = 400; });
         s.h.win(s.sent(), s.at + 9, "d", 1, s.order(s.sent()));
         s.h.yes(s.at + 10, s.sent() + 400 + by, "d", 1);
         s.h.release(s.at + 300, s.at + 308, "d", 1, s.order(s.at + 300));
         s.due = s.at + 50;
       }},
      {"ALostHandleIsNotHeld", G5, "after it had lost it",
       [](Scene& s, int by) {
         const int lost = s.at + 300;
         s.holds().lose(lost, "d", 1, "not_owner").notified(lost, "d", 1);
         s.h.yes(s.at + 10, lost + s.late + by, "d", 1);
         s.due = lost;
       },
       kProcess, "d"},
      {"AnExtensionRevivesNothing", G5, "revived a lease",
       [](Scene& s, int by) {
         const int sent = s.lease_end() - 50;
         s.holds().extend(sent, s.lease_end() - 1 + by, "d", 1, s.order(sent));
         s.due = s.at + 50;
       }},
      {"AGrantIsNoLeaseThatIsOver", G5, "that was over already",
       [](Scene& s, int by) {
         s.h.ask(s.at, "d", 1);
         s.h.win(s.sent(), s.lease_end() - 1 + by, "d", 1, s.order(s.sent()));
         s.due = s.at + 50;
       }},
      {"NoLossIsNotifiedBeforeIt", G5, "for a lock that it had not lost",
       [](Scene& s, int by) {
         const int notified = s.at + 100;
         s.holds().notified(notified, "d", 1);
         s.h.lose(notified + s.late + by, "d", 1, "not_owner");
         s.due = notified;
       }},
      // G6
      {"ADeleteTakesNoLockOfAnother", G6, "deleted the lock of another",
       [](Scene& s, int by) {
         s.contended();
         const char* whose = by > 0 ? "e" : "d";
         s.h.clean_up(s.at + 90, s.at + 98, whose, 1, s.order(s.at + 90));
       }},
      {"ADeleteOfBothOwnersTakesThatOfEither", G6, "deleted the lock of another",
       [](Scene& s, int by) {
         s.contended();
         s.h.clean_up(s.at + 90, s.at + 98, "e", 1, s.order(s.at + 90)).with([by](Event& e) {
           e.also_owner = HistoryBuilder::owner(by > 0 ? "f" : "d", 1);
         });
       }},
      {"WhatGoesInMidLeaseWithoutAnAnswerWasAnothersDelete", G6, "without an answer",
       [](Scene& s, int by) {
         const int gone = s.lease_end() - by;
         s.holds().crash(s.at + 100, "d");
         s.waits(s.at + 20);
         s.h.clean_up(s.at + 110, s.at + 118, "e", 1, 0).unanswered();
         s.h.gone(gone, s.order(gone));
         s.due = s.at + 50;
       }},
      {"WhatWentBeforeADeleteWasSentWasNotItsDoing", G6, "without an answer",
       [](Scene& s, int by) {
         const int gone = s.at + 300, sent = gone + 1 - by;
         s.contended().clean_up(sent, sent + 8, "e", 1, 0).unanswered();
         s.h.gone(gone, s.order(gone));
         s.due = s.at + 50;
       }},
      {"WhatItsHolderMayHaveDeletedWasNoOthersDoing", G6, "without an answer",
       [](Scene& s, int by) {
         s.contended().clean_up(s.at + 110, s.at + 118, by > 0 ? "e" : "d", 1, 0).unanswered();
         s.h.gone(s.at + 300, s.order(s.at + 300));
       }},
      {"AnotherLocksDeleteExplainsNothing", G6, "without an answer",
       [](Scene& s, int by) {
         s.holds().crash(s.at + 100, "d");
         s.waits(s.at + 20);
         if (by <= 0) s.h.named("third").ask(s.at + 100, "f", 1).named("third");
         s.h.clean_up(s.at + 110, s.at + 118, by > 0 ? "e" : "f", 1, 0).unanswered();
         s.h.named("other").gone(s.at + 500, s.order(s.at + 500));
       }},
      {"AnExtensionWritesOverNoLockOfAnother", G6, "wrote over another's lock",
       [](Scene& s, int by) {
         s.contended().extend(s.at + 90, s.at + 98, by > 0 ? "e" : "d", 1, s.order(s.at + 90));
       }},
      {"AnExtensionInsertsNoLock", G6, "inserted a lock that was gone",
       [](Scene& s, int by) {
         s.holds();
         if (by > 0) s.h.gone(s.at + 60, s.order(s.at + 60));
         s.h.extend(s.at + 90, s.at + 98, "d", 1, s.order(s.at + 90));
       }},
      {"AHandOverIsOfTheGiversLock", G6, "a hand-over of", hands_over},
      {"AReleaseGivesAwayNoLockOfAnother", G6, "gave away another's lock",
       [](Scene& s, int by) {
         s.contended().ask(s.at + 25, "f", 1).refused(s.at + 25, s.at + 33, "f", 1);
         const bool is_offered = by <= 0 && s.draw.one_in(2);
         if (is_offered) s.h.offer(s.at + 60, s.at + 68, "d", 1, s.order(s.at + 60));
         s.h.pass_on(s.at + 90, s.at + 98, by > 0 || is_offered ? "f" : "d", 1, s.at + 100, "e", 1,
                     s.order(s.at + 90));
       }},
      // G7
      {"ACallReturnsByItsTimeout", G7, " late",
       [](Scene& s, int by) {
         const int until = s.at + 400;
         s.holds();
         s.waits(s.at + 20, 1, until).ended(until + s.late + by, "e", 1, "timed_out");
         s.due = until;
       },
       kProcess},
      {"ASingleAttemptReturnsInTheTimeOfACommand", G7, " late",
       [](Scene& s, int by) {
         s.holds();
         s.waits(s.at + 20, 1, 0).ended(s.at + 20 + s.kTimeout + s.late + by, "e", 1, "timed_out");
         s.due = s.at + 20;
       },
       kProcess},
      {"AClockOfUnknownRateRunsAsSlowAsItMay", G7, " late",
       [](Scene& s, int by) {
         s.holds().ask(s.at + 20, "e", 1, 0).with([](Event& e) { e.max_drift_ppm = 10'000; });
         s.h.ended(s.at + 20 + 303 + s.late + by, "e", 1, "timed_out");
         s.due = s.at + 20;
       },
       kProcess},
      {"ADeadHoldersLockPassesOn", G7, "for a dead holder's lock",
       [](Scene& s, int by) {
         const int asked = s.draw.any_of({s.at + 20, s.at + 500});
         s.holds().crash(s.at + 100, "d");
         s.waits(asked);
         const int from = std::max(asked, s.sent());
         s.gets(from + s.kPassesOn + s.late + by);
         s.due = from;
       },
       kWaiters},
      {"AFreeLockIsTaken", G7, "left it free",
       [](Scene& s, int by) {
         const int freed = s.at + 100, asked = s.draw.any_of({s.at + 20, s.at + 110});
         s.holds().release(freed, freed + 8, "d", 1, s.order(freed));
         s.waits(asked);
         const int from = std::max(freed, asked);
         s.gets(from + s.kAttempts + s.late + by);
         s.due = from;
       },
       kWaiters},
      {"ACallOnceFaultsAreOverIsServedInItsTurn", G7, "although all faults had stopped",
       [](Scene& s, int by) {
         s.h.ask(s.at, "e", 1, -1, true);
         s.gets(s.at + 2 * (s.kPassesOn + s.late) + by - 8);
         s.due = s.at;
       },
       kWaiters},
      {"ACallOnceFaultsAreOverEndsByNoError", G7, "(unauthorized)",
       [](Scene& s, int by) {
         s.h.ask(s.at, "e", 1, -1, true);
         s.h.ended(s.at + 20, "e", 1, by > 0 ? "unauthorized" : "cancelled");
       }},
      {"WhatWasOverBeforeTheLastAttemptsExplainsNoError", G7, "(unauthorized)",
       [](Scene& s, int by) {
         const int over = s.at + 1'000;
         s.h.ask(s.at, "e", 1, -1, true).no_majority(s.at + 10, over);
         // Its echo lasts as long as the truth may be late.
         s.h.ended(over + s.kAttempts + s.late + by, "e", 1, "unauthorized");
       }},
      {"WhatIsGrantedReachesAUserOrIsLost", G7, "no user got its handle",
       [](Scene& s, int by) {
         const int due = s.at + 9, reached = due + 2'000 + s.late + by;
         const bool is_lost = s.draw.one_in(2);
         const int asked = reached + (is_lost ? 900 : 0);
         s.holds().no(asked, asked + 1, "d", 1);
         if (is_lost) s.h.lose(reached, "d", 1);
         s.due = due;
       },
       kProcess, "d"},
      {"TheEndOfTheLongestHoldingGivesItBack", G7, "did not give it back",
       [](Scene& s, int by) {
         const int over = s.at + 400, sent = over + s.late + by;
         s.h.ask(s.at, "e", 1).with([](Event& e) { e.max_holding_ms = 400; });
         s.gets(s.sent()).lose(over, "e", 1, "max_holding");
         s.h.clean_up(sent, sent + 5, "e", 1, s.order(sent));
         s.due = over;
       },
       kWorker},
      {"ARetryRecognisesItsOwnWin", G7, "did not recognise its own win",
       [](Scene& s, int by) {
         s.contended().with([by](Event& e) {
           const auto whose = HistoryBuilder::owner(by > 0 ? "e" : "d", 1);
           e.verb = "acquire";
           e.owner = HistoryBuilder::owner("e", 1);
           e.seen_lock_id = whose + ".1000.1";
         });
         s.h.ended(s.at + 60, "e", 1, "timed_out");
       }},
      {"AProcessHandsOnOnlySoOften", G7, "times in a row",
       [](Scene& s, int by) {
         const int most = s.draw.from(2, 4);
         s.holds();
         for (int i = 2; i <= most + (by > 0 ? 1 : 0); ++i) {
           const int now = s.at + 30 * i;
           s.h.ask(s.at + 10 + i, "d", i).with([&](Event& e) { e.holdings_in_a_row = most; });
           s.h.hand_over(now, now + 8, "d", i - 1, i, s.order(now));
         }
       }},
      // G8
      {"ADeadHoldersDocumentDisappears", G8, "was still there",
       [](Scene& s, int by) {
         const int expired = s.sent() + 2 * s.kLease, gone = expired + 1'000 + 2 * s.lag + by;
         const int how = s.draw.from(1, 3);
         s.holds();
         if (how == 1) {
           s.h.clean_up(gone + 10, gone + 18, "d", 1, 0).unanswered();
         } else {
           s.h.crash(s.at + 100, "d");
         }
         if (how == 3) {  // another takes it by then
           s.h.ask(s.at + 20, "e", 1);
           s.gets(gone).release(gone + 20, gone + 28, "e", 1, s.order(gone + 20));
         } else {
           s.h.gone(gone, s.order(gone));
         }
         s.due = expired;
       },
       {Delay::machine, Delay::majority}, "d"},
      {"WhatACallThatEndedMayHaveWonIsDeleted", G8, "left its lock document",
       [](Scene& s, int by) {
         const int ended = s.at + 500, last = ended + s.kTimeout + s.lag + by;
         s.h.ask(s.at, "e", 1).win_too_late(s.sent(), s.at + 9, "e", 1, s.order(s.sent()));
         s.h.unanswered().ended(ended, "e", 1, "timed_out").look(last - 5, last, "e");
         s.h.gone(s.sent() + 2'000, s.order(s.sent() + 2'000));
         s.due = ended;
       },
       kWorker},
      {"WhatIsExecutedAfterADeleteIsDeletedOnceMore", G8, "executed after it had left",
       [](Scene& s, int by) {
         const int answered = s.at + 48, last = answered + s.kTimeout + s.late + by;
         executed_late(s, answered, s.at + 100);
         s.h.look(last - 5, last, "e");
         s.due = answered;
       },
       kWorker},
      {"WhatIsExecutedBeforeTheSecondDeleteIsDeletedByIt", G8, "executed after it had left",
       [](Scene& s, int by) {
         const int answered = s.at + 48;
         executed_late(s, answered, answered + s.kTimeout - by);
         s.h.look(s.at + 1'500, s.at + 1'510, "e");
       }},
      {"NoAttemptIsExecutedAfterAHandOver", G8, "had handed the lock over",
       [](Scene& s, int by) {
         s.holds().ask(s.at + 20, "d", 2);
         s.h.hand_over(s.at + 60, s.at + 68, "d", 1, 2, s.order(s.at + 60));
         const bool found = by > 0 || s.draw.one_in(2);
         if (!found) s.h.before(3).matched = 0;
         s.h.gone(s.at + 70, s.order(s.at + 70));
         if (by > 0 || !found) {
           s.h.win_too_late(s.at + 80, s.at + 88, "d", 1, s.order(s.at + 80)).unanswered();
           s.h.gone(s.at + 1'900, s.order(s.at + 1'900));
         }
       }},
      {"WhatIsExecutedAfterADowngradeIsDeletedOnceMore", G8, "executed after it had left",
       [](Scene& s, int by) {
         s.holds().ask(s.at + 20, "d", 2).with([](Event& e) { e.single_attempt = true; });
         s.h.hand_over(s.at + 60, s.at + 68, "d", 1, 2, s.order(s.at + 60));
         s.h.gone(s.at + 70, s.order(s.at + 70));
         // What is executed after both commands is left to its date.
         const bool after_both = by <= 0 && s.draw.one_in(2);
         const int executed = s.at + (after_both ? 400 : 80);
         s.h.win_too_late(s.at + 80, s.at + 88, "d", 1, s.order(executed)).unanswered();
         s.h.before(2).at_ns = executed * kMs;
         if (by <= 0) {
           s.h.clean_up(s.at + 370, s.at + 378, "d", 1, after_both ? 0 : s.order(s.at + 370));
         }
         if (by > 0 || after_both) s.h.gone(s.at + 1'900, s.order(s.at + 1'900));
         s.h.look(s.at + 1'500, s.at + 1'510, "d");
       }},
      // G9
      {"AnUncontendedAcquireIsOneCommand", G9, "took more than one command",
       [](Scene& s, int by) {
         s.h.ask(s.at, "e", 1);
         if (by > 0) s.h.refused(s.at, s.at + 2, "e", 1);
         s.gets(s.sent());
       }},
      {"AnUncontendedAcquireLooksNowhere", G9, "took more than one command",
       [](Scene& s, int by) {
         s.h.ask(s.at, "e", 1);
         s.gets(s.sent()).look(s.at + 10 - std::clamp(by, 0, 1), s.at + 20, "e");
       }},
      {"ALookMayBeForAnotherCall", G9, "took more than one command",
       [](Scene& s, int by) {
         const int ended = s.at + 1 - s.late - by;  // it may send so much later
         s.h.ask(s.at, "e", 1);
         s.gets(s.sent()).look(s.at + 4, s.at + 20, "e");
         s.h.named("third").ask(ended - 5, "e", 2).ended(ended, "e", 2, "cancelled");
       }},
      {"WhatWasFreedBeforeTheCallIsUncontended", G9, "took more than one command",
       [](Scene& s, int by) {
         const int freed = s.at + 100;
         s.holds().release(freed, freed + 2, "d", 1, s.order(freed));
         s.waits(freed + std::clamp(by, 0, 1));
         s.gets(freed + 20);
       }},
      {"WhoWasOnlyRefusedDeletesNothing", G9, "were all refused sent a delete",
       [](Scene& s, int by) {
         const bool is_told = s.draw.one_in(2), leaves = s.draw.one_in(2);
         s.contended().seeing(by > 0 || leaves ? "d" : "e", 1);
         if (by > 0 && is_told) {
           s.h.with([](Event& e) { e.outcome = "duplicate_key", e.seen_lock_id = ""; });
         }
         s.h.ended(s.at + 60, "e", 1, "timed_out").clean_up(s.at + 60, s.at + 68, "e", 1, 0);
         if (by <= 0 && leaves) s.h.before(1).verb = s.h.before(2).verb = "pass-on";
       }},
      {"WhoWasGivenTheLockDeletesIt", G9, "were all refused sent a delete",
       [](Scene& s, int by) {
         s.contended().seeing("d", 1).ask(s.at + 30, "d", 2);
         s.h.refused(s.at + 30, s.at + 38, "d", 2).seeing("d", 1);
         const bool to_queue = s.draw.one_in(2);
         const int given = s.at + 100;
         if (by <= 0 && to_queue) {
           s.h.pass_on(given, given + 6, "d", 1, given + 8, "e", 1, s.order(given));
         } else if (by <= 0) {
           s.h.hand_over(given, given + 6, "d", 1, 2, s.order(given));
         }
         s.h.clean_up(s.at + 150, s.at + 158, to_queue ? "e" : "d", to_queue ? 1 : 2, 0);
       }},
      {"AReleaseIsOneCommand", G9, "took more than one command",
       [](Scene& s, int by) {
         const int over = s.at + 100, why = by > 0 ? 0 : s.draw.from(1, 3);
         s.holds();
         if (why == 1) s.h.lose(over - 10, "d", 1, "max_holding");  // which sends a delete, too
         s.h.release(over, over + 8, "d", 1, why == 2 ? 0 : s.order(over));  // 2: an old primary
         if (why < 3) s.h.clean_up(over + 20, over + 28, "d", 1, 0);
       }},
      {"AReleaseThatFindsAQueueIsTwoCommands", G9, "took more than one command",
       [](Scene& s, int by) {
         const int over = s.at + 100;
         s.holds().clean_up(over, over + 8, "d", 1, 0).with([&](Event& e) {
           e.order = s.order(over);
         });
         s.h.offer(over + 8, over + 16, "d", 1, s.order(over + 8));
         if (by > 0) s.h.clean_up(over + 20, over + 28, "d", 1, 0);
       }},
      {"TheDriverSendsWhatItWasAsked", G9, "the driver sent",
       [](Scene& s, int by) {
         s.holds().notified(s.at + 900, "d", 1).with([by](Event& e) {
           e.kind = Kind::wire;
           e.session = 0;
           e.verb = "findAndModify";
           e.count = 1 + std::clamp(by, 0, 1);
         });
       }},
  };
  return all;
}

TEST_P(KeptPromises, AreKeptToTheLastMillisecondAndBrokenByTheNext) {
  const Promise& promise = GetParam();
  constexpr std::uint32_t kHistories = 20;
  for (std::uint32_t seed = 0; seed < kHistories && !HasFailure(); ++seed) {
    Draws draw(seed);
    SCOPED_TRACE("seed " + std::to_string(seed));
    const int kept = -draw.from(0, 9), broken = draw.any_of({1, draw.from(1, 9)});
    expect_judged(promise, tried(promise, seed, kept), false);
    expect_judged(promise, tried(promise, seed, broken), true);
  }
}

/// By as long as the delay lasts, and only if what has to act waits for that.
TEST_P(KeptPromises, ArePutOffByWhatDelaysThemAndByNothingElse) {
  const Promise& promise = GetParam();
  constexpr std::uint32_t kHistories = 5;
  for (std::uint32_t seed = 0; seed < kHistories && !HasFailure(); ++seed) {
    for (int i = 0; i < static_cast<int>(Delay::count) && !HasFailure(); ++i) {
      const auto why = static_cast<Delay>(i);
      Draws draw(seed);
      SCOPED_TRACE("seed " + std::to_string(seed) + ", delay " + std::to_string(i));
      const int lasts = draw.from(20, 250);
      const bool is_excused = promise.excused_by.contains(why);
      // The worker's own commands take some time, too, and are the longest that it made. A TTL
      // monitor has to come by again.
      const bool awaits_monitor = promise.check == Check::G8 && why == Delay::majority;
      const int pass = is_excused && awaits_monitor ? 1'000 : 0;
      const int more = !is_excused             ? draw.from(1, 9)
                       : why == Delay::worker ? 50 + 3 * lasts
                       : awaits_monitor       ? 3 * pass + 9
                                              : draw.from(1, 9);
      const auto by_less = tried(promise, seed, lasts + pass - draw.from(0, 9), why, lasts);
      if (!by_less.is_timed) return;
      expect_judged(promise, by_less, !is_excused);
      expect_judged(promise, tried(promise, seed, lasts + more, why, lasts), true);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Lock, KeptPromises, testing::ValuesIn(lock_promises()), promise_name);

}  // namespace
}  // namespace leasehold::model

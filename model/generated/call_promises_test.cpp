#include "model/generated/promise.hpp"

/// What releases, losses and users' calls say, and the rules that clients and documents keep to,
/// each kept to the last millisecond, and broken by the next.
namespace leasehold::model {
namespace {

/// d asks for the release of what it has, whose write was read at `read`; it is answered that d is
/// not the owner. Its delete of then never came back.
void asks_release(Scene& s, int deleted, int read = 0) {
  s.holds();
  if (read > 0) s.h.before(3).at_ns = read * kMs;
  s.h.notified(s.at + 100, "d", 1).with([](Event& e) { e.kind = Kind::release; });
  s.h.clean_up(deleted, s.at + 130, "d", 1, 0).unanswered();
  s.h.notified(s.at + 150, "d", 1).with([](Event& e) {
    e.kind = Kind::released;
    e.outcome = "not_owner";
  });
}

void vanishes(Scene& s, int deleted, int gone) {
  asks_release(s, deleted);
  s.h.gone(gone, s.order(gone));
}

const std::vector<Promise>& call_promises() {
  using enum Check;
  static const std::vector<Promise> all{
      {"AReleaseThatFreedNothingSaysSo", release, "no command of its own freed the lock",
       [](Scene& s, int by) {
         s.holds().crash(s.at + 900, "d");
         s.h.release(s.at + 100, s.at + 108, "d", 1, by > 0 ? 0 : s.order(s.at + 100));
         s.h.with([](Event& e) { e.outcome = "released"; });
         if (by > 0) s.h.gone(s.at + 1'700, s.order(s.at + 1'700));
       }},
      {"AReleaseThatFreedTheLockSaysSo", release, "its own delete freed the lock",
       [](Scene& s, int by) {
         s.holds().release(s.at + 100, s.at + 108, "d", 1, s.order(s.at + 100));
         if (by > 0) s.h.with([](Event& e) { e.outcome = "not_owner"; });
       }},
      {"ARepeatedReleaseIsNotForADeleteFromBefore", release, "its own delete freed the lock",
       [](Scene& s, int by) {
         const int deleted = s.at + 99, asked = deleted + 9 - std::clamp(by, -9, 1);
         s.holds().clean_up(deleted, deleted + 8, "d", 1, s.order(deleted));
         s.h.release(asked, asked + 30, "d", 1, 0);
       }},
      {"ADeleteOverlooksNoDocument", release, "its document was there",
       [](Scene& s, int by) {
         if (by <= 0) s.holds().gone(s.at + 60, s.order(s.at + 60));
         if (by > 0) s.holds();
         s.h.release(s.at + 100, s.at + 108, "d", 1, 0);
       }},
      {"WhatVanishedBeforeAReleaseWasNotItsDoing", release, "only its own command can have freed",
       [](Scene& s, int by) {
         vanishes(s, s.at + 90, s.at + 99 + std::clamp(by, 0, 1));
       }},
      {"WhatVanishedBeforeADeleteWasNotItsDoing", release, "only its own command can have freed",
       [](Scene& s, int by) {
         vanishes(s, s.at + 120, s.at + 119 + std::clamp(by, 0, 1));
       }},
      {"WhatVanishesAfterAReleaseWasNotItsDoing", release, "only its own command can have freed",
       [](Scene& s, int by) {
         vanishes(s, s.at + 110, s.at + 151 - std::clamp(by, 0, 1));
       }},
      {"WhatIsDeletedAfterTheAnswerDoesNotCount", release, "its own delete freed the lock",
       [](Scene& s, int by) {
         const int back = s.at + 151 - std::clamp(by, 0, 1);
         asks_release(s, s.at + 120);
         s.h.clean_up(s.at + 140, back, "d", 1, s.order(s.at + 140));
       }},
      {"ALossBeforeTheReleaseMayHaveDeletedIt", release, "its own delete freed the lock",
       [](Scene& s, int by) {
         s.holds().lose(s.at + 100 + std::clamp(by, -9, 9), "d", 1, "deadline");
         s.h.release(s.at + 100, s.at + 120, "d", 1, s.order(s.at + 100));
         s.h.with([](Event& e) { e.outcome = "not_owner"; });
       }},
      {"WhoKnowsOfTheGrantOverlooksNoDocument", release, "its document was there",
       [](Scene& s, int by) {
         const bool by_order = s.draw.one_in(2);
         const auto order = s.order(s.sent()) - (by_order && by <= 0 ? 1 : 0);
         asks_release(s, s.at + 110, by_order ? s.sent() : s.at + 110 - by);
         s.h.clean_up(s.at + 110, s.at + 118, "d", 1, 0).with([&](Event& e) { e.order = order; });
       }},
      {"OnlyTheLastReplyOfAnOldPrimaryDecides", release, "its document was there",
       [](Scene& s, int by) {
         asks_release(s, s.at + 110);
         s.h.clean_up(s.at + 110, s.at + 149 + std::clamp(by, 0, 1), "d", 1, 0);
       }},
      {"WhatAnOldPrimaryDeniesStaysThereUntilItIsKnown", release, "its document was there",
       [](Scene& s, int by) {
         const int answered = s.at + 150, gone = answered + 4 * s.lag + by;
         s.holds().release(s.at + 110, answered, "d", 1, 0).gone(gone, s.order(gone));
         s.due = answered;
       },
       {Delay::machine, Delay::majority}},
      {"ALeaseIsNotLostEarly", needless, "before the end of a lease",
       [](Scene& s, int by) {
         const bool extends = s.draw.one_in(2);
         const int sent = extends ? s.at + 400 : s.sent();
         s.holds();
         if (extends) s.h.extend(sent, sent + 8, "d", 1, s.order(sent));
         s.h.lose(sent + s.kLease - by, "d", 1);
         s.due = s.at + 50;
       }},
      {"ALateAnswerRevivesNoLease", needless, "before the end of a lease",
       [](Scene& s, int by) {
         const int sent = s.lease_end() - 50;
         s.holds().extend(sent, s.lease_end() - by, "d", 1, s.order(sent));
         s.h.lose(s.lease_end(), "d", 1);
       }},
      {"ALockThatIsThereIsNotLost", needless, "its document was still there",
       [](Scene& s, int by) {
         const int sent = s.at + 400;
         s.holds();
         if (by <= 0 && s.draw.one_in(2)) {
           s.h.gone(sent - 20, s.order(sent - 20));
         } else if (by <= 0) {
           s.h.ask(s.at + 20, "e", 1);
           s.gets(sent - 20);
         }
         const int known = s.draw.any_of({s.sent(), sent});
         s.h.extend_in_vain(sent, sent + 8, "d", 1, s.order(by > 0 ? known : sent));
         s.h.lose(sent + 8, "d", 1, "not_owner");
       }},
      {"WhatWasReadAfterTheSendingProvesNothing", needless, "its document was still there",
       [](Scene& s, int by) {
         const int sent = s.at + 400;
         s.holds().before(3).at_ns = (sent - by) * kMs;
         s.h.extend_in_vain(sent, sent + 8, "d", 1, s.order(sent));
         s.h.lose(sent + 8, "d", 1, "not_owner");
       }},
      {"AnExtensionOfAllItsLocksIsALease", needless, "before the end of a lease",
       [](Scene& s, int by) {
         const int sent = s.at + 400;
         s.holds().extend(sent, sent + 8, "d", 1, s.order(sent));
         s.h.before(2).matched = by > 0 ? 2 : 1;
         Event other = s.h.before(4);
         other.session = 2;
         other.name = "third";
         other.lock_id = HistoryBuilder::owner("d", 2) + ".1000.1";
         s.h.also(other).lose(s.lease_end(), "d", 1);
       }},
      {"TheFastestClockEndsALease", needless, "before the end of a lease",
       [](Scene& s, int by) {
         s.h.ask(s.at, "d", 1).with([](Event& e) { e.max_drift_ppm = 5'000; });
         s.h.win(s.sent(), s.at + 9, "d", 1, s.order(s.sent()));
         s.h.lose(s.sent() + 991 - by, "d", 1);  // 995 ms, by a clock of which 5 go by unseen
         s.due = s.at + 50;
       }},
      {"AFailedExtensionIsRepeated", needless, "let its lease run out",
       [](Scene& s, int by) {
         const int failed = s.lease_end() - 450 - s.late;
         s.holds().extend_in_vain(failed - 50, failed, "d", 1, 0).unanswered();
         s.h.lose(failed + s.kLease / 2 + s.late + by, "d", 1);
         s.due = failed;
       },
       kWorker, "d"},
      {"AUsersCallReturnsByItsTimeout", calls, " late",
       [](Scene& s, int by) {
         const int until = s.at + 400;
         s.h.calls(s.at, "e", "acquire", until).ask(s.at, "e", 1, until);
         s.h.ended(until - 10, "e", 1, "timed_out").returns(until + s.late + by, "e", "timed_out");
         s.due = s.at;
       },
       kProcess},
      {"AUsersOwnFunctionsDelayItsCall", calls, " late",
       [](Scene& s, int by) {
         const int until = s.at + 400, kept = until + s.late + by;
         s.h.calls(s.at, "e", "acquire_async", until).ask(s.at, "e", 1, until);
         s.h.ended(until, "e", 1, "timed_out").returns(kept + 700, "e", "timed_out");
         s.h.with([&](Event& e) { e.from_ns = kept * kMs; });
         s.due = s.at;
       },
       kProcess},
      {"ACallReturnsWhatWasGranted", calls, "was not granted",
       [](Scene& s, int by) {
         s.h.calls(s.at, "e", "acquire", s.at + 400).ask(s.at, "e", 1, s.at + 400);
         s.gets(s.sent()).returns(s.at + 10 - std::clamp(by, 0, 1), "e", "granted", 1,
                                  s.order(s.sent()));
       }},
      {"ACallReturnsWhatWasGrantedDuringIt", calls, "was not granted",
       [](Scene& s, int by) {
         s.h.ask(s.at, "e", 1, s.at + 400);
         s.h.calls(s.sent() + 8 + std::clamp(by, -9, 9), "e", "acquire", s.at + 400);
         s.gets(s.sent()).returns(s.at + 30, "e", "granted", 1, s.order(s.sent()));
       }},
      {"ACallReturnsTheLockThatItAskedFor", calls, "was not granted",
       [](Scene& s, int by) {
         s.h.calls(s.at, "e", "acquire", s.at + 400).named(by > 0 ? "third" : "other");
         s.h.ask(s.at, "e", 1, s.at + 400);
         s.gets(s.sent()).named("other");
         s.h.returns(s.at + 12, "e", "granted", 1, s.order(s.sent()));
       }},
      {"ACallReturnsTheGrantedToken", calls, "was not granted",
       [](Scene& s, int by) {
         s.h.calls(s.at, "e", "acquire", s.at + 400).ask(s.at, "e", 1, s.at + 400);
         s.gets(s.sent()).returns(s.at + 12, "e", "granted", 1,
                                  s.order(s.sent()) + std::max(by, 0));
       }},
      {"ACallReturnsTheErrorOfItsAttempt", calls, "no attempt of it ended so",
       [](Scene& s, int by) {
         const int until = s.at + 400;
         s.h.calls(s.at, "e", "acquire", until).ask(s.at, "e", 1, until);
         s.h.ended(until - 20, "e", 1, "timed_out");
         s.h.returns(until - 20 - std::clamp(by, 0, 1), "e", "timed_out");
       }},
      {"OnlyOneAttemptMayBeRefused", calls, "which is not promised",
       [](Scene& s, int by) {
         const int until = by > 0 ? s.at + 400 : s.at + 300;
         s.h.calls(s.at, "e", "try_acquire", until).ask(s.at, "e", 1, by > 0 ? until : 0);
         s.h.ended(s.at + 20, "e", 1, "refused").returns(s.at + 20, "e", "refused");
       }},
      {"AReleaseReturnsWhatItFound", calls, "but the release found",
       [](Scene& s, int by) {
         const int over = s.at + 100;
         const bool is_early = by > 0 && s.draw.one_in(2), is_wrong = by > 0 && !is_early;
         s.holds().calls(over, "d", "release", over + 400, 1);
         s.h.release(over, over + 8, "d", 1, s.order(over));
         s.h.returns(over + (is_early ? 7 : 8), "d", is_wrong ? "not_owner" : "released", 1);
       }},
      {"RemainingIsNoMoreThanIsLeft", calls, "more than what is left",
       [](Scene& s, int by) {
         s.holds().yes(s.at + 12, s.at + 50, "d", 1).until(s.lease_end() + by);
         s.due = s.at + 50;
       }},
      {"WhatRemainsCountsFromWhatIsKnown", calls, "more than what is left",
       [](Scene& s, int by) {
         const int sent = s.at + 300, known = sent + 20;
         s.holds().extend(sent, known, "d", 1, s.order(sent));
         s.h.yes(known - by, known + 400, "d", 1).until(sent + s.kLease);
       }},
      {"WhileAMachineIsSuspendedALeaseStandsStill", calls, "more than what is left",
       [](Scene& s, int by) {
         const bool suspends = s.draw.one_in(2);
         s.holds().pause(s.at + 100, "d").resume(s.at + 200, "d").with([suspends](Event& e) {
           e.suspended = suspends;
         });
         s.h.yes(s.at + 220, s.at + 400, "d", 1).until(s.lease_end() + (suspends ? 100 : 0) + by);
       }},
      {"EnsurePromisesNoMoreThanTheLease", calls, "too much",
       [](Scene& s, int by) {
         s.holds().calls(s.at + 20, "d", "ensure", s.at + 320, 1);
         s.h.returns(s.at + 30, "d", "yes", 1, 0, s.lease_end() + s.late + by);
       }},
      {"EnsurePromisesNothingOfALostLock", calls, "too much",
       [](Scene& s, int by) {
         const int called = s.at + 100;
         s.holds().lose(called + 1 - std::clamp(by, 0, 1), "d", 1, "not_owner");
         s.h.calls(called, "d", "ensure", called + 300, 1);
         s.h.returns(called + 10, "d", "yes", 1, 0, s.at + 300);
       }},
      {"EnsureDeniesNoLeaseThatIsLongEnough", calls, "the lease lasted longer",
       [](Scene& s, int by) {
         const int called = s.at + 20 + s.late;
         s.holds().calls(called, "d", "ensure", called + 300, 1);
         s.h.returns(called + 10, "d", "no", 1, 0, s.lease_end() - s.late - by);
       }},
      // The rules of clients and documents
      {"ALockIdIsOfOneCommand", unique_lock_id, "of an earlier command",
       [](Scene& s, int by) {
         s.contended();
         const auto id = s.h.last_lock_id("e", 1);
         s.h.refused(s.at + 60, s.at + 68, "e", 1);
         if (by > 0) s.h.before(2).lock_id = id;
       }},
      {"ADeadlineIsALeaseAfterTheSending", deadline, "later than a lease",
       [](Scene& s, int by) {
         const int sent = s.at + 300;
         s.holds();
         if (s.draw.one_in(2)) s.h.extend(sent, sent + 8, "d", 1, s.order(sent));
         s.h.with([by](Event& e) { e.deadline_ns += by * kMs; });
         s.due = s.at + 50;
       }},
      {"AHolderIsPresumedDeadAfterALease", presumed_dead, "too early",
       [](Scene& s, int by) {
         s.contended().seeing("d", 1);
         s.h.presuming("d", 1);
         s.gets(s.at + 28 + s.kLease - by);
         s.due = s.at + 50;
       }},
      {"AnEndedOwnerAsksForNothing", ended_owner, "was sent before",
       [](Scene& s, int by) {
         const int over = s.at + 100, used = over + std::clamp(by, -8, 9);
         s.holds();
         if (by <= 0) s.h.extend(used, used, "d", 1, s.order(used));
         s.h.release(over, over + 8, "d", 1, s.order(over));
         if (by > 0) s.h.extend(used, over + 20, "d", 1, s.order(used) + 1);
       }},
      {"AnEndedOwnerHoldsNothing", ended_owner, "was sent before",
       [](Scene& s, int by) {
         const int over = s.at + 100;
         s.holds().release(over, over + 8, "d", 1, s.order(over));
         s.h.yes(s.at + 10, over + s.late + by, "d", 1);
         s.due = over;
       }},
      {"ADocumentExpiresAfterALeaseAndTheMargin", expires_at, "after acquiredAt",
       [](Scene& s, int by) {
         const int more = std::max(by, 0) * s.draw.any_of({-1, 1});
         s.holds().before(3).expires_at_ms += more;
       }},
      {"AStoredTokenIsBelowItsOwn", stored_token, "not below its own",
       [](Scene& s, int by) {
         s.holds().before(3).stored_token += std::clamp(by, 0, 1);
       }},
      {"ADocumentIsWrittenOverWhenItHasExpired", compare_and_set, "writes over a lock",
       [](Scene& s, int by) {
         s.holds().crash(s.at + 100, "d");
         s.h.ask(s.at + 20, "e", 1);
         s.gets(s.sent() + 1'500 - by);
         s.due = s.at + 50;
       }},
  };
  return all;
}

INSTANTIATE_TEST_SUITE_P(Call, KeptPromises, testing::ValuesIn(call_promises()), promise_name);

}  // namespace
}  // namespace leasehold::model

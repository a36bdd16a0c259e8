#include "model/generated/promise.hpp"

/// What the checks promise of readers and of writers beside them, each promise kept in one history
/// and broken in the next.
namespace leasehold::model {
namespace {

constexpr int kStands = 9'000;  ///< an entry in the queue is good for so long

/// A call of this process joins the readers, and holds from 6 ms later on.
HistoryBuilder& reads(Scene& s, int at, const char* process, int session = 1) {
  s.h.ask_shared(at, process, session);
  return s.h.win(at + 1, at + 6, process, session, s.order(at + 1));
}

/// d and e read from then on.
HistoryBuilder& two_read(Scene& s) {
  reads(s, s.at, "d");
  return reads(s, s.at + 10, "e");
}

/// f waits to write, and stands in the queue.
HistoryBuilder& f_waits(Scene& s, int at) {
  s.h.ask(at, "f", 1).refused(at, at + 8, "f", 1);
  return s.h.joins_queue(at + 4, "f", 1, s.order(at + 4), kStands);
}

/// A call of this process waits to read.
HistoryBuilder& waits_to_read(Scene& s, int at, const char* process) {
  s.h.ask_shared(at, process, 1).refused(at, at + 8, process, 1);
  return s.h.joins_queue(at + 4, process, 1, s.order(at + 4), kStands);
}

HistoryBuilder& leaves(Scene& s, int at, const char* process, int session = 1) {
  return s.h.leave(at, at + 8, process, session, s.order(at));
}

/// d and e have two of three permits.
HistoryBuilder& two_have_permits(Scene& s) {
  s.h.of_permits(3);
  return two_read(s);
}

/// The last version of the document.
Event& last_put(HistoryBuilder& h) {
  for (std::size_t back = 1;; ++back) {
    if (h.before(back).kind == Kind::put) return h.before(back);
  }
}

/// Moves a date of the last entry there: of `until`, or of `since` behind it.
void move_date(Event& put, int by_ms, bool of_since = false) {
  constexpr std::size_t kDigits = 13;
  const auto at = put.lock_id.rfind('|') + 1 + (of_since ? kDigits + 1 : 0);
  const auto date = std::stoll(put.lock_id.substr(at, kDigits)) + by_ms;
  put.lock_id.replace(at, kDigits, std::to_string(date));
}

/// The document without this process's entry, as the command before wrote it.
void lose_entry(Event& put, const char* process) {
  const auto owner = put.lock_id.find(HistoryBuilder::owner(process, 1));
  const auto mark = put.lock_id.rfind('|', owner);
  put.lock_id.erase(mark, put.lock_id.find('|', owner) - mark);
}

/// A leave of d. Broken: it frees the lock, although e reads.
void a_leave_frees(Scene& s, int by) {
  two_read(s);
  leaves(s, s.at + 100, "d");
  if (by <= 0) return;
  Event& put = last_put(s.h);
  put = {.at_ns = put.at_ns, .kind = Kind::gone, .name = put.name, .order = put.order};
}

/// A leave of d. Broken: it takes out e as well, of three.
void a_leave_takes_out(Scene& s, int by) {
  two_read(s);
  reads(s, s.at + 20, "f");
  leaves(s, s.at + 100, "d");
  if (by > 0) lose_entry(last_put(s.h), "e");
}

/// f waits to write while d reads. Broken: e joins d.
void a_reader_comes_later(Scene& s, int by) {
  reads(s, s.at, "d");
  f_waits(s, s.at + 20);
  if (by > 0) {
    reads(s, s.at + 60, "e");
  } else {
    waits_to_read(s, s.at + 60, "e");
  }
  if (by > 0) leaves(s, s.at + 120, "e");
  s.h.pass_on(s.at + 150, s.at + 158, "d", 1, s.at + 160, "f", 1, s.order(s.at + 150));
  if (by > 0) return;
  s.h.admits(s.at + 200, s.at + 208, "f", 1, s.order(s.at + 200), {{"e", 1}});
  leaves(s, s.at + 220, "e");
}

/// d has one of two permits, and f waits for the other. Broken: e takes it.
void a_call_for_a_permit_comes_later(Scene& s, int by) {
  s.h.of_permits(2);
  reads(s, s.at, "d");
  waits_to_read(s, s.at + 20, "f");
  std::vector<std::pair<std::string, int>> calls{{"f", 1}};
  if (by > 0) {
    reads(s, s.at + 60, "e");
    leaves(s, s.at + 120, "e");
  } else {
    waits_to_read(s, s.at + 60, "e");
    calls.emplace_back("e", 1);
  }
  s.h.admits(s.at + 150, s.at + 158, "d", 1, s.order(s.at + 150), calls);
}

/// A second call of d shares the entry of the first. Broken: the first takes it out all the same.
void the_first_of_a_shared_entry_leaves(Scene& s, int by) {
  const int first = s.at + 100, last = first + 20 + s.late;
  reads(s, s.at, "d").ask_shared(s.at + 2, "d", 2).shares(s.at + 6, "d", 2, 1);
  s.h.yes(s.at + 7, last, "d", 2);
  f_waits(s, s.at + 20);
  if (by > 0) {
    s.h.pass_on(first, first + 8, "d", 1, first + 10, "f", 1, s.order(first));
    s.h.yes(first + 11, last + 50, "f", 1);
  } else {
    s.h.releases_to_others(first, "d", 1).leaves_queue(first + 5, "f", 1, s.order(first + 5));
    s.h.ended(first + 5, "f", 1, "cancelled").clean_up(first + 5, first + 9, "f", 1, 0);
    s.h.leave(last + 1, last + 9, "d", 2, s.order(last + 1), 1);
  }
}

/// An own attempt of a reader that is there finds its entry and renews it. Broken: as said.
HistoryBuilder& a_retry(Scene& s) {
  s.h.ask_shared(s.at, "e", 1).win_too_late(s.at + 1, s.at + 9, "e", 1, s.order(s.at + 1));
  s.h.unanswered();
  return s.h.win(s.at + 20, s.at + 28, "e", 1, s.order(s.at + 20));
}

/// What d reads or writes as the later holder, and then f as the one before it.
void accesses(Scene& s, bool first_reads, bool later_reads, bool reads_first) {
  if (first_reads) s.h.ask_shared(s.at, "f", 1);
  if (!first_reads) s.h.ask(s.at, "f", 1);
  s.h.win(s.at + 1, s.at + 6, "f", 1, s.order(s.at + 1));
  s.h.leave(s.at + 50, s.at + 58, "f", 1, s.order(s.at + 50));
  if (later_reads) s.h.ask_shared(s.at + 60, "d", 1);
  if (!later_reads) s.h.ask(s.at + 60, "d", 1);
  s.h.win(s.at + 61, s.at + 66, "d", 1, s.order(s.at + 61));
  const auto shares = [](bool read) { return [read](Event& e) { e.shared = read; }; };
  const int first = reads_first ? 70 : 90, later = reads_first ? 90 : 70;
  s.h.write(s.at + later, s.at + later + 5, "d", 1, "accepted", s.order(s.at + later));
  s.h.with(shares(later_reads)).before(2).shared = later_reads;
  s.h.write(s.at + first, s.at + first + 5, "f", 1, "accepted", s.order(s.at + first));
  s.h.with(shares(first_reads)).before(2).shared = first_reads;
}

const std::vector<Promise>& reader_promises() {
  using enum Check;
  static const std::vector<Promise> all{
      // G1, G2
      {"AReadersLeaseIsOverBeforeAWriterGetsIt", G1, "was given to another",
       [](Scene& s, int by) {
         two_read(s).crash(s.at + 50, "d").crash(s.at + 60, "e");
         s.h.ask(s.at + 20, "f", 1).refused(s.at + 20, s.at + 28, "f", 1);
         const int won = s.at + 11 + s.kLease - by;  // e's is the later one
         s.h.win(won, won + 8, "f", 1, s.order(won));
       }},
      {"AWritersLeaseIsOverBeforeAReaderGetsIt", G1, "was given to another",
       [](Scene& s, int by) {
         s.holds().crash(s.at + 50, "d").ask_shared(s.at + 60, "e", 1);
         s.gets(s.sent() + s.kLease - by);
       }},
      {"AnEntryThatItsReaderDidNotTakeOutExcludesWriters", G1, "was given to another",
       [](Scene& s, int by) {
         two_read(s).ask(s.at + 20, "f", 1).refused(s.at + 20, s.at + 28, "f", 1);
         leaves(s, s.at + 60, "e");
         s.h.before(2).outcome = s.h.before(1).outcome = "unknown";
         s.h.before(2).matched = s.h.before(2).order = 0;
         for (const auto back : {5, 4, 2, 1}) {  // the call, the command and their answers
           if (by > 0) s.h.before(static_cast<std::size_t>(back)).at_ns += 500 * kMs;
         }
         leaves(s, s.at + 100, "d");
         s.h.win(s.at + 120, s.at + 128, "f", 1, s.order(s.at + 120));
       }},
      {"AWriterAndAReaderAreNotHeldAtOnce", G2, "at once",
       [](Scene& s, int by) {
         const int end = s.at + 700;
         two_read(s).yes(s.at + 8, s.at + 600, "d", 1).yes(s.at + 17, end, "e", 1);
         s.h.ask(s.at + 20, "f", 1).win(s.at + 100, s.at + 108, "f", 1, s.order(s.at + 100));
         s.h.yes(end - by, end + 60, "f", 1);
       }},
      {"NoMoreHoldAtOnceThanThereArePermits", G2, "at once",
       [](Scene& s, int by) {
         const int end = s.at + 700;
         s.h.of_permits(2);
         two_read(s).yes(s.at + 8, end, "d", 1).yes(s.at + 17, end + 200, "e", 1);
         reads(s, s.at + 100, "f").yes(end - by, end + 60, "f", 1);
       }},
      {"TheFirstOfASharedEntryDoesNotGiveItAway", G2, "at once",
       the_first_of_a_shared_entry_leaves},
      // G3, G4
      {"AWriterIsNotAcceptedAfterALaterReader", G3, "accepted a write of an earlier holder",
       [](Scene& s, int by) { accesses(s, by <= 0, true, false); }},
      {"AReaderIsNotAcceptedAfterALaterWriter", G3, "accepted a read of an earlier holder",
       [](Scene& s, int by) { accesses(s, true, false, by <= 0); }},
      {"AReaderIsNotRefusedBecauseALaterOneRead", G3, "refused its current holder",
       [](Scene& s, int by) {
         const auto accesses = [&](const char* who, int at, const char* what, bool reads) {
           s.h.write(at, at + 5, who, 1, what, s.order(at)).with([&](Event& e) {
             e.shared = reads;
           });
           if (std::string(what) == "accepted") s.h.before(2).shared = reads;
         };
         two_read(s).yes(s.at + 8, s.at + 300, "d", 1);
         accesses("e", s.at + 50, "accepted", by > 0);
         accesses("d", s.at + 100, "refused", true);
       }},
      {"AReadersTokenIsTheTimeOfItsWrite", G4, "is not the time of the write",
       [](Scene& s, int by) {
         two_read(s).with([&](Event& e) { e.token -= std::clamp(by, 0, 1); });
       }},
      {"AReadersTokenIsNotTheStoredOne", stored_token, "has the stored token",
       [](Scene& s, int by) {
         two_read(s).with([&](Event& e) { e.token -= std::clamp(by, 0, 1); });
       }},
      {"CallsThatShareAnEntryHaveOneToken", G4, "another token than its reader",
       [](Scene& s, int by) {
         reads(s, s.at, "d").ask_shared(s.at + 2, "d", 2).shares(s.at + 6, "d", 2, 1);
         s.h.with([&](Event& e) { e.token += std::max(by, 0); });
       }},
      // G6
      {"ALeaveFreesNoLockThatOthersRead", G6, "took out the reader", a_leave_frees},
      {"ALeaveTakesOutItsOwnerAlone", G6, "took out the reader", a_leave_takes_out},
      {"AnExtensionTakesOutNoOther", G6, "took out the reader",
       [](Scene& s, int by) {
         two_read(s).extend(s.at + 100, s.at + 108, "d", 1, s.order(s.at + 100));
         if (by > 0) lose_entry(last_put(s.h), "e");
       }},
      {"AnExtensionInsertsNoReader", G6, "wrote over another's lock",
       [](Scene& s, int by) {
         two_read(s);
         if (by > 0) leaves(s, s.at + 60, "d");
         s.h.extend(s.at + 100, s.at + 108, "d", 1, s.order(s.at + 100));
       }},
      // G7
      {"AReaderThatComesLaterWaitsBehindTheWriter", G7, "another joined those that had it",
       a_reader_comes_later},
      {"ACallForAPermitWaitsBehindAnother", G7, "another joined those that had it",
       a_call_for_a_permit_comes_later},
      {"AReleaseAdmitsAllReadersThatWait", G7, "admitted others alone",
       [](Scene& s, int by) {
         s.holds();
         waits_to_read(s, s.at + 20, "e");
         waits_to_read(s, s.at + 40, "f");
         std::vector<std::pair<std::string, int>> calls{{"e", 1}, {"f", 1}};
         if (by > 0) calls.pop_back();
         s.h.admits(s.at + 100, s.at + 108, "d", 1, s.order(s.at + 100), calls);
       }},
      {"AReaderBehindAWriterIsAdmittedInCompany", G7, "admitted others alone",
       [](Scene& s, int by) {
         s.holds();
         waits_to_read(s, s.at + 20, "e");
         f_waits(s, s.at + 40);
         s.h.ask_shared(s.at + 60, "d", 2).refused(s.at + 60, s.at + 68, "d", 2);
         s.h.joins_queue(s.at + 64, "d", 2, s.order(s.at + 64), kStands);
         std::vector<std::pair<std::string, int>> calls{{"e", 1}, {"d", 2}};
         if (by > 0) calls.pop_back();
         s.h.admits(s.at + 100, s.at + 108, "d", 1, s.order(s.at + 100), calls);
         leaves(s, s.at + 120, "e");
         if (by > 0) return;
         s.h.pass_on(s.at + 150, s.at + 158, "d", 2, s.at + 160, "f", 1, s.order(s.at + 150));
       }},
      {"AReleaseAdmitsNoReaderBeforeTheWriterThatIsFirst", G7, "which served",
       [](Scene& s, int by) {
         s.holds();
         if (by > 0) f_waits(s, s.at + 20);
         waits_to_read(s, s.at + 40, "e");
         if (by <= 0) f_waits(s, s.at + 60);
         s.h.admits(s.at + 100, s.at + 108, "d", 1, s.order(s.at + 100), {{"e", 1}});
         s.h.pass_on(s.at + 150, s.at + 158, "e", 1, s.at + 160, "f", 1, s.order(s.at + 150));
       }},
      {"AWriterWaitsForOneBatchOfReaders", G7, "which served",
       [](Scene& s, int by) {
         s.holds();
         waits_to_read(s, s.at + 20, "e");
         f_waits(s, s.at + 40);
         s.h.admits(s.at + 100, s.at + 108, "d", 1, s.order(s.at + 100), {{"e", 1}});
         if (by > 0) {
           s.h.ask_shared(s.at + 120, "d", 2).refused(s.at + 120, s.at + 128, "d", 2);
           s.h.joins_queue(s.at + 124, "d", 2, s.order(s.at + 124), kStands);
           s.h.admits(s.at + 150, s.at + 158, "e", 1, s.order(s.at + 150), {{"d", 2}});
         } else {
           s.h.pass_on(s.at + 150, s.at + 158, "e", 1, s.at + 160, "f", 1, s.order(s.at + 150));
         }
       }},
      {"AWriterBehindReadersTakesAPlace", G7, "took no place",
       [](Scene& s, int by) {
         reads(s, s.at, "d");
         const auto seen = last_put(s.h).lock_id;
         s.h.ask_shared(s.at + 3, "f", 2).ended(s.at + 4, "f", 2, "cancelled");
         s.h.ask(s.at + 10, "f", 1);
         for (const int at : {10, 40}) {
           s.h.refused(s.at + at, s.at + at + 8, "f", 1);
           s.h.with([&](Event& e) { e.seen_lock_id = seen, e.order = s.order(s.at + at + 4); });
         }
         if (by <= 0) s.h.joins_queue(s.at + 44, "f", 1, s.order(s.at + 44), kStands);
         leaves(s, s.at + 200, "d");
         s.h.leaves_queue(s.at + 220, "f", 1, s.order(s.at + 220));
         s.h.win(s.at + 220, s.at + 228, "f", 1, s.order(s.at + 220));
       }},
      {"ADeadReaderDelaysAWriterByALeaseOnceTheOthersHaveLeft", G7, "for a dead holder's lock",
       [](Scene& s, int by) {
         const int left = s.at + 300;
         two_read(s).crash(s.at + 50, "d").ask(s.at + 20, "f", 1);
         s.h.refused(s.at + 20, s.at + 28, "f", 1);
         leaves(s, left, "e");
         const int won = left + s.kPassesOn + s.late + by;
         s.h.win(won, won + 8, "f", 1, s.order(won));
         s.due = left;
       },
       kWaiters, "f"},
      // G8, G9
      {"AnEntryThatIsOverGoesWithTheNextJoin", G8, "after its end beside one",
       [](Scene& s, int by) {
         const int over = s.at + 1 + 1'500;
         reads(s, s.at, "d").crash(s.at + 50, "d");
         const auto dead = last_put(s.h).lock_id.substr(last_put(s.h).lock_id.find('|'));
         s.h.ask_shared(s.at + 400, "e", 1);
         s.h.win(over - 900, over - 892, "e", 1, s.order(over - 900));
         const int joined = over + (by > 0 ? 0 : -1);
         s.h.ask_shared(s.at + 500, "f", 1).win(joined, joined + 8, "f", 1, s.order(joined));
         Event& put = last_put(s.h);
         if (by > 0) put.lock_id.insert(put.lock_id.find('|'), dead);
         leaves(s, joined + 20, "e");
         leaves(s, joined + 40, "f");
       }},
      {"AReaderSharesAnEntryOnlySoonAfterItsAttempt", G7, "shares an entry that was asked for",
       [](Scene& s, int by) {
         const int asked = s.at + 101 + by;
         reads(s, s.at, "d").ask_shared(asked, "d", 2).shares(asked, "d", 2, 1);
         s.h.releases_to_others(asked + 5, "d", 1);
         s.h.leave(asked + 10, asked + 18, "d", 2, s.order(asked + 10), 1);
       }},
      {"TheLastOfASharedEntryTakesItOut", G8, "was the last to release",
       [](Scene& s, int by) {
         const int over = s.at + 100, sent = over + s.late + by;
         reads(s, s.at, "d").ask_shared(s.at + 2, "d", 2).shares(s.at + 6, "d", 2, 1);
         s.h.releases_to_others(s.at + 60, "d", 1);
         s.h.leave(over, std::max(over, sent) + 8, "d", 2, s.order(over), 1);
         for (const auto back : {3, 4}) s.h.before(back).at_ns = std::max(over, sent) * kMs;
         s.due = over;
       },
       kWorker, "d"},
      {"AReaderJoinsOthersByOneCommand", G9, "took more than one command",
       [](Scene& s, int by) {
         reads(s, s.at, "d").ask_shared(s.at + 20, "e", 1);
         if (by > 0) s.h.refused(s.at + 20, s.at + 24, "e", 1);
         s.gets(s.at + 26);
       }},
      {"WhoSharesAnEntrySendsNothing", G9, "and sent a command for it",
       [](Scene& s, int by) {
         reads(s, s.at, "d").ask_shared(s.at + 2, "d", 2);
         if (by > 0) s.h.refused(s.at + 3, s.at + 5, "d", 2);
         s.h.shares(s.at + 6, "d", 2, 1);
       }},
      // The rules
      {"AReadersEntryLastsForItsLeaseAndTheMargin", expires_at, "expiry and clock_margin are",
       [](Scene& s, int by) {
         two_read(s);
         if (by <= 0) return;
         move_date(last_put(s.h), -500);
         last_put(s.h).expires_at_ms = last_put(s.h).expires_at_ms - 10;
       }},
      {"AJoinMovesExpiresAt", expires_at, "before the last of its readers",
       [](Scene& s, int by) {
         two_read(s);
         last_put(s.h).expires_at_ms -= by > 0 ? 10 : 0;
       }},
      {"AReadersExtensionMovesExpiresAt", expires_at, "before the last of its readers",
       [](Scene& s, int by) {
         two_read(s).extend(s.at + 100, s.at + 108, "d", 1, s.order(s.at + 100));
         last_put(s.h).expires_at_ms -= by > 0 ? 90 : 0;
       }},
      {"ARetryKeepsSince", expires_at, "changes acquiredAt",
       [](Scene& s, int by) {
         a_retry(s);
         if (by > 0) move_date(last_put(s.h), 19, true);
       }},
      {"AReadersExtensionChangesItsText", unique_lock_id, "that stood there before",
       [](Scene& s, int by) {
         two_read(s);
         const auto before = last_put(s.h).lock_id;
         s.h.extend(s.at + 100, s.at + 108, "d", 1, s.order(s.at + 100));
         if (by > 0) last_put(s.h).lock_id = before;
       }},
      {"NoLockIdOfAReaderComesAgain", unique_lock_id, "that stood there before",
       [](Scene& s, int by) {
         reads(s, s.at, "d");
         const auto before = last_put(s.h).lock_id;
         s.h.extend(s.at + 100, s.at + 108, "d", 1, s.order(s.at + 100));
         s.h.extend(s.at + 200, s.at + 208, "d", 1, s.order(s.at + 200));
         if (by > 0) last_put(s.h).lock_id = before;
       }},
      {"ReadersArePresumedDeadAfterTheLongestLease", presumed_dead, "too early",
       [](Scene& s, int by) {
         reads(s, s.at, "d").before(5).expiry_ms = 2'000;
         reads(s, s.at + 10, "e").ask(s.at + 20, "f", 1);
         const auto seen = last_put(s.h).lock_id;
         s.h.refused(s.at + 20, s.at + 28, "f", 1).with([&](Event& e) { e.seen_lock_id = seen; });
         const int won = s.at + 28 + 2'000 - by;
         s.h.win(won, won + 8, "f", 1, s.order(won)).before(4).observed_lock_id = seen;
       }},
      {"TheFirstOfASharedEntryDoesNotEndItsOwner", ended_owner, "whose pass-on was sent before",
       the_first_of_a_shared_entry_leaves},
      {"ALeaveWritesOverNoOtherReader", compare_and_set, "a reader's entry went",
       a_leave_takes_out},
      {"NoLeaveFreesALockThatOthersRead", compare_and_set, "a reader's entry went",
       a_leave_frees},
      {"AReaderThatLeavesTakesNoOtherAlong", refinement, "neither left nor was over",
       a_leave_frees},
      {"NoReaderJoinsWhileAWriterWaits", refinement, "although another waits",
       a_reader_comes_later},
      {"ARetryAddsNoSecondEntry", refinement, "stands in it twice",
       [](Scene& s, int by) {
         a_retry(s);
         Event& put = last_put(s.h);
         if (by > 0) put.lock_id += put.lock_id.substr(put.lock_id.find('|'));
       }},
      {"NoCallForAPermitPassesAnother", refinement, "although another waits",
       a_call_for_a_permit_comes_later},
      {"NoTwoPermitsHaveOneNumber", refinement, "two permits have one number",
       [](Scene& s, int by) {
         two_have_permits(s);
         auto& text = last_put(s.h).lock_id;
         const auto number = text.rfind('|') + 1 + std::size("1700000000000.1700000000000") - 1;
         if (by > 0) text.replace(number, 4, "0000");
       }},
      {"NoReaderIsAdmittedThatDoesNotWait", refinement, "its command was answered as not executed",
       [](Scene& s, int by) {
         s.holds();
         waits_to_read(s, s.at + 20, "e");
         waits_to_read(s, s.at + 40, "f");
         if (by > 0) s.h.leaves_queue(s.at + 60, "f", 1, s.order(s.at + 60));
         s.h.admits(s.at + 100, s.at + 108, "d", 1, s.order(s.at + 100), {{"e", 1}, {"f", 1}});
       }},
  };
  return all;
}

/// By every check, and by the steps of the abstract lock and of the diagrams.
TEST(SoundReaders, AreFoundSound) {
  std::map<std::string, std::int64_t> counts;
  for (std::uint32_t seed = 0; seed < 300 && !HasFailure(); ++seed) {
    Draws draw(seed);
    HistoryBuilder h;
    SoundHistories sound(draw);
    if (sound.is_exact()) h.exact();
    sound.play_readers(h);
    const auto history = h.end(30'000);
    const auto d = digest(history);
    Acceptance beside;
    auto all = judge(d, beside);
    all.insert(all.end(), beside.steps.begin(), beside.steps.end());
    for (const Finding& f : all) {
      const bool holds = f.verdict == Verdict::holds || f.never_tested();
      EXPECT_TRUE(holds) << "seed " << seed << ", " << to_string(f.check) << ": " << f.why << '\n'
                         << lines_of(history);
      for (const auto& [name, count] : f.counts) counts[name] += count;
    }
  }
  for (const char* seen : {"batches", "readers_left", "passed_on", "takeovers", "extensions"}) {
    EXPECT_GT(counts[seen], 50) << seen;
  }
}

/// It keeps its owner, who may have the lock by that attempt; a place needs another one.
TEST(PlacesBehindReaders, AreNotTakenByACallWithAnUnansweredAttempt) {
  for (const bool answered : {true, false}) {
    Draws draw(1);
    HistoryBuilder h;
    h.start(1, "d").start(2, "f").exact();
    Scene s{draw, h, 0, 0, 100};
    reads(s, s.at, "d");
    const auto seen = last_put(h).lock_id;
    h.ask_shared(103, "f", 2).ended(104, "f", 2, "cancelled").ask(110, "f", 1);
    h.refused(110, 118, "f", 1);
    if (!answered) h.unanswered();
    for (const int at : {130, 160}) {
      h.refused(at, at + 8, "f", 1);
      h.with([&](Event& e) { e.seen_lock_id = seen, e.order = s.order(at + 4); });
    }
    const auto f = judged(h.end(1'000), Check::G7);
    EXPECT_EQ(f.why.find("took no place") != std::string::npos, answered) << f.why;
  }
}

INSTANTIATE_TEST_SUITE_P(Readers, KeptPromises, testing::ValuesIn(reader_promises()), promise_name);

}  // namespace
}  // namespace leasehold::model

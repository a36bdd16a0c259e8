#include <gtest/gtest.h>

#include "model/guarantees/checker_stories.hpp"
#include "model/workers/promises.hpp"
#include "model/workers/worker_told.hpp"

namespace leasehold::model {
namespace {

Finding found(const HistoryBuilder& told, Check check, const Promises& promises = mapped()) {
  return find(judge_worker(told.end(20'000), promises), check);
}

std::string violation(const HistoryBuilder& told, Check check) {
  const auto f = found(told, check);
  return f.verdict == Verdict::violated ? f.why : "";
}

/// It asks at 10, has the document from 15 or so on, and a lease of 1,000 ms.
HistoryBuilder a_has(int expires = 0) {
  return workers().got(10, 20, "a", 1, 1).put(12, 18, "A", expires);
}
HistoryBuilder a_then_b(int b_writes, int expires = 0) {
  return a_has(expires)
      .put(b_writes - 3, b_writes, "B", b_writes + 1'000)
      .got(b_writes - 10, b_writes + 1, "b", 1, 2);
}

TEST(WorkerDocuments, ADocumentThatIsReplacedBeforeALeaseAfterTheQuestionIsTooEarly) {
  EXPECT_EQ(violation(a_then_b(900), Check::G1),
            "lock 'x' was given to another at least 110.0 ms before the lease of a ran out");
  EXPECT_EQ(violation(a_then_b(1'010), Check::G1), "");
  EXPECT_EQ(violation(a_then_b(1'100, 30'000), Check::G1), "") << "whatever its date says";
  EXPECT_EQ(found(a_then_b(1'010), Check::G1).counts.at("takeovers"), 1);
  EXPECT_EQ(violation(a_then_b(900), Check::G6), "") << "an acquire does that";
}

TEST(WorkerDocuments, ALeaseThatWasExtendedLastsUntilItsDate) {
  const auto told = [](int b_writes) {
    return a_has(1'018)
        .put(700, 705, "A", 1'700)
        .put(b_writes - 3, b_writes, "B", b_writes + 1'000)
        .got(b_writes - 10, b_writes + 1, "b", 1, 2);
  };
  EXPECT_NE(violation(told(1'500), Check::G1), "");
  EXPECT_EQ(violation(told(1'700), Check::G1), "");
  EXPECT_EQ(violation(told(1'500).fault(1, "clock-jump"), Check::G1), "")
      << "nobody knows whose date that is";
  EXPECT_EQ(violation(told(1'500).fault(1, "wall-clock"), Check::G1), "");
  EXPECT_NE(violation(told(900).fault(1, "wall-clock"), Check::G1), "")
      << "by our own clock it is too early, too";
}

/// The oplog says between which two moments a document went: one of them may be before the grant.
TEST(WorkerDocuments, AnEndThatNothingCanBeSaidOfIsNotCounted) {
  const auto checked = [](const HistoryBuilder& told) { return found(told, Check::G6).checked; };
  EXPECT_EQ(checked(a_has().freed(500, 510)), 1);
  EXPECT_EQ(checked(a_has().freed(19, 510)), 0);
  EXPECT_EQ(checked(a_has().released(400, 520, "a", 1).freed(450, 510)), 1);
  EXPECT_EQ(checked(a_has().released(400, 520, "a", 1).freed(19, 510)), 0);
  EXPECT_EQ(checked(a_has().fault(15, "isolate").freed(500, 510)), 0);
}

TEST(WorkerDocuments, ALockThatItsHolderMayHaveGivenUpWasNotTaken) {
  EXPECT_EQ(violation(a_then_b(900).released(899, 950, "a", 1), Check::G1), "");
  EXPECT_EQ(violation(a_then_b(900).lost(880, 910, "a", 1), Check::G1), "");
  EXPECT_EQ(violation(a_then_b(900).no(890, 890, "a", 1), Check::G1), "");
  EXPECT_EQ(violation(a_then_b(900).of(Kind::protocol, 600, "a"), Check::G1), "");
  EXPECT_EQ(violation(a_then_b(900).fault(15, "isolate"), Check::G1), "")
      << "it may clean up what it gave up before";
  EXPECT_NE(violation(a_then_b(900).released(901, 950, "a", 1), Check::G1), "");
  EXPECT_NE(violation(a_then_b(900).crash(600, "a"), Check::G1), "")
      << "a dead holder's lease lasts as long";
}

TEST(WorkerDocuments, ADocumentThatSomebodyElseEndsIsFound) {
  const auto told = [](int from, int gone) {
    return a_has(1'018)
        .released(500, 600, "a", 1, "unknown")
        .put(1'100, 1'110, "B", 2'100)
        .got(1'090, 1'120, "b", 1, 2)
        .freed(from, gone);
  };
  const auto late = told(1'300, 1'310);
  EXPECT_EQ(violation(late, Check::G6),
            "lock 'x': the document of b was freed 790.0 ms before its lease ran out, and not by "
            "its holder");
  EXPECT_EQ(violation(HistoryBuilder(late).released(1'305, 1'320, "b", 1), Check::G6), "");
  EXPECT_EQ(violation(told(2'080, 2'100), Check::G6), "") << "the TTL monitor may have come";
  EXPECT_EQ(violation(told(1'115, 1'310), Check::G6), "")
      << "it may have been on its way to the grant";
  EXPECT_NE(violation(HistoryBuilder(late).released(1'290, 1'320, "a", 2), Check::G6), "");
}

TEST(WorkerDocuments, NamesTheProcessThatWasReleasing) {
  const auto told = a_has(1'018)
                        .put(1'100, 1'110, "B", 2'100)
                        .got(1'090, 1'120, "b", 1, 2)
                        .released(1'290, 1'320, "a", 1)
                        .freed(1'300, 1'310);
  EXPECT_EQ(violation(told, Check::G6),
            "lock 'x': the document of b was freed 790.0 ms before its lease ran out, and not by "
            "its holder; it was being released by a");
}

TEST(WorkerDocuments, AnExtensionOverAnothersDocumentIsNoAcquire) {
  const auto told = a_then_b(1'100).put(1'400, 1'410, "A", 2'400);
  EXPECT_EQ(violation(told, Check::G6),
            "lock 'x': the document of b was overwritten 690.0 ms before its lease ran out, and "
            "not by its holder");
  EXPECT_EQ(violation(told, Check::G1), "");
}

TEST(WorkerDocuments, AnExpiryInThePastAfterAClockChangeIsNoRelease) {
  const auto told = a_has(1'018).freed(400, 410, "A");
  EXPECT_NE(violation(told, Check::G6), "");
  EXPECT_EQ(violation(HistoryBuilder(told).fault(300, "wall-clock"), Check::G6), "");
}

TEST(WorkerDocuments, AWriteWithTwoPossibleWritersIsAttributedToNeither) {
  const auto told = a_has().asks(11, "c", 1).ended(400, "c", 1, "timed_out");
  EXPECT_NE(violation(HistoryBuilder(told).freed(500, 510), Check::G6), "")
      << "who was granted it has no other write";
  EXPECT_EQ(violation(a_has().got(11, 21, "c", 1, 2).freed(500, 510), Check::G6), "");
}

/// A lock that names its machine: what one holder extends is what another takes.
TEST(WorkerDocuments, AnOwnerThatIsUsedForManyHoldingsIsNobodys) {
  const auto told = a_has(1'018)
                        .crash(100, "a")
                        .got(1'050, 1'120, "b", 1, 2)
                        .put(1'100, 1'110, "A", 2'100)
                        .freed(1'500, 1'510);
  EXPECT_EQ(violation(told, Check::G6), "");
  EXPECT_EQ(found(told, Check::G6).verdict, Verdict::unknown);
}

TEST(WorkerDocuments, ATokenThatFallsInTheOplogsOrderIsFound) {
  // By their questions and answers alone either may have been first.
  const auto told = [](int a_token) {
    return workers()
        .got(10, 300, "a", 1, a_token)
        .released(310, 320, "a", 1)
        .got(11, 420, "b", 1, 7)
        .put(200, 210, "A", 1'210)
        .freed(315, 318)
        .put(400, 410, "B", 1'410);
  };
  EXPECT_EQ(violation(told(8), Check::G4), "lock 'x': token 7 after 8");
  EXPECT_EQ(violation(told(6), Check::G4), "");
  auto without = mapped();
  without.document.reset();
  EXPECT_NE(found(told(8), Check::G4, without).verdict, Verdict::violated);
}

TEST(WorkerDocuments, ADeadHoldersDocumentThatLastsLongerThanPromisedIsFound) {
  const auto told = [](int expires) { return a_has(expires).crash(100, "a"); };
  EXPECT_EQ(violation(told(1'500), Check::G8),
            "lock 'x': the document of a, which died, is in force 394.0 ms longer than promised");
  EXPECT_EQ(violation(told(1'018), Check::G8), "");
  EXPECT_EQ(found(told(1'018), Check::G8).verdict, Verdict::holds);
  EXPECT_EQ(violation(told(1'500).freed(900, 910), Check::G8), "") << "it was taken away";
  EXPECT_EQ(violation(told(1'500).fault(1, "clock-drift"), Check::G8), "");
  EXPECT_EQ(violation(a_has(1'500), Check::G8), "") << "it lives";
  EXPECT_NE(violation(told(1'018).put(150, 160, "A", 1'900), Check::G8), "")
      << "somebody extends it in its place";
  EXPECT_EQ(violation(told(1'018).put(150, 160, "A", 1'900).fault(110, "isolate"), Check::G8),
            "")
      << "it was still on its way";
}

TEST(WorkerDocuments, AnOplogThatWasNotReadToItsEndProvesNothing) {
  const auto told = a_then_b(1'010).unread(2'000);
  EXPECT_EQ(found(told, Check::G1).verdict, Verdict::unknown);
}

TEST(WorkerDocuments, ListsWhatIsNotChecked) {
  auto promises = mapped();
  EXPECT_EQ(left_out(promises), std::vector<std::string>{"G9 not checked"});
  promises.document->expires.clear();
  EXPECT_EQ(left_out(promises), (std::vector<std::string>{
                                    "G8 not checked (document.expires is missing)",
                                    "G9 not checked"}));
  promises.document.reset();
  EXPECT_EQ(left_out(promises), (std::vector<std::string>{"G1 not checked", "G6 not checked",
                                                          "G8 not checked", "G9 not checked"}));
}

TEST(Promises, AreReadWithWhatIsUsual) {
  const auto p = promises_from_json(
      R"({"name":"ShedLock 6","language":"Java","tokens":"none","tells_loss":false,
          "waits":"polls","passes_on_after":"lease","clock_margin_ms":250,
          "document":{"collection":"shedLock","id":"_id","owner":"lockedBy"}})");
  EXPECT_EQ(p.name, "ShedLock 6");
  EXPECT_EQ(p.waits, Promises::Waits::polls);
  EXPECT_EQ(p.passes_on_leases, 1);
  EXPECT_EQ(p.clock_margin_ms, 250);
  EXPECT_EQ(p.document->owner, "lockedBy");
  EXPECT_EQ(promises_from_json(to_json(p)), p);
}

TEST(Promises, BadOnesAreRefusedInASentence) {
  const auto error = [](const char* json) -> std::string {
    try {
      (void)promises_from_json(json);
    } catch (const std::runtime_error& refused) {
      return refused.what();
    }
    return "";
  };
  EXPECT_EQ(error("[]"), "the promises are no JSON object");
  EXPECT_EQ(error("{}"), "the promises: 'name' is missing; it must be there");
  EXPECT_EQ(error(R"({"name":"x","tokens":"some"})"),
            R"(tokens is "some": it must be one of 'none', 'rising')");
  EXPECT_EQ(error(R"({"name":"x","tells_loss":"yes"})"),
            R"(tells_loss is "yes": it must be true or false)");
  EXPECT_EQ(error(R"({"name":"x","passes_on_after":0})"),
            "passes_on_after is 0: it must be 'lease', 'never', or how many leases, from 1 to 100");
  EXPECT_EQ(error(R"({"name":"x","clock_margin_ms":0})"),
            "clock_margin_ms is 0: it must be a number from 1 to 3600000");
  EXPECT_EQ(error(R"({"name":"x","colour":"red"})")
                .rfind("the promises: 'colour' is unknown; there may be name, ", 0),
            0);
  EXPECT_EQ(error(R"({"name":"x","document":{"collection":"c","id":"_id"}})"),
            "document: 'owner' is missing; it must be there");
}

}  // namespace
}  // namespace leasehold::model

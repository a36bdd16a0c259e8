#include "sim/live/oplog/oplog.hpp"

#include <gtest/gtest.h>

#include <leasehold/fencing_token.hpp>

namespace leasehold::sim::live {
namespace {

/// Asked at this time, and answered a tick later: the primary by this election, or another member.
MemberAnswer primary(std::int64_t at, std::int64_t written, std::int64_t committed,
                     std::int64_t term = 1) {
  return {at, at + 1, std::to_string(term), {term, written}, {term, committed}};
}
MemberAnswer another(std::int64_t at) { return {at, at + 1, "", {}, {}}; }

void expect_spans(const CommitPoint& point, const std::vector<CommitPoint::Span>& expected) {
  EXPECT_EQ(point.spans(1'000), expected);
}

TEST(CommitPoint, AWriteThatNoMajorityHasIsASpanUntilOneHasItAndOneOnItsWayIsNone) {
  CommitPoint point;
  for (int i = 0; i < 10; ++i) {
    point.hear(primary(i, 90 + i, 89 + i));
    point.hear(another(i));
  }
  EXPECT_TRUE(point.follows());
  expect_spans(point, {});
  point.hear(primary(10, 100, 100));
  for (const int at : {20, 30, 40, 50}) point.hear(primary(at, 100 + at, 100));
  EXPECT_FALSE(point.follows());
  expect_spans(point, {{20, 1'000}});
  point.hear(primary(60, 200, 150));
  EXPECT_TRUE(point.follows());
  expect_spans(point, {{20, 61}});
}

TEST(CommitPoint, AMemberThatIsAskedLateHasShownNothing) {
  CommitPoint point;
  point.hear(primary(10, 100, 99));
  // It did not run in between, and heard the others first.
  for (const int at : {500, 501}) point.hear(another(at));
  point.hear(primary(502, 300, 299));
  expect_spans(point, {});
}

TEST(CommitPoint, WithoutAPrimaryItDoesNotFollow) {
  CommitPoint point;
  for (const int at : {10, 20, 30, 40, 50, 60, 70}) point.hear(another(at));
  expect_spans(point, {});  // there was none to lose
  point.hear(primary(100, 100, 100));
  for (const int at : {110, 120, 130, 140, 150, 160}) point.hear(another(at));
  expect_spans(point, {{100, 1'000}});
  // What the old one wrote is not a majority's by the new one's office alone.
  point.hear({200, 201, "2", {2, 90}, {1, 100}});
  expect_spans(point, {{100, 201}});
  for (const int at : {210, 220, 230}) point.hear({at, at + 1, "2", {2, 91}, {1, 100}});
  EXPECT_FALSE(point.follows());
}

TEST(CommitPoint, AWriteThatWasRolledBackIsNotWaitedFor) {
  CommitPoint point;
  for (const int at : {10, 20, 30, 40}) point.hear(primary(at, 500, 100));
  point.hear(primary(50, 200, 200, 2));
  expect_spans(point, {{10, 51}});
}

TEST(CommitPoint, AnOldPrimaryDoesNotSpeakForTheNewOne) {
  CommitPoint point;
  point.hear(primary(10, 100, 100, 2));
  for (const int at : {20, 30, 40, 50, 60}) point.hear(primary(at, 500, 50, 1));
  expect_spans(point, {});
  point.hear(primary(70, 100, 100, 2));
  expect_spans(point, {});
}

/// The shape of a real primary's answer, the rest of it left out.
Json hello_of_primary() {
  return Json::parse(R"(
      {"isWritablePrimary": true, "electionId": {"$oid": "7fffffff0000000000000003"},
       "lastWrite": {
         "opTime": {"ts": {"$timestamp": {"t": 1700000007, "i": 2}}, "t": 3},
         "majorityOpTime": {"ts": {"$timestamp": {"t": 1700000006, "i": 9}}, "t": 2}}})");
}

TEST(MemberAnswers, APrimarySaysWhatItWroteAndWhatAMajorityHas) {
  const auto answer = answer_in(hello_of_primary());
  EXPECT_EQ(answer.election, "7fffffff0000000000000003");
  const auto at = [](std::uint32_t seconds, std::uint32_t increment) {
    return FencingToken::from_timestamp(seconds, increment).value();
  };
  EXPECT_EQ(answer.written, (OpTime{3, at(1'700'000'007, 2)}));
  EXPECT_EQ(answer.committed, (OpTime{2, at(1'700'000'006, 9)}));
  EXPECT_LT(answer.committed, answer.written);
}

TEST(MemberAnswers, OneThatIsNoPrimaryOrLacksAFieldYetSaysNothingOfWrites) {
  auto hello = hello_of_primary();
  hello["isWritablePrimary"] = false;
  EXPECT_EQ(answer_in(hello).election, "");
  for (const char* missing : {"/lastWrite/majorityOpTime", "/lastWrite/opTime", "/lastWrite",
                              "/electionId"}) {
    const auto lacks =
        hello_of_primary().patch(Json::array({{{"op", "remove"}, {"path", missing}}}));
    EXPECT_THROW((void)answer_in(lacks), std::exception) << missing;
  }
}

using model::Event;
using model::Kind;

Event sent(std::int64_t command, const char* verb, const char* lock_id) {
  return {.kind = Kind::send, .process = "p", .command = command, .owner = "guid",
          .lock_id = lock_id, .verb = verb};
}
Event reply(std::int64_t command, const char* outcome, std::int64_t order) {
  return {.kind = Kind::reply, .process = "p", .command = command, .order = order,
          .outcome = outcome, .matched = order > 0 ? 1 : 0};
}
Event put(std::int64_t order, const char* lock_id) {
  return {.kind = Kind::put, .lock_id = lock_id, .order = order};
}

TEST(NamedWrites, AreTheAcknowledgedOnesByTimeAndTheOthersInTheirOrder) {
  model::History history{sent(1, "acquire", "guid.1.1"),
                         reply(1, "done", 10),
                         sent(2, "extend", "guid.1.2"),
                         reply(2, "unknown", 0),
                         sent(3, "extend", "guid.1.3"),
                         reply(3, "done", 30),
                         put(10, "guid"),
                         put(20, "guid"),
                         put(30, "guid"),
                         put(40, "somebody")};
  attribute_writes(history);
  EXPECT_EQ(history[6].lock_id, "guid.1.1");
  EXPECT_EQ(history[7].lock_id, "guid.1.2");
  EXPECT_EQ(history[8].lock_id, "guid.1.3");
  EXPECT_EQ(history[9].lock_id, "somebody");
}

/// Entries of the oplog as a server of version 6 or 7 shows them, in relaxed extended JSON.
Json entry(int second, const std::string& rest) {
  const auto s = std::to_string(second), t = std::to_string(FencingToken::kEpochSeconds + second);
  return Json::parse(R"({"ts":{"$timestamp":{"t":)" + t + R"(,"i":1}},"wall":{"$date":)" +
                     R"("2026-11-24T20:00:)" + s + R"(.5Z"},)" + rest + "}");
}
Json date(const std::string& second) {
  return {{"$date", "2026-11-24T20:00:" + second + "Z"}};
}
Json inserted(int second, Json document) {
  return entry(second, R"("op":"i","ns":"db.locks","o":)" + document.dump());
}
Json changed(int second, const std::string& diff) {
  return entry(second, R"("op":"u","o":{"$v":2,"diff":)" + diff + R"(},"o2":{"_id":"lock-0"})");
}
Json removed(int second) { return entry(second, R"("op":"d","o":{"_id":"lock-0"})"); }

class Documents : public testing::Test {
 protected:
  /// "put A", "gone" or "".
  std::string read(const Json& one) {
    const auto events = truth_.read(one, one);
    if (events.empty()) return "";
    last_ = events.back();
    EXPECT_EQ(last_.name, "lock-0");
    return last_.kind == Kind::put ? "put " + last_.owner : std::string(to_string(last_.kind));
  }

  DocumentTruth truth_{{"locks", "_id", "lockedBy", "until"}};
  Event last_;
};

TEST_F(Documents, ALifeOfALockIsItsWritesByTheMappedFields) {
  EXPECT_EQ(read(inserted(10, {{"_id", "lock-0"}, {"lockedBy", "A"}, {"until", date("20.250")}})),
            "put A");
  EXPECT_EQ(last_.expires_at_ms - last_.wall_ms, 9'750);
  EXPECT_EQ(last_.order, std::int64_t{10} << 32 | 1);
  EXPECT_EQ(read(changed(12, R"({"u":{"until":{"$date":"2026-11-24T20:00:30Z"}}})")), "put A");
  EXPECT_EQ(read(changed(13, R"({"i":{"visits":1}})")), "") << "of no field that is mapped";
  EXPECT_EQ(read(changed(31, R"({"u":{"lockedBy":"B","until":{"$date":"2026-11-24T20:00:41Z"}}})")),
            "put B");
  EXPECT_EQ(read(removed(32)), "gone");
  EXPECT_EQ(last_.owner, "");
  EXPECT_EQ(read(removed(33)), "") << "it was gone";
}

TEST_F(Documents, ALockIsFreeOnceItNamesNobodyOrItsDateHasPassed) {
  EXPECT_EQ(read(inserted(10, {{"_id", "lock-0"}, {"until", date("00")}})), "");
  const auto taken = R"({"u":{"lockedBy":"A","until":{"$date":"2026-11-24T20:00:20Z"}}})";
  EXPECT_EQ(read(changed(11, taken)), "put A");
  EXPECT_EQ(read(changed(12, R"({"u":{"lockedBy":null}})")), "gone");
  EXPECT_EQ(read(changed(13, R"({"d":{"lockedBy":false}})")), "");
  EXPECT_EQ(read(changed(14, taken)), "put A");
  EXPECT_EQ(read(changed(15, R"({"u":{"until":{"$date":"2026-11-24T20:00:15.500Z"}}})")), "gone");
  EXPECT_EQ(last_.owner, "A") << "as ShedLock does";
  EXPECT_EQ(read(removed(16)), "");
}

TEST_F(Documents, AReplacementIsAWriteAndATransactionsTimeIsThatOfAllItsWrites) {
  const auto whole = entry(10, R"("op":"u","o2":{"_id":"lock-0"},)"
                               R"("o":{"_id":"lock-0","lockedBy":"A"})");
  EXPECT_EQ(read(whole), "put A");
  EXPECT_EQ(last_.expires_at_ms, 0) << "no date";
  const auto inner = Json::parse(R"({"op":"u","o2":{"_id":"lock-0"},)"
                                 R"("o":{"$v":2,"diff":{"u":{"lockedBy":"B"}}}})");
  const auto put = truth_.read(inner, entry(12, R"("op":"c")"));
  ASSERT_EQ(put.size(), 1u);
  EXPECT_EQ(put[0].order, std::int64_t{12} << 32 | 1);
}

/// As MongoDB before 5.0 writes it: the document stays, and what is not named in it.
TEST_F(Documents, OperatorsOfFormatOneChangeWhatTheyName) {
  const auto operators = [](int second, const std::string& o) {
    return entry(second, R"("op":"u","o2":{"_id":"lock-0"},"o":)" + o);
  };
  EXPECT_EQ(read(inserted(10, {{"_id", "lock-0"}, {"lockedBy", "A"}, {"until", date("20")}})),
            "put A");
  EXPECT_EQ(read(operators(11, R"({"$v":1,"$set":{"until":{"$date":"2026-11-24T20:00:30Z"}}})")),
            "put A");
  EXPECT_EQ(read(operators(12, R"({"$v":1,"$set":{"deep.list.0":"x"}})")), "");
  EXPECT_EQ(read(operators(13, R"({"$v":1,"$unset":{"lockedBy":true}})")), "gone");
  EXPECT_THROW((void)read(operators(14, R"({"$v":1,"$push":{"list":1}})")), std::runtime_error);
}

TEST(DocumentsOfOtherForms, FieldsMayLieDeepAndBeNoText) {
  DocumentTruth truth({"locks", "key", "lock.by", "lock.until"});
  const auto first = inserted(
      10, {{"_id", 7},
           {"key", "lock-0"},
           {"lock", {{"by", {{"$oid", "65a"}}}, {"until", {{"$date", {{"$numberLong", "9"}}}}}}}});
  EXPECT_TRUE(truth.read(first, first).empty()) << "it has expired";
  const auto second = entry(11, R"("op":"u","o2":{"_id":7},"o":{"diff":{"slock":{"u":)"
                                R"({"until":{"$numberLong":"4000000000000"}},"i":{"n":1}}}})");
  const auto put = truth.read(second, second);
  ASSERT_EQ(put.size(), 1u);
  EXPECT_EQ(put[0].name, "lock-0");
  EXPECT_EQ(put[0].owner, R"({"$oid":"65a"})");
  EXPECT_EQ(put[0].expires_at_ms, 4'000'000'000'000);
}

TEST(DocumentsOfOurs, AreReadWithTheirQueuesAndThoseOfPublishedLocksByTheirOwnFields) {
  DocumentTruth truth;
  const auto read = [&truth](const Json& one) {
    std::string said;
    for (const Event& e : truth.read(one, one)) {
      said += std::string(to_string(e.kind)) + " " + e.name + " " + e.lock_id + " " +
              std::to_string(e.expires_at_ms % 60'000 / 1'000) + "; ";
    }
    return said;
  };
  const auto ours = inserted(10, {{"_id", "lock-0"},
                                  {"lockId", "a.1.1~7000.1.2.b.1.1"},
                                  {"expiresAt", date("20")},
                                  {"fencingToken", 5}});
  EXPECT_EQ(read(ours), "place lock-0 b.1.1 7; put lock-0 a.1.1 20; ");
  EXPECT_EQ(read(changed(11, R"({"u":{"lockId":"a.1.1"}})")), "place lock-0 b.1.1 7; ");
  const auto freed = R"({"u":{"lockId":"","expiresAt":{"$date":"1970-01-01T00:00:00Z"}}})";
  EXPECT_EQ(read(changed(12, freed)), "gone lock-0  0; ");
  EXPECT_EQ(read(removed(13)), "") << "it was free";
  EXPECT_EQ(read(inserted(14, {{"_id", 7}, {"resourceId", "lock-1"}})), "put lock-1  0; ");
  EXPECT_EQ(read(inserted(15, {{"_id", "lock-0"}, {"LockId", nullptr}})), "gone lock-0  0; ");
  const auto all = truth.drop(entry(16, R"("op":"c","o":{"drop":"locks"})"));
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].kind, Kind::gone);
  EXPECT_EQ(all[0].name, "lock-0");
  EXPECT_EQ(all[1].name, "lock-1");
}

TEST(DocumentsOfOtherForms, DifferencesOfListsAreFollowed) {
  std::map<std::string, Json> documents{{"x", {{"_id", "x"}, {"queue", {"A", {{"n", 1}}, "C"}}}}};
  const auto update = entry(11, R"("op":"u","o2":{"_id":"x"},"o":{"$v":2,"diff":{"squeue":)"
                                R"({"a":true,"l":2,"u0":"B","s1":{"u":{"n":2}}}}})");
  const Json* document = apply(documents, update, "x");
  EXPECT_EQ((*document)["queue"], Json::parse(R"(["B",{"n":2}])"));
}

}  // namespace
}  // namespace leasehold::sim::live

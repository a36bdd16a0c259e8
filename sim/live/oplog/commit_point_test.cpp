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

TEST(CommitPoint, WritesOnTheirWayAreNoSpan) {
  CommitPoint point;
  for (int i = 0; i < 50; ++i) {
    point.hear(primary(10 * i, 100 + i, 99 + i));
    point.hear(another(10 * i + 1));
    point.hear(another(10 * i + 2));
  }
  EXPECT_TRUE(point.follows());
  expect_spans(point, {});
}

TEST(CommitPoint, AWriteThatNoMajorityHasIsASpanUntilOneHasIt) {
  CommitPoint point;
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

TEST(MemberAnswers, ASecondarySaysNothingOfWrites) {
  auto hello = hello_of_primary();
  hello["isWritablePrimary"] = false;
  EXPECT_EQ(answer_in(hello).election, "");
}

TEST(MemberAnswers, APrimaryThatDoesNotKnowYetWhatAMajorityHasGivesNoAnswer) {
  for (const char* missing : {"majorityOpTime", "opTime"}) {
    auto hello = hello_of_primary();
    hello["lastWrite"].erase(missing);
    EXPECT_THROW((void)answer_in(hello), std::exception) << missing;
  }
  for (const char* missing : {"lastWrite", "electionId"}) {
    auto hello = hello_of_primary();
    hello.erase(missing);
    EXPECT_THROW((void)answer_in(hello), std::exception) << missing;
  }
}

}  // namespace
}  // namespace leasehold::sim::live

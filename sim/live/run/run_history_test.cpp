#include "sim/live/run/harness.hpp"

#include <gtest/gtest.h>

namespace leasehold::sim::live {
namespace {

using model::Event;
using model::Kind;

Event truth(Kind kind, std::int64_t order) {
  Event e;
  e.kind = kind;
  e.name = "lock-0";
  e.order = order;
  return e;
}

TEST(RunHistory, ADocumentIsLeftIfItsLastChangeIsNoDeletion) {
  EXPECT_FALSE(documents_left({}));
  EXPECT_TRUE(documents_left({truth(Kind::put, 1)}));
  EXPECT_FALSE(documents_left({truth(Kind::put, 1), truth(Kind::gone, 2)}));
  // Read again later: the oplog's order counts, not the history's.
  EXPECT_FALSE(documents_left({truth(Kind::gone, 2), truth(Kind::put, 1)}));
}

TEST(RunHistory, TheEndComesAfterWhatWasReadLate) {
  model::History history(3);
  history[0].at_ns = 10;
  history[1].kind = Kind::finish;
  history[1].at_ns = 20;
  history[2].at_ns = 30;
  put_end_last(history);
  EXPECT_EQ(history.back().kind, Kind::finish);
  EXPECT_EQ(history.back().at_ns, 30);
}

TEST(RunHistory, AStallOfAMemberThatWeKilledIsOurs) {
  Event begins, ends;
  begins.kind = ends.kind = Kind::fault;
  begins.fault = ends.fault = "kill-member";
  begins.victim = ends.victim = "member-1";
  begins.begins = ends.ends = true;
  begins.at_ns = 100;
  ends.at_ns = 200;
  const auto away = members_away({begins, ends}, 1'000);
  Event stall;
  stall.kind = Kind::stall;
  stall.victim = "member-1";
  stall.from_ns = 150;
  stall.at_ns = 250;
  EXPECT_TRUE(is_ours(stall, away));
  stall.victim = "member-2";
  EXPECT_FALSE(is_ours(stall, away));
  stall.victim = "machine";
  EXPECT_FALSE(is_ours(stall, {{"", 0, 1'000}}));
  stall.victim = "member-1";
  stall.from_ns = 201;
  EXPECT_FALSE(is_ours(stall, away));
}

}  // namespace
}  // namespace leasehold::sim::live

#include "sim/live/commit_point.hpp"

#include <gtest/gtest.h>

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

TEST(CommitPoint, WhoAsksLateHasShownNothing) {
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

TEST(CommitPoint, WhatWasRolledBackIsNotWaitedFor) {
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

}  // namespace
}  // namespace leasehold::sim::live

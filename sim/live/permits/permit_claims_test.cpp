#include "sim/live/permits/permit_claims.hpp"

#include <gtest/gtest.h>

namespace leasehold::sim::live {
namespace {

TEST(PermitClaims, OnePermitAfterTheOtherIsSound) {
  const auto verdict = judge_permits({{"a", 10, 0, 1}, {"a", 20, 0, 1}, {"b", 21, 0, 2}});
  EXPECT_EQ(verdict.grants, 2);
  EXPECT_EQ(verdict.overlaps, 0);
  EXPECT_EQ(verdict.falling, 0);
  EXPECT_EQ(verdict.most, 1);
}

TEST(PermitClaims, TwoHoldersOfASlotOverlap) {
  const auto verdict = judge_permits({{"a", 10, 0, 1}, {"b", 15, 0, 2}, {"a", 20, 0, 1}});
  EXPECT_EQ(verdict.overlaps, 1);
  EXPECT_EQ(verdict.most, 2);
}

TEST(PermitClaims, TheSamePermitOfTwoProcessesIsNoRise) {
  EXPECT_EQ(judge_permits({{"a", 10, 0, 1}, {"b", 15, 0, 1}}).falling, 1);
}

TEST(PermitClaims, SlotsHaveTokensOfTheirOwn) {
  const auto verdict = judge_permits({{"a", 10, 0, 7}, {"b", 15, 1, 3}, {"a", 20, 0, 7}});
  EXPECT_EQ(verdict.overlaps, 0);
  EXPECT_EQ(verdict.falling, 0);
  EXPECT_EQ(verdict.most, 2);
}

TEST(PermitClaims, JainsIndexIsOneIfAllHadAsMany) {
  EXPECT_DOUBLE_EQ(jains_index({3, 3, 3}), 1);
  EXPECT_DOUBLE_EQ(jains_index({3, 0, 0}), 1.0 / 3);
  EXPECT_DOUBLE_EQ(jains_index({0, 0}), 0);
}

}  // namespace
}  // namespace leasehold::sim::live

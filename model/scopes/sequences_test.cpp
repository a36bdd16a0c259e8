#include "model/scopes/sequences.hpp"

#include <gtest/gtest.h>

namespace leasehold::model {
namespace {

TEST(Sequences, TwoProcessesShareALockAsDrawn) {
  const auto ours = perform(two_processes(), rules_of(Lock::leasehold));
  ASSERT_TRUE(ours.possible) << "stopped at: " << ours.why;
  ASSERT_EQ(ours.tokens.size(), 2u);
  EXPECT_GT(ours.tokens[1], ours.tokens[0]) << "the drawing's 1 and 2: greater";
}

TEST(Sequences, ThePackageRestartsItsTokenWhereTheDrawingSaysTwo) {
  const auto package = perform(two_processes(), rules_of(Lock::distributed_lock));
  ASSERT_TRUE(package.possible) << "stopped at: " << package.why;
  EXPECT_EQ(package.tokens, (std::vector<int>{1, 1}));
}

TEST(Sequences, TheResourceRejectsAHolderThatOversleptItsLease) {
  for (const Lock lock : {Lock::leasehold, Lock::distributed_lock}) {
    const auto performed = perform(fencing(), rules_of(lock));
    EXPECT_TRUE(performed.possible) << name_of(lock) << " stopped at: " << performed.why;
  }
}

TEST(Sequences, WithoutTokensTheResourceCannotReject) {
  const auto performed = perform(fencing(), rules_of(Lock::document_level));
  EXPECT_FALSE(performed.possible);
  EXPECT_EQ(performed.why, "Resource->>Resource: Reject (token < last_seen)");
}

TEST(Sequences, AStepThatTheRulesForbidStopsTheStory) {
  Rules rules = rules_of(Lock::leasehold);
  rules.ignores_expiry = true;  // B takes what A holds
  EXPECT_EQ(perform(two_processes(), rules).why, "DB->>PB: Lock Not Acquired");
}

}  // namespace
}  // namespace leasehold::model

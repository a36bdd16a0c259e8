#include "model/scopes/lock_liveness.hpp"

#include <gtest/gtest.h>

#include "model/explore/eventually.hpp"

namespace leasehold::model {
namespace {

/// All faults but failovers, which make the space fifty times larger.
Scope small() {
  Scope scope;
  scope.failovers = false;
  return scope;
}

std::string described(const Eventually& found) {
  std::string text = std::to_string(found.cycle_states) + " states form a cycle after\n";
  for (const auto& line : found.story) text += line + '\n';
  return text;
}

Eventually search(const Scope& scope, Promise promise) {
  const LockLiveness system(scope, promise);
  Explorer<LockLiveness> explorer(system);
  EXPECT_EQ(explorer.run().verdict, Verdict::holds);
  return EventuallySearch<LockLiveness>(system, explorer).run();
}

TEST(Eventually, ADeadHoldersLockPassesOn) {
  const auto found = search(small(), Promise::passes_on);
  EXPECT_TRUE(found.holds) << described(found);
  EXPECT_GT(found.pending_states, 10'000u);
}

TEST(Eventually, ADeadHoldersDocumentGoes) {
  const auto found = search(small(), Promise::cleans_up);
  EXPECT_TRUE(found.holds) << described(found);
  EXPECT_GT(found.pending_states, 10'000u);
}

TEST(Eventually, WithoutATtlMonitorTheDocumentStays) {
  Scope scope = small();
  scope.ttl_passes = false;
  EXPECT_FALSE(search(scope, Promise::cleans_up).holds);
  EXPECT_TRUE(search(scope, Promise::passes_on).holds) << "never required for correctness";
}

TEST(Eventually, ALockThatLivesByTheTtlMonitorHangsWithoutIt) {
  Scope scope = small();
  scope.rules = rules_of(Lock::insert_unique);
  EXPECT_TRUE(search(scope, Promise::passes_on).holds);
  scope.ttl_passes = false;
  const auto found = search(scope, Promise::passes_on);
  EXPECT_FALSE(found.holds);
  EXPECT_FALSE(found.story.empty());
}

/// Somebody crashes or gives up, and the TTL monitor takes the document away under the queue.
Scope small_queue() {
  Scope scope = small();
  scope.losses = scope.late_starts = false;
  scope.queue = 1;
  return scope;
}

TEST(EventuallyOfAQueue, AWaiterGetsTheLockThoughTheQueueIsLost) {
  const auto found = search(small_queue(), Promise::passes_on);
  EXPECT_TRUE(found.holds) << described(found);
  EXPECT_GT(found.pending_states, 1'000'000u);
}

TEST(EventuallyOfAQueue, WhatWasGrantedToADeadWaiterGoes) {
  const auto found = search(small_queue(), Promise::cleans_up);
  EXPECT_TRUE(found.holds) << described(found);
}

TEST(EventuallyOfAQueue, WhoOnlyKeepsAPlaceWaitsForEverOnceTheQueueIsLost) {
  Scope scope = small_queue();
  scope.crashes = false;
  variant_named("lost-place-not-taken-anew")->change(scope.rules);
  const auto found = search(scope, Promise::passes_on);
  EXPECT_FALSE(found.holds);
  EXPECT_FALSE(found.story.empty());
}

}  // namespace
}  // namespace leasehold::model

#include "sim/lock_truth.hpp"

#include <gtest/gtest.h>

namespace leasehold::sim {
namespace {

using Became = LockTruth::Became;

TEST(LockTruth, WhoQueuesChangesNothing) {
  LockTruth truth;
  EXPECT_EQ(truth.written("l", "a.1000.1", false), Became::held);
  EXPECT_EQ(truth.written("l", "a.1000.1~entry", false), Became::nothing);
  EXPECT_EQ(truth.written("l", "a.1000.1", false), Became::nothing) << "and left again";
  EXPECT_EQ(truth.written("l", "a.1000.2~entry", false), Became::held) << "an extension";
  EXPECT_EQ(truth.deleted("l"), Became::free);
}

TEST(LockTruth, WhoIsOfferedALockHasItOnlyWhenItTakesIt) {
  LockTruth truth;
  EXPECT_EQ(truth.written("l", "a.1000.1~entry", false), Became::held);
  EXPECT_EQ(truth.written("l", "b.1000.5", true), Became::free);
  EXPECT_EQ(truth.written("l", "b.1000.5~entry", true), Became::nothing);
  EXPECT_EQ(truth.written("l", "b.1000.6~entry", false), Became::held);
}

TEST(LockTruth, ADocumentOfAFreeLockIsRemovedUnnoticed) {
  LockTruth truth;
  EXPECT_EQ(truth.written("l", "a.1000.1", false), Became::held);
  EXPECT_EQ(truth.written("l", "", true), Became::free);
  EXPECT_EQ(truth.deleted("l"), Became::nothing);
  EXPECT_EQ(truth.written("l", "b.1000.1", false), Became::held);
}

TEST(LockTruth, ALockIdThatIsWrittenAgainIsAWrite) {
  LockTruth truth;
  EXPECT_EQ(truth.written("l", "guid", false), Became::held);
  EXPECT_EQ(truth.written("l", "guid", false), Became::held) << "an extension of a published lock";
}

}  // namespace
}  // namespace leasehold::sim

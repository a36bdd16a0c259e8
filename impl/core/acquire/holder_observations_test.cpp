#include "core/acquire/holder_observations.hpp"

#include <gtest/gtest.h>

#include "core/limits.hpp"

namespace leasehold::core {
namespace {

using std::chrono::milliseconds;

const std::string kOwner(32, 'c');
constexpr LocalInstant kStart{std::chrono::hours(1)};

TEST(HolderObservations, MatureAfterTheLeaseAndTheDriftFromTheFirstReceipt) {
  HolderObservations observations;
  observations.see("n", kOwner + ".1000.1", kStart);
  observations.see("n", kOwner + ".1000.1", kStart + milliseconds(900));
  EXPECT_FALSE(observations.presumed_dead("n", kStart + milliseconds(1'004), 0.005));
  EXPECT_EQ(observations.presumed_dead("n", kStart + milliseconds(1'006), 0.005),
            kOwner + ".1000.1");
}

TEST(HolderObservations, AreNeverOfAForeignForm) {
  HolderObservations observations;
  observations.see("n", kOwner, kStart);
  EXPECT_FALSE(observations.presumed_dead_at("n", 0));
  observations.see("n", kOwner + ".1000.1", kStart);
  observations.see("n", kOwner, kStart);
  EXPECT_FALSE(observations.presumed_dead_at("n", 0));
}

TEST(HolderObservations, AreDroppedAfterTenLeasesWithoutConfirmation) {
  HolderObservations observations;
  observations.see("n", kOwner + ".1000.1", kStart);
  EXPECT_FALSE(observations.presumed_dead("n", kStart + milliseconds(11'001), 0));
}

TEST(HolderObservations, AreBounded) {
  HolderObservations observations;
  for (std::size_t i = 0; i < kMaxSights + 100; ++i) {
    observations.see("n" + std::to_string(i), kOwner + ".1000.1",
                     kStart + milliseconds(static_cast<int>(i)));
  }
  int kept = 0;
  for (std::size_t i = 0; i < kMaxSights + 100; ++i) {
    kept += observations.presumed_dead_at("n" + std::to_string(i), 0) ? 1 : 0;
  }
  EXPECT_EQ(kept, static_cast<int>(kMaxSights));
  EXPECT_TRUE(observations.presumed_dead_at("n" + std::to_string(kMaxSights + 99), 0));
}

}  // namespace
}  // namespace leasehold::core

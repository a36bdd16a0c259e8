#include "core/sights.hpp"

#include <gtest/gtest.h>

#include "core/limits.hpp"

namespace leasehold::core {
namespace {

using std::chrono::milliseconds;

const std::string kOwner(32, 'c');
constexpr LocalInstant kStart{std::chrono::hours(1)};

TEST(Sights, MatureAfterTheLeaseAndTheDriftFromTheFirstReceipt) {
  Sights sights;
  sights.see("n", kOwner + ".1000.1", kStart);
  sights.see("n", kOwner + ".1000.1", kStart + milliseconds(900));
  EXPECT_FALSE(sights.matured("n", kStart + milliseconds(1'004), 0.005));
  EXPECT_EQ(sights.matured("n", kStart + milliseconds(1'006), 0.005), kOwner + ".1000.1");
}

TEST(Sights, AreNeverOfAForeignForm) {
  Sights sights;
  sights.see("n", kOwner, kStart);
  EXPECT_FALSE(sights.matures_at("n", 0));
  sights.see("n", kOwner + ".1000.1", kStart);
  sights.see("n", kOwner, kStart);
  EXPECT_FALSE(sights.matures_at("n", 0));
}

TEST(Sights, AreDroppedAfterTenLeasesWithoutConfirmation) {
  Sights sights;
  sights.see("n", kOwner + ".1000.1", kStart);
  EXPECT_FALSE(sights.matured("n", kStart + milliseconds(11'001), 0));
}

TEST(Sights, AreBounded) {
  Sights sights;
  for (std::size_t i = 0; i < kMaxSights + 100; ++i) {
    sights.see("n" + std::to_string(i), kOwner + ".1000.1",
               kStart + milliseconds(static_cast<int>(i)));
  }
  int kept = 0;
  for (std::size_t i = 0; i < kMaxSights + 100; ++i) {
    kept += sights.matures_at("n" + std::to_string(i), 0) ? 1 : 0;
  }
  EXPECT_EQ(kept, static_cast<int>(kMaxSights));
  EXPECT_TRUE(sights.matures_at("n" + std::to_string(kMaxSights + 99), 0));
}

}  // namespace
}  // namespace leasehold::core

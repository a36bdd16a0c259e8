#include "sim/live/servers/mongod.hpp"

#include <gtest/gtest.h>

namespace leasehold::sim::live {
namespace {

/// As the server answers buildInfo; the fourth number is that of a build.
bool supported(int major, int minor) {
  return is_supported({{"version", "?"}, {"versionArray", {major, minor, 32, 0}}});
}

TEST(Supported, FromMongoDb51OnAsTheLockNeedsIt) {
  EXPECT_FALSE(supported(4, 4));
  EXPECT_FALSE(supported(5, 0));
  EXPECT_TRUE(supported(5, 1));
  EXPECT_TRUE(supported(6, 0));
  EXPECT_TRUE(supported(8, 0));
}

}  // namespace
}  // namespace leasehold::sim::live

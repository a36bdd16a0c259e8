#include "sim/live/servers/replica_set.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

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

/// It saves time, so another user's is no failure. A name that is too long fails for root, too.
TEST(DataSnapshot, IsLeftOutWhereTheCacheCannotBeRead) {
  const char* before = std::getenv("XDG_CACHE_HOME");
  const std::string kept = before == nullptr ? "" : before;
  setenv("XDG_CACHE_HOME", ("/" + std::string(300, 'a')).c_str(), 1);
  EXPECT_EQ(data_snapshot("/bin/true"), std::nullopt);
  kept.empty() ? unsetenv("XDG_CACHE_HOME") : setenv("XDG_CACHE_HOME", kept.c_str(), 1);
}

}  // namespace
}  // namespace leasehold::sim::live

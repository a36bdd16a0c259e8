#include "sim/live/run/resource.hpp"

#include <gtest/gtest.h>

namespace leasehold::sim::live {
namespace {

TEST(MemoryResource, RefusesALowerTokenOfTheSameLockAndReportsWhatItAcceptedInOrder) {
  std::int64_t now = 0;
  MemoryResource resource([&now] { return ++now; });
  const auto write = [&](const char* name, std::int64_t token, std::int64_t number) {
    return resource.write({name, "p0.1", number, "p0.1/7", FencingToken(token)});
  };
  EXPECT_EQ(write("a", 5, 1), "accepted");
  EXPECT_EQ(write("a", 4, 2), "refused");
  EXPECT_EQ(write("b", 4, 3), "accepted") << "another lock";
  EXPECT_EQ(write("a", 5, 4), "accepted") << "the same holder again";
  const auto stored = resource.take();
  ASSERT_EQ(stored.size(), 3u);
  EXPECT_EQ(stored[1].name, "b");
  EXPECT_EQ(stored[2].write_number, 4);
  EXPECT_EQ(stored[2].token, 5);
  EXPECT_EQ(stored[2].owner, "p0.1/7");
  EXPECT_LT(stored[0].order, stored[1].order);
  EXPECT_LT(stored[1].order, stored[2].order);
  EXPECT_TRUE(resource.take().empty());
}

}  // namespace
}  // namespace leasehold::sim::live

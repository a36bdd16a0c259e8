#include "sim/live/live_test.hpp"

/// How long a lock is held: extended on request, and ended by an administrator.
namespace leasehold::sim::live {
namespace {

TEST(LiveForceRelease, TakesTheLockFromALivingHolder) {
  const CountedProvider counted(fresh_database());
  LockOptions options{.expiry = seconds(2)};
  const auto lock = *counted.provider.create_lock("one", options);
  auto held = lock.try_acquire(seconds(5));
  ASSERT_TRUE(held) << held.error();
  const Stopwatch since;
  const auto freed = counted.provider.force_release("one");
  ASSERT_TRUE(freed) << freed.error();
  EXPECT_EQ(freed->value().holder, "test");
  EXPECT_GE(since.elapsed(), milliseconds(2'020));
  EXPECT_FALSE(held->held());
  EXPECT_TRUE(held->lost().stop_requested());
  EXPECT_TRUE(lock.try_acquire());
  EXPECT_EQ(held->release(), ReleaseResult::not_owner);
  const auto nobody = counted.provider.force_release("two");
  EXPECT_TRUE(nobody && !nobody->has_value());
}

TEST(LiveEnsure, TheServerExtendsBeforeThatIsDue) {
  const CountedProvider counted(fresh_database());
  LockOptions options{.expiry = seconds(10), .extension_cadence = seconds(9)};
  auto held = counted.provider.create_lock("one", options)->try_acquire(seconds(5));
  ASSERT_TRUE(held) << held.error().message;
  std::this_thread::sleep_for(milliseconds(1'500));
  EXPECT_LT(held->remaining(), seconds(9));
  EXPECT_TRUE(held->ensure(seconds(9)));
  EXPECT_GE(held->remaining(), seconds(9));
  EXPECT_FALSE(held->ensure(seconds(10)));
}

}  // namespace
}  // namespace leasehold::sim::live

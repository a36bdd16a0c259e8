#include <gtest/gtest.h>

#include <future>
#include <leasehold/lockable.hpp>
#include <mutex>
#include <shared_mutex>

#include "runtime/testing/fake_server.hpp"

namespace leasehold::runtime {
namespace {

using Mode = FakeServer::Mode;

Lockable lockable(const Fixture& f, const std::string& name = "lock") {
  return Lockable(f.lock(LockOptions(), name));
}

/// An attempt of these tests has a few ms, which a busy machine may need for itself.
bool locks_in_the_end(Lockable& lock) {
  for (int tries = 0; tries < 1'000; ++tries) {
    if (lock.try_lock()) return true;
  }
  return false;
}

TEST(Lockables, WorkWithTheLocksOfTheStandardLibrary) {
  Fixture f;
  auto one = lockable(f), other = lockable(f, "other");
  {
    const std::scoped_lock both(one, other);
    EXPECT_TRUE(one.handle().held() && other.handle().held());
    EXPECT_NE(one.handle().fencing_token(), other.handle().fencing_token());
    EXPECT_EQ(other.handle().name(), "other");
  }
  EXPECT_EQ(f.server->deletes, 2);
  EXPECT_FALSE(one.handle().held());
  std::lock(one, other);
  one.unlock();
  other.unlock();
  const std::unique_lock tried(one, std::try_to_lock);
  EXPECT_TRUE(tried);
  const std::unique_lock timed(other, milliseconds(1'000));
  EXPECT_TRUE(timed);
  const int deletes = f.server->deletes;
  lockable(f, "one that goes").lock();
  EXPECT_EQ(f.server->deletes, deletes + 1);
}

TEST(Lockables, ALockThatAnotherHoldsIsNotLocked) {
  Fixture f;
  f.server->refused_name = "lock";
  auto refused = lockable(f);
  EXPECT_FALSE(refused.try_lock());
  EXPECT_FALSE(refused.try_lock_for(std::chrono::hours::min()));
  EXPECT_FALSE(refused.try_lock_for(std::chrono::microseconds(1))) << "which counts as 1 ms";
  EXPECT_FALSE(refused.try_lock_until(std::chrono::system_clock::time_point()));
  EXPECT_FALSE(refused.try_lock_until(std::chrono::steady_clock::now() + milliseconds(5)));
  EXPECT_FALSE(refused.handle().held());
  auto free = lockable(f, "other");
  free.lock();
}

TEST(Lockables, ATimeWithoutBoundIsTheLongestThereIs) {
  Fixture f;
  auto lock = lockable(f);
  EXPECT_TRUE(lock.try_lock_for(std::chrono::hours::max()));
  lock.unlock();
  EXPECT_TRUE(lock.try_lock_until(std::chrono::steady_clock::time_point::max()));
}

TEST(Lockables, ThrowWhereWaitingCannotHelp) {
  Fixture f;
  auto lock = lockable(f);
  f.provider.reset();
  EXPECT_THROW((void)lock.try_lock(), LockError);
  try {
    lock.lock();
    FAIL() << "the provider has gone";
  } catch (const LockError& error) {
    EXPECT_EQ(error.error().kind, ErrorKind::shut_down);
    EXPECT_EQ(error.what(), error.error().message);
  }
}

TEST(Lockables, TryLockIsFalseUntilAServerAnswers) {
  Fixture f;
  Lockable lock(f.lock({.operation_timeout = milliseconds(20)}));
  f.server->mode = Mode::hang;
  EXPECT_FALSE(lock.try_lock());
  f.server->mode = Mode::serve;
  EXPECT_TRUE(locks_in_the_end(lock));
}

/// The server grants each: it is the object that keeps the second out.
TEST(Lockables, ThreadsOfOneObjectExcludeEachOtherUntilTheUnlock) {
  Fixture f;
  auto lock = lockable(f);
  lock.lock();
  const auto token = lock.handle().fencing_token();
  auto second = std::async(std::launch::async, [&lock] {
    EXPECT_FALSE(lock.try_lock());
    EXPECT_FALSE(lock.try_lock_for(milliseconds(5)));
    lock.lock();
    return lock.handle().fencing_token();
  });
  EXPECT_EQ(second.wait_for(milliseconds(50)), std::future_status::timeout);
  EXPECT_EQ(lock.handle().fencing_token(), token);
  lock.unlock();
  EXPECT_GT(second.get(), token);
  EXPECT_EQ(f.server->deletes, 1);
  lock.unlock();
  EXPECT_EQ(f.server->deletes, 2);
}

TEST(Lockables, ThreadsOfOneObjectReadTogetherEachByAHandleOfItsOwn) {
  Fixture f;
  auto lock = lockable(f);
  std::shared_lock here(lock);
  EXPECT_TRUE(lock.handle().shared() && lock.handle().held());
  const auto* const mine = &lock.handle();
  std::async(std::launch::async, [&] {
    EXPECT_FALSE(lock.handle().held());
    const std::shared_lock there(lock, milliseconds(60'000));
    EXPECT_TRUE(there && lock.handle().held());
    EXPECT_NE(&lock.handle(), mine);
  }).get();
  EXPECT_TRUE(lock.handle().held());
  here.unlock();
  EXPECT_FALSE(lock.handle().held());
  EXPECT_EQ(f.server->deletes, 0) << "readers leave";
  EXPECT_TRUE(lock.try_lock_shared_until(std::chrono::steady_clock::time_point::max()));
  lock.unlock_shared();
  f.server->mode = Mode::refuse;
  EXPECT_FALSE(lock.try_lock_shared());
  EXPECT_FALSE(lock.try_lock_shared_until(std::chrono::system_clock::time_point()));
  f.provider.reset();
  EXPECT_THROW(lock.lock_shared(), LockError);
}

TEST(Lockables, ALossDoesNotLetAnotherThreadIn) {
  Fixture f;
  Lockable lock(f.lock(short_lease()));
  lock.lock();
  f.server->mode = Mode::hang;
  wait_for(lock.handle().lost());
  f.server->mode = Mode::serve;
  EXPECT_FALSE(lock.handle().held());
  EXPECT_FALSE(std::async(std::launch::async, [&lock] { return lock.try_lock(); }).get());
  lock.unlock();
  EXPECT_TRUE(locks_in_the_end(lock));
}

}  // namespace
}  // namespace leasehold::runtime

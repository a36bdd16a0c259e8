#include <mongoc/mongoc.h>
#include <sys/wait.h>
#include <unistd.h>

#include <leasehold/mongoc.hpp>

#include "sim/live/live_test.hpp"

namespace leasehold::sim::live {
namespace {

std::shared_ptr<mongoc_client_pool_t> pool_of(const std::string& options) {
  init_driver();
  const auto uri = with_option(shared_set().uri(), options);
  mongoc_uri_t* parsed = mongoc_uri_new(uri.c_str());
  std::shared_ptr<mongoc_client_pool_t> pool(mongoc_client_pool_new(parsed),
                                             mongoc_client_pool_destroy);
  mongoc_uri_destroy(parsed);
  return pool;
}

LockProvider on_pool(const std::shared_ptr<mongoc_client_pool_t>& pool,
                     const std::string& database) {
  return std::move(connect(pool, {.database = database})).value();
}

Lock one_lock(const LockProvider& provider, LockOptions options = {}) {
  return std::move(provider.create_lock("one", std::move(options))).value();
}

TEST(LivePool, LocksOnTheApplicationsConnectionsExcludeEachOther) {
  const auto pool = pool_of("retryWrites=true");
  const auto database = fresh_database();
  const auto mine = on_pool(pool, database), other = on_pool(pool, database);
  auto held = one_lock(mine).try_acquire(seconds(5));
  ASSERT_TRUE(held) << held.error().message;
  EXPECT_GT(held->fencing_token(), FencingToken());
  EXPECT_EQ(one_lock(other).try_acquire().error().kind, ErrorKind::refused);
  EXPECT_EQ(held->release(), ReleaseResult::released);
  mongoc_client_t* client = mongoc_client_pool_pop(pool.get());  // and it is still good
  bson_t ping = BSON_INITIALIZER;
  BSON_APPEND_INT32(&ping, "ping", 1);
  EXPECT_TRUE(mongoc_client_command_simple(client, "admin", &ping, nullptr, nullptr, nullptr));
  bson_destroy(&ping);
  mongoc_client_pool_push(pool.get(), client);
}

TEST(LivePool, OutlivesTheApplicationsOwnReference) {
  auto pool = pool_of("appName=app");
  const auto provider = on_pool(pool, fresh_database());
  pool.reset();
  auto held = one_lock(provider).try_acquire(seconds(5));
  ASSERT_TRUE(held) << held.error().message;
}

TEST(LivePool, ThatIsEmptySaysSoAndNobodyHangs) {
  const auto pool = pool_of("maxPoolSize=1");
  const auto provider = on_pool(pool, fresh_database());
  mongoc_client_t* only = mongoc_client_pool_pop(pool.get());
  const auto refused = one_lock(provider).try_acquire();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::unavailable);
  EXPECT_NE(refused.error().message.find("maxPoolSize"), std::string::npos);
  const auto fails = connect(pool);
  EXPECT_EQ(fails.error().kind, ErrorKind::unavailable);
  mongoc_client_pool_push(pool.get(), only);
  EXPECT_TRUE(one_lock(provider).try_acquire(seconds(5)));
  EXPECT_EQ(connect(nullptr).error().kind, ErrorKind::invalid_option);
}

/// What a child of fork finds wrong, as its exit code; 0: nothing.
int child_of_fork(LockHandle& handle, std::unique_ptr<LockProvider>& provider,
                  const std::string& database) {
  const auto lock = one_lock(*provider);
  if (handle.held() || handle.remaining().count() != 0) return 1;
  if (handle.release() != ReleaseResult::not_owner) return 2;
  if (lock.try_acquire(seconds(30)).error().kind != ErrorKind::shut_down) return 3;
  int called = 0;
  lock.acquire_async(seconds(30), [&](auto result) {
    called += result.error().kind == ErrorKind::shut_down ? 1 : 100;
  });
  if (called != 1) return 4;
  provider.reset();
  handle = LockHandle();
  auto fresh = LockProvider::connect(shared_set().uri(), {.database = database});
  return one_lock(*fresh).try_acquire().error().kind == ErrorKind::refused ? 0 : 5;
}

TEST(LiveFork, TheLockStaysTheParentsAndTheChildStartsAnew) {
  const auto database = fresh_database();
  auto provider = std::make_unique<LockProvider>(
      std::move(LockProvider::connect(shared_set().uri(), {.database = database})).value());
  auto held = one_lock(*provider).try_acquire(seconds(5));
  ASSERT_TRUE(held) << held.error().message;
  const auto child = fork();
  if (child == 0) _exit(child_of_fork(*held, provider, database));
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_TRUE(held->held());
  EXPECT_EQ(held->release(), ReleaseResult::released);
}

TEST(LiveMaxHolding, EndsAHoldingAndFreesTheLock) {
  const CountedProvider counted(fresh_database());
  LockOptions options;
  options.expiry = seconds(30);
  options.max_holding = milliseconds(700);
  const auto lock = one_lock(counted.provider, options);
  auto held = lock.try_acquire(seconds(5));
  ASSERT_TRUE(held) << held.error().message;
  EXPECT_LE(held->remaining(), milliseconds(700));
  auto next = lock.try_acquire(seconds(5));  // long before a lease of 30 s ends
  ASSERT_TRUE(next) << next.error().message;
  EXPECT_FALSE(held->held());
  EXPECT_TRUE(held->lost().stop_requested());
  EXPECT_EQ(held->release(), ReleaseResult::not_owner);
  EXPECT_TRUE(next->held()) << "the late release is not for the next holder's lock";
}

/// A document on which updates are fenced.
class Fenced : public testing::Test {
 protected:
  Fenced() { BSON_APPEND_UTF8(&id_, "_id", "order"); }
  ~Fenced() override {
    bson_destroy(&id_);
    mongoc_client_pool_push(pool_.get(), client_);
  }

  Result<bool> update(const char* json, std::int64_t token, bool upsert = false) {
    bson_t change;
    EXPECT_TRUE(bson_init_from_json(&change, json, -1, nullptr));
    auto written =
        fenced_update(client_, {database_, "orders", upsert}, id_, change, FencingToken(token));
    bson_destroy(&change);
    return written;
  }
  Json stored() {
    MongoClient reader(shared_set().uri());
    return reader.must(database_, {{"find", "orders"}})["cursor"]["firstBatch"];
  }

  const std::string database_ = fresh_database();
  const std::shared_ptr<mongoc_client_pool_t> pool_ = pool_of("appName=fenced");
  mongoc_client_t* const client_ = mongoc_client_pool_pop(pool_.get());
  bson_t id_ = BSON_INITIALIZER;
};

TEST_F(Fenced, AnUpdateIsRefusedOnceALaterHolderHasWritten) {
  EXPECT_FALSE(*update(R"({"$inc": {"n": 1}})", 5)) << "there is no such document";
  EXPECT_TRUE(*update(R"({"$inc": {"n": 1}})", 5, true));
  EXPECT_TRUE(*update(R"({"$inc": {"n": 1}})", 5)) << "the same holder again";
  EXPECT_TRUE(*update(R"({"$inc": {"n": 1}, "$max": {"best": 9}})", 7));
  EXPECT_FALSE(*update(R"({"$inc": {"n": 1}})", 6));
  EXPECT_FALSE(*update(R"({"$inc": {"n": 1}})", 6, true)) << "not a second document";
  const auto documents = stored();
  ASSERT_EQ(documents.size(), 1u);
  EXPECT_EQ(integer(documents[0]["n"]), 3);
  EXPECT_EQ(integer(documents[0]["best"]), 9);
  EXPECT_EQ(integer(documents[0]["fencingToken"]), 7);
}

TEST_F(Fenced, BadArgumentsAreNamedAndNothingIsSent) {
  EXPECT_EQ(update(R"({"n": 1})", 5).error().message,
            "update has 'n': it must have update operators only, each with a document");
  EXPECT_EQ(update("{}", 5).error().message, "update is empty");
  EXPECT_EQ(update(R"({"$inc": {"n": 1}})", 0).error().message,
            "token is 0: it must be that of a lock that was held");
  BSON_APPEND_INT32(&id_, "more", 1);
  EXPECT_EQ(update(R"({"$inc": {"n": 1}})", 5).error().message,
            "id must be a document with _id and nothing else");
  EXPECT_TRUE(stored().empty());
}

TEST_F(Fenced, WhatTheServerRefusesIsAnError) {
  const auto refused = update(R"({"$nonsense": {"n": 1}})", 5);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::configuration) << refused.error().message;
}

}  // namespace
}  // namespace leasehold::sim::live

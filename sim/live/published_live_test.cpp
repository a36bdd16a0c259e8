#include <algorithm>
#include <cstdlib>
#include <future>
#include <leasehold/published.hpp>

#include "sim/live/live_test.hpp"

/// The examples of the four published locks, on a real replica set, and what each of their claims
/// is worth.
namespace leasehold::sim::live {
namespace {

/// Only with --long: more of the same.
bool is_long() { return std::getenv("LEASEHOLD_LONG") != nullptr; }

LockProvider connect(const char* lock, const std::string& database,
                     const published::Hardening& hardening = {}) {
  ProviderOptions options{.database = database, .on_warning = [](const std::string&) {}};
  return std::move(published::connect(lock, shared_set().uri(), hardening, options)).value();
}

Lock lock_of(const LockProvider& provider, const std::string& name, const LockOptions& options) {
  return provider.create_lock(name, options).value();
}

class Example : public testing::TestWithParam<const char*> {};

TEST_P(Example, RunsAsItsTextSaysTwiceInARow) {
  auto with_database = shared_set().uri();
  with_database.insert(std::min(with_database.find('?'), with_database.size()), fresh_database());
  const std::string program = std::string(LEASEHOLD_EXAMPLES) + "/example_" + GetParam();
  for (int i = 0; i < 2; ++i) {
    ChildProcess example({program, with_database}, ChildProcess::Io::nothing);
    ASSERT_TRUE(example.wait_ms(30'000)) << program;
    EXPECT_EQ(example.exit_status(), 0) << program << " " << with_database;
  }
}
INSTANTIATE_TEST_SUITE_P(All, Example,
                         testing::Values("asio", "distributed_lock", "document_level",
                                         "insert_unique", "leader_election", "semaphore",
                                         "set_on_insert", "several_locks", "worker"));

TEST(DistributedLockText, AcquiresReleasesAndLeavesNothing) {
  const auto database = fresh_database();
  auto provider = connect("distributed-lock", database);
  const auto lock =
      lock_of(provider, "myLockName", published::default_options("distributed-lock"));
  {
    auto handle = lock.try_acquire(seconds(5));
    ASSERT_TRUE(handle) << handle.error().message;
    EXPECT_TRUE(handle->held());
    EXPECT_EQ(handle->fencing_token().value(), 1);
    const Json document = Documents(database).one({{"_id", "myLockName"}});
    EXPECT_EQ(document["lockId"].get<std::string>().size(), 32u);
    EXPECT_EQ(document.size(), 5u) << document;
    const auto second = lock.try_acquire(milliseconds(0));
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().kind, ErrorKind::refused);
  }
  EXPECT_TRUE(eventually([&] { return Documents(database).count() == 0; }));
  // Its sequence diagram says token 1, then 2 after a release. The document is deleted, so it is 1.
  const auto again = lock.try_acquire(seconds(5));
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->fencing_token().value(), 1);
}

/// Documents as the .NET package writes them: respected while they run, taken when they are over.
TEST(DistributedLockText, LeaseholdSharesACollectionWithIt) {
  const auto database = fresh_database();
  auto theirs = connect("distributed-lock", database);
  CountedProvider ours(database);
  LockOptions short_lease{.expiry = milliseconds(1'000)};
  const auto their_lock = lock_of(theirs, "l", short_lease);
  {
    auto handle = their_lock.try_acquire(seconds(5));
    ASSERT_TRUE(handle);
    EXPECT_FALSE(ours.lock("l", milliseconds(1'000)).try_acquire(milliseconds(1'500)));
  }
  {
    auto handle = ours.lock("l", milliseconds(1'000)).try_acquire(seconds(5));
    ASSERT_TRUE(handle);
    EXPECT_FALSE(their_lock.try_acquire(milliseconds(1'500)));
    const Json document = Documents(database).one({{"_id", "l"}});
    EXPECT_EQ(document.size(), 5u) << "its class refuses unknown fields: " << document;
  }
  EXPECT_TRUE(their_lock.try_acquire(seconds(5)));
}

published::Entities connect_entities(const std::string& database,
                                     milliseconds expiry = seconds(30)) {
  return published::Entities::connect(shared_set().uri(), expiry, database).value();
}

TEST(DocumentLevelText, LocksTheEntityAndReleasesWithItsNewValue) {
  const auto database = fresh_database();
  auto entities = connect_entities(database);
  auto entity = entities.lock("dummy", {"dummy", "lorem", ""});
  ASSERT_TRUE(entity) << entity.error().message;
  EXPECT_EQ(entity->value, "lorem");
  const auto again = entities.lock("dummy", {"dummy", "ipsum", ""});
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().message, "item 'dummy' is already locked");
  entity->value = "dolor";
  EXPECT_EQ(entities.release(*entity), std::nullopt);
  const Json stored = Documents(database, "dummies").one({{"_id", "dummy"}});
  EXPECT_EQ(stored["Value"], "dolor");
  EXPECT_TRUE(stored["LockId"].is_null());
  const auto twice = entities.release(*entity);
  ASSERT_TRUE(twice);
  EXPECT_EQ(twice->message, "unable to release lock on item 'dummy'");
}

/// What an expired holder wrote on the entity is refused; what it did elsewhere has happened.
TEST(DocumentLevelText, AnExpiredHoldersReleaseIsRefusedAndTheValueIntact) {
  const auto database = fresh_database();
  auto entities = connect_entities(database, seconds(3));
  std::vector<std::string> outside;  // work outside the entity
  auto first = entities.lock("e", {"e", "0", ""});
  ASSERT_TRUE(first);
  outside.push_back("first");
  auto second = entities.lock("e", {"e", "0", ""});
  ASSERT_TRUE(eventually([&] { return second || (second = entities.lock("e", {"e", "0", ""})); }));
  outside.push_back("second");
  outside.push_back("first");  // it knows nothing of its end: both work at once
  first->value = "from the first";
  const auto refused = entities.release(*first);
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->message, "unable to release lock on item 'e'");
  second->value = "from the second";
  EXPECT_EQ(entities.release(*second), std::nullopt);
  EXPECT_EQ(Documents(database, "dummies").one({{"_id", "e"}})["Value"], "from the second");
  EXPECT_EQ(outside, (std::vector<std::string>{"first", "second", "first"}));
}

TEST(DocumentLevelText, IncrementsOfSixteenAreNotLost) {
  const auto database = fresh_database();
  const int all = is_long() ? 10'000 : 800;
  std::atomic<int> left = all;
  std::atomic<int> refused = 0;
  const auto work = [&] {
    auto entities = connect_entities(database);
    while (left-- > 0) {
      auto entity = entities.lock("n", {"n", "0", ""});
      while (!entity) {
        ++refused;
        std::this_thread::sleep_for(milliseconds(1 + refused % 7));
        entity = entities.lock("n", {"n", "0", ""});
      }
      entity->value = std::to_string(std::stoi(entity->value) + 1);
      ASSERT_EQ(entities.release(*entity), std::nullopt);
    }
  };
  {
    std::vector<std::jthread> workers;
    for (int i = 0; i < 16; ++i) workers.emplace_back(work);
  }
  EXPECT_EQ(Documents(database, "dummies").one({{"_id", "n"}})["Value"], std::to_string(all));
  EXPECT_GT(refused, all / 10) << "nobody contended";
}

TEST(InsertUniqueText, AcquiresTriesTenTimesAndReleases) {
  auto provider = connect("insert-unique", fresh_database());
  const auto options = published::default_options("insert-unique");
  const auto lock = lock_of(provider, "order_12345", options);
  auto handle = lock.try_acquire(seconds(30));
  ASSERT_TRUE(handle) << handle.error().message;
  const Stopwatch watch;
  const auto second = lock.try_acquire(seconds(30));
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().kind, ErrorKind::refused) << second.error().message;
  EXPECT_GE(watch.elapsed(), milliseconds(900));
  EXPECT_LT(watch.elapsed(), milliseconds(5'000));
  EXPECT_EQ(handle->release(), ReleaseResult::released);
  EXPECT_TRUE(lock.try_acquire(seconds(30)));
}

/// Two inserts at once: the server answers one of them with error 112, which its code
/// throws.
TEST(InsertUniqueText, TwoAtOnceGetError112WhichHardeningTakesForALostRace) {
  const auto race = [](bool conflict_waits) {
    const auto database = fresh_database();
    published::Hardening hardening{.conflict_waits = conflict_waits};
    std::atomic<int> conflicts = 0, won = 0;
    const auto work = [&] {
      auto provider = connect("insert-unique", database, hardening);
      LockOptions options = published::default_options("insert-unique");
      options.waiting = uniform_waiting(milliseconds(1), milliseconds(3));
      const auto lock = lock_of(provider, "r", options);
      for (int i = 0; i < 60; ++i) {
        auto handle = lock.try_acquire(seconds(5));
        won += handle ? 1 : 0;
        const bool thrown = !handle && handle.error().kind != ErrorKind::refused;
        conflicts += thrown && handle.error().code == 112 ? 1 : 0;
      }
    };
    {
      std::vector<std::jthread> workers;
      for (int i = 0; i < 4; ++i) workers.emplace_back(work);
    }
    EXPECT_GT(won, 20);
    return conflicts.load();
  };
  EXPECT_GT(race(false), 0);
  EXPECT_EQ(race(true), 0);
}

TEST(InsertUniqueText, ALateReleaseFreesTheNextHoldersLockUnlessHardened) {
  for (const bool owner_check : {false, true}) {
    const auto database = fresh_database();
    published::Hardening hardening{.owner_check = owner_check};
    auto provider = connect("insert-unique", database, hardening);
    auto options = published::default_options("insert-unique");
    options.expiry = milliseconds(1'000);
    const auto lock = lock_of(provider, "r", options);
    auto first = lock.try_acquire(seconds(5));
    ASSERT_TRUE(first);
    Result<LockHandle> second = Error{};
    ASSERT_TRUE(eventually([&] { return bool(second = lock.try_acquire(seconds(2))); }));
    first->release();
    EXPECT_EQ(Documents(database, "locks").one({{"resourceId", "r"}}).is_null(), !owner_check);
  }
}

TEST(SetOnInsertText, TheDocumentBeforeTellsAndTheNextThreadWaits) {
  const auto database = fresh_database();
  auto provider = connect("set-on-insert", database);
  const auto options = published::default_options("set-on-insert");
  const auto lock = lock_of(provider, "report", options);
  auto handle = lock.try_acquire(seconds(10));
  ASSERT_TRUE(handle) << handle.error().message;
  EXPECT_TRUE(Documents(database, "locks").one({{"_id", "report"}}).contains("ExpireAt"));
  auto next = std::async(std::launch::async, [&] { return bool(lock.try_acquire(seconds(10))); });
  std::this_thread::sleep_for(milliseconds(300));
  EXPECT_EQ(handle->release(), ReleaseResult::released);
  EXPECT_TRUE(next.get());
}

/// How long after the end of its lease a dead holder's lock is got, when only the TTL monitor frees
/// it: printed, in ms.
void measure_takeover(const char* name, int period_s, int times) {
  for (int m = 0; m < shared_set().size(); ++m) {
    shared_set().member(m).must("admin", {{"setParameter", 1}, {"ttlMonitorSleepSecs", period_s}});
  }
  std::vector<std::int64_t> late;
  for (int i = 0; i < times; ++i) {
    const auto database = fresh_database();
    auto provider = connect(name, database);
    LockOptions options = published::default_options(name);
    options.expiry = milliseconds(1'000);
    options.waiting = uniform_waiting(milliseconds(20), milliseconds(20));
    const auto lock = lock_of(provider, "l", options);
    auto dead = lock.try_acquire(seconds(5));  // it never releases: its handle outlives the wait
    ASSERT_TRUE(dead);
    const Stopwatch watch;
    Result<LockHandle> next = Error{};
    const bool got = eventually([&] { return bool(next = lock.try_acquire(seconds(2))); },
                                seconds(3 * period_s + 10));
    ASSERT_TRUE(got) << name << ": " << next.error().message;
    late.push_back(watch.elapsed().count() - options.expiry.count());
  }
  std::sort(late.begin(), late.end());
  std::printf("%s, TTL period %d s: taken over after the lease by", name, period_s);
  for (const auto one : late) std::printf(" %lld", static_cast<long long>(one));
  std::printf(" ms\n");
  EXPECT_GE(late.front(), -200) << "before its lease was over";
  EXPECT_LE(late.back(), period_s * 1'000 + 3'000);
}

/// LEASEHOLD_TTL_PERIOD_S: another period of the monitor than one second, e.g. the server's 60.
TEST(TakeoverAfterACrash, WaitsForTheTtlMonitor) {
  const char* asked = std::getenv("LEASEHOLD_TTL_PERIOD_S");
  const int period_s = asked == nullptr ? 1 : std::atoi(asked);
  for (const auto* lock : {"insert-unique", "set-on-insert"}) {
    measure_takeover(lock, period_s, is_long() && period_s == 1 ? 20 : 4);
  }
}

}  // namespace
}  // namespace leasehold::sim::live

#include <filesystem>
#include <future>

#include "runtime/threads/clock.hpp"
#include "sim/live/live_test.hpp"

namespace leasehold::sim::live::lock_live_test {
namespace {

TEST(LiveLock, TheDocumentHasThePublishedFiveFieldsAndNoOther) {
  const auto database = fresh_database();
  const CountedProvider p(database);
  const auto handle = p.lock("n", milliseconds(3'000), milliseconds(700)).try_acquire();
  ASSERT_TRUE(handle);
  const Json d = Documents(database).one({{"_id", "n"}});
  std::string fields;
  for (const auto& [key, value] : d.items()) fields += key + ' ';
  EXPECT_EQ(fields, "_id lockId acquiredAt expiresAt fencingToken ");
  EXPECT_TRUE(d["lockId"].get<std::string>().ends_with(".3000.1.test"));
  EXPECT_TRUE(d["expiresAt"].contains("$date"));
}

TEST(LivePause, AHandleIsLostByItsDeadlineWhileTheExtensionHangs) {
  auto& set = shared_set();
  const int primary = set.primary();
  auto p = std::make_unique<CountedProvider>(fresh_database());
  std::optional<LockHandle> handle =
      std::move(p->lock("n", milliseconds(1'500)).try_acquire()).value();
  std::promise<bool> lost;
  auto notified = lost.get_future();
  const std::stop_callback on_lost(handle->lost(), [&] { lost.set_value(handle->held()); });
  const auto remaining = handle->remaining();
  set.stop({primary});
  const Stopwatch watch;
  ASSERT_EQ(notified.wait_for(remaining + milliseconds(400)), std::future_status::ready);
  EXPECT_FALSE(notified.get());
  EXPECT_FALSE(handle->held());
  EXPECT_LE(watch.elapsed(), remaining + milliseconds(400));
  const Stopwatch handle_watch;
  handle.reset();  // operation_timeout is 500 ms
  EXPECT_LE(handle_watch.elapsed(), milliseconds(900));
  const Stopwatch provider_watch;
  p.reset();  // and a second to stop its threads
  EXPECT_LE(provider_watch.elapsed(), milliseconds(2'000));
  set.resume({primary});
  (void)set.primary();
}

TEST(LiveBadInput, NoServerThereIsSaidWithinTheSelectionTimeout) {
  const CountedProvider p("none", "test", "mongodb://127.0.0.1:1/?replicaSet=rs");
  const Stopwatch watch;
  const auto once = p.lock("n", milliseconds(30'000)).try_acquire();
  EXPECT_EQ(once.error().kind, ErrorKind::unavailable);
  EXPECT_FALSE(once.error().message.empty());
  EXPECT_LE(watch.elapsed(), milliseconds(3'000));
  const Stopwatch waiting;
  const auto timed = p.lock("n", milliseconds(30'000)).try_acquire(milliseconds(2'500));
  EXPECT_EQ(timed.error().kind, ErrorKind::timed_out);
  EXPECT_NE(timed.error().message.find("last attempt: "), std::string::npos)
      << timed.error().message;
  EXPECT_LE(waiting.elapsed(), milliseconds(2'900));
}

TEST(LiveBadInput, AStandaloneIsRefusedWithTheReason) {
  const ReplicaSet alone({.members = 1, .standalone = true});
  const CountedProvider p("none", "test", alone.uri());
  const auto result = p.lock("n", milliseconds(30'000)).try_acquire(seconds(20));
  EXPECT_EQ(result.error().kind, ErrorKind::configuration);
  EXPECT_NE(result.error().message.find("standalone"), std::string::npos) << result.error().message;
}

TEST(LiveBadInput, AnOddFencingTokenIsHealedByTheNextHolder) {
  const auto database = fresh_database();
  Documents truth(database);
  const Json past{{"$date", {{"$numberLong", "0"}}}};
  const Json odd[] = {"text",  7.9, Json::array({1}),
                      nullptr, -5,  {{"$numberLong", "9223372036854775807"}}};
  int i = 0;
  for (const auto& token : odd) {
    truth.insert({{"_id", std::to_string(i++)},
                  {"lockId", std::string(32, 'a')},
                  {"acquiredAt", past},
                  {"expiresAt", past},
                  {"fencingToken", token}});
  }
  const CountedProvider p(database);
  while (i-- > 0) {
    auto handle = p.lock(std::to_string(i), milliseconds(3'000)).try_acquire();
    ASSERT_TRUE(handle) << i << ": " << handle.error().message;
    EXPECT_GT(handle->fencing_token().value(), 1'000'000'000'000);
  }
}

TEST(LiveIndex, AnotherIndexInItsPlaceIsToleratedAndReportedOnce) {
  const auto database = fresh_database();
  MongoClient client(shared_set().uri());
  client.must(database,
              {{"createIndexes", kLockCollection},
               {"indexes", Json::array({{{"key", {{"expiresAt", 1}}}, {"name", "plain"}}})}});
  const CountedProvider p(database);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(p.lock("n", milliseconds(3'000)).try_acquire());
  EXPECT_TRUE(
      eventually([&] { return p.warnings().find("no expireAfterSeconds") != std::string::npos; }));
  EXPECT_EQ(p.sent("createIndexes"), 1);
}

std::int64_t open_descriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return std::distance(begin(all), end(all));
}

/// Found by the soak: the clients of workers that stood in for hung ones stayed in the driver's
/// pool, each with its sockets.
TEST(LiveTransport, KeepsHardlyAnyClientThatNobodyUses) {
  constexpr int kConnections = 20;
  const auto transport = transport_to(shared_set().uri(), fresh_database(), seconds(5));
  const core::Command look{1, seconds(5), core::ReadHoldersCommand{{"n"}}};
  ASSERT_EQ(transport->connect()->execute(look).outcome, core::Outcome::done);
  const auto before = open_descriptors();
  {
    std::vector<std::unique_ptr<core::Connection>> connections;
    for (int i = 0; i < kConnections; ++i) {
      connections.push_back(transport->connect());
      ASSERT_EQ(connections.back()->execute(look).outcome, core::Outcome::done);
    }
    EXPECT_GE(open_descriptors(), before + kConnections);
  }
  EXPECT_LE(open_descriptors(), before + kConnections / 2) << "the driver watches the members, too";
}

/// How long a lock is held: extended on request, and ended by an administrator.
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

constexpr int kLocks = 10;
constexpr milliseconds kLease{3'000};
constexpr milliseconds kSlowCallback{1'000};
constexpr milliseconds kLate{50};

/// What one handle's user sees of its loss, with a callback that takes its time.
class SlowUser {
 public:
  explicit SlowUser(LockHandle handle)
      : handle_(std::move(handle)), on_lost_(handle_.lost(), [this] {
          told_ns_ = now_ns();
          std::this_thread::sleep_for(kSlowCallback);
        }) {}

  void note_deadline() { deadline_ns_ = now_ns() + handle_.remaining().count(); }
  [[nodiscard]] bool notified() const { return told_ns_ != 0; }
  [[nodiscard]] milliseconds late() const {
    return std::chrono::duration_cast<milliseconds>(
        std::chrono::nanoseconds(told_ns_ - deadline_ns_));
  }

 private:
  [[nodiscard]] std::int64_t now_ns() const { return clock_->now().time_since_epoch().count(); }

  const std::shared_ptr<const runtime::Clock> clock_ = runtime::boottime_clock();
  LockHandle handle_;
  std::int64_t deadline_ns_ = 0;
  std::atomic<std::int64_t> told_ns_ = 0;
  std::stop_callback<std::function<void()>> on_lost_;
};

/// How late a thread that sleeps a millisecond at a time woke at worst: the machine's own share.
class Lateness {
 public:
  [[nodiscard]] milliseconds worst() const { return milliseconds(worst_ms_); }

 private:
  void measure(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      const Stopwatch slept;
      std::this_thread::sleep_for(milliseconds(1));
      worst_ms_ = std::max(worst_ms_.load(), slept.elapsed().count() - 1);
    }
  }

  std::atomic<std::int64_t> worst_ms_ = 0;
  std::jthread thread_{[this](const std::stop_token& stop) { measure(stop); }};
};

/// How late the last of ten holders heard that its lock was lost, when all members stopped at once.
milliseconds worst_of_an_outage() {
  ReplicaSet set;
  const CountedProvider provider(fresh_database(), "holder", set.uri());
  std::vector<std::unique_ptr<SlowUser>> users;
  for (int i = 0; i < kLocks; ++i) {
    const auto lock = provider.lock("lock-" + std::to_string(i), kLease);
    users.push_back(std::make_unique<SlowUser>(lock.try_acquire(seconds(5)).value()));
  }
  for (int i = 0; i < set.size(); ++i) set.stop({i});
  // An extension that was answered just before may still have to reach its handle.
  std::this_thread::sleep_for(milliseconds(200));
  for (const auto& user : users) user->note_deadline();
  const auto all_told = [&] {
    return std::all_of(users.begin(), users.end(),
                       [](const auto& user) { return user->notified(); });
  };
  EXPECT_TRUE(eventually(all_told, 2 * kLease));
  milliseconds worst(0);
  for (const auto& user : users) worst = std::max(worst, user->late());
  for (int i = 0; i < set.size(); ++i) set.resume({i});
  return worst;
}

/// One after the other they would be ten seconds late.
TEST(LiveLoss, TenLocksOfOneOutageAreToldAtTheirDeadlinesWhateverCallbacksDo) {
  const Lateness machine;
  const auto worst = worst_of_an_outage();
  std::cout << "the last of " << kLocks << " was notified " << worst.count()
            << " ms late; the machine woke others up to " << machine.worst().count()
            << " ms late\n";
  EXPECT_LE(worst, kLate + machine.worst());
}

}  // namespace
}  // namespace leasehold::sim::live::lock_live_test

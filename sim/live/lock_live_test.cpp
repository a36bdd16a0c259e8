#include <filesystem>
#include <future>

#include "sim/live/live_test.hpp"

namespace leasehold::sim::live {
namespace {

/// What the server has on the locks, with how it came about.
class Truth : public Documents {
 public:
  using Documents::Documents;

  /// Writes of `op` (i, u or d) to the collection that are in the oplog.
  int writes(const std::string& op) {
    return static_cast<int>(
        client_
            .must("local", {{"find", "oplog.rs"},
                            {"filter", {{"ns", database_ + "." + collection_}, {"op", op}}},
                            {"batchSize", 100'000},
                            {"singleBatch", true}})["cursor"]["firstBatch"]
            .size());
  }
  int writes() { return writes("i") + writes("u") + writes("d"); }
};

/// A fail point on every member, off again at the end.
class FailPoint {
 public:
  FailPoint(std::string name, const Json& mode, const Json& data = {}) : name_(std::move(name)) {
    for (int i = 0; i < shared_set().size(); ++i) shared_set().fail_point(i, name_, mode, data);
  }
  ~FailPoint() { off(); }
  void off() {
    for (int i = 0; i < shared_set().size(); ++i) shared_set().fail_point(i, name_, "off");
  }

 private:
  std::string name_;
};

TEST(LiveHandOver, AReleaseToAWaiterOfTheSameProcessIsOneCommand) {
  const CountedProvider p(fresh_database());
  const auto lock = p.lock("n", milliseconds(30'000));
  constexpr int kThreads = 4, kTimes = 18;
  std::mutex mutex;
  std::vector<FencingToken> tokens;
  std::vector<std::jthread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < kTimes; ++i) {
        auto handle = lock.acquire();
        ASSERT_TRUE(handle);
        const std::lock_guard guard(mutex);  // nobody else is here while we hold
        EXPECT_TRUE(handle->held());
        tokens.push_back(handle->fencing_token());
      }
    });
  }
  threads.clear();
  ASSERT_EQ(tokens.size(), static_cast<std::size_t>(kThreads * kTimes));
  EXPECT_TRUE(std::is_sorted(tokens.begin(), tokens.end()));
  // At most eight hand-overs in a row, then a delete and an acquire; a release may find nobody.
  const int holdings = kThreads * kTimes;
  EXPECT_LT(p.sent("delete"), holdings / 3);
  EXPECT_GE(p.sent("delete"), holdings / 9);
  EXPECT_LE(p.sent("findAndModify") + p.sent("delete"), holdings + 2 * p.sent("delete"));
}

TEST(LiveCost, AnUncontendedAcquireIsOneCommandAndSoIsARelease) {
  const CountedProvider p(fresh_database());
  const auto lock = p.lock("n", milliseconds(30'000));
  constexpr int kTimes = 20;
  for (int i = 0; i < kTimes; ++i) {
    auto handle = lock.try_acquire();
    ASSERT_TRUE(handle);
    EXPECT_EQ(handle->release(), ReleaseResult::released);
  }
  EXPECT_EQ(p.sent("findAndModify"), kTimes);
  EXPECT_EQ(p.sent("delete"), kTimes);
  EXPECT_EQ(p.sent("update") + p.sent("find") + p.sent("insert"), 0);
  EXPECT_EQ(p.sent("createIndexes"), 1);
}

TEST(LiveCost, ARefusedAttemptLeavesNoOplogEntry) {
  const auto database = fresh_database();
  const CountedProvider holder(database), other(database);
  const auto handle = holder.lock("n", milliseconds(30'000)).try_acquire();
  ASSERT_TRUE(handle);
  Truth truth(database);
  const int before = truth.writes();
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(other.lock("n", milliseconds(30'000)).try_acquire().error().kind, ErrorKind::refused);
  }
  EXPECT_EQ(other.sent("findAndModify"), 50);
  EXPECT_EQ(truth.writes(), before);
}

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

TEST(LiveLock, AWaiterGetsADeadHoldersLockAtItsExpiryWithoutTheMargin) {
  const auto database = fresh_database();
  Truth truth(database);
  // A holder that died: its document has 20 s of margin left.
  const std::string dead = std::string(32, 'd') + ".800.1";
  truth.insert({{"_id", "n"},
                {"lockId", dead},
                {"acquiredAt", {{"$date", {{"$numberLong", "0"}}}}},
                {"expiresAt", {{"$date", {{"$numberLong", "4102444800000"}}}}},
                {"fencingToken", {{"$numberLong", "7"}}}});
  const CountedProvider p(database);
  const Stopwatch watch;
  auto handle = p.lock("n", milliseconds(5'000)).try_acquire(seconds(10));
  ASSERT_TRUE(handle);
  EXPECT_GE(watch.elapsed(), milliseconds(800));
  EXPECT_LE(watch.elapsed(), milliseconds(2'000));
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

TEST(LiveReplyLost, AWriteConcernErrorIsUnknownAndTheRetryRecognisesItsOwnWin) {
  const auto database = fresh_database();
  const CountedProvider p(database, "unlucky");
  FailPoint fail("failCommand", {{"times", 1}},
                 {{"failCommands", {"findAndModify"}},
                  {"appName", "unlucky"},
                  {"writeConcernError", {{"code", 64}, {"errmsg", "by the test"}}}});
  auto handle = p.lock("n", milliseconds(6'000)).try_acquire(seconds(5));
  ASSERT_TRUE(handle) << handle.error().message;
  Truth truth(database);
  EXPECT_EQ(p.sent("findAndModify"), 2);
  EXPECT_EQ(truth.writes("i"), 1) << "the first attempt was applied";
  EXPECT_EQ(truth.writes("u"), 1) << "the second was another write, of the same owner";
  const CountedProvider other(database);
  EXPECT_EQ(other.lock("n", milliseconds(6'000)).try_acquire().error().kind, ErrorKind::refused);
  EXPECT_EQ(handle->release(), ReleaseResult::released);
  EXPECT_EQ(truth.count(), 0);
}

TEST(LiveReplyLost, ASocketCutAfterTheWriteLeavesNoOrphan) {
  const auto database = fresh_database();
  Truth truth(database);
  const CountedProvider p(database);
  ASSERT_TRUE(p.lock("warm", milliseconds(3'000)).try_acquire());
  const auto lock = p.lock("n", milliseconds(3'000));  // operation timeout 1 s
  {
    FailPoint hang("hangBeforeWaitingForWriteConcern", "alwaysOn");
    const Stopwatch watch;
    const auto result = lock.try_acquire();
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().kind, ErrorKind::unknown_outcome);
    EXPECT_LE(watch.elapsed(), milliseconds(1'500));
    EXPECT_TRUE(eventually([&] { return truth.writes("i") == 2; })) << "applied all the same";
  }
  const Stopwatch watch;
  EXPECT_TRUE(eventually([&] { return truth.count() == 0; }, seconds(6)));
  EXPECT_LE(watch.elapsed(), seconds(3));
  auto again = lock.try_acquire(seconds(5));
  ASSERT_TRUE(again);
  // The clean-up's second delete is for its own owner: the new holder is safe from it.
  std::this_thread::sleep_for(milliseconds(1'500));
  EXPECT_TRUE(again->held());
  EXPECT_FALSE(truth.one({{"_id", "n"}}).is_null());
}

TEST(LiveMany, TwoThousandLocksAreExtendedInFourCommandsARound) {
  constexpr int kLocks = 2'000, kRounds = 5;
  const auto database = fresh_database();
  std::mutex mutex;
  std::vector<LockHandle> handles;
  std::condition_variable changed;
  std::atomic<int> asked = 0;
  // As many at a time as the servers answer within an operation timeout.
  std::function<void()> ask;
  const CountedProvider p(database);  // the last, because its end waits for the calls above
  ask = [&] {
    const int i = asked++;
    if (i >= kLocks) return;
    p.lock("n" + std::to_string(i), milliseconds(9'000))
        .acquire_async(seconds(60), [&](Result<LockHandle> handle) {
          if (!handle) return;
          {
            const std::lock_guard lock(mutex);
            handles.push_back(std::move(*handle));
            changed.notify_all();
          }
          ask();
        });
  };
  for (int i = 0; i < 64; ++i) ask();
  std::unique_lock lock(mutex);
  ASSERT_TRUE(changed.wait_for(lock, seconds(120), [&] { return handles.size() == kLocks; }));
  // In step after the first round, whose handles came one by one.
  const int first = p.sent("update");
  ASSERT_TRUE(eventually([&] { return p.sent("update") >= first + 4; }, seconds(10)));
  std::this_thread::sleep_for(milliseconds(1'500));
  const int before = p.sent("update");
  std::this_thread::sleep_for(kRounds * milliseconds(3'000));
  const int sent = p.sent("update") - before;
  EXPECT_GE(sent, kRounds * 4);
  // A round comes up to a tenth early, so that there may be one more.
  EXPECT_LE(sent, (kRounds + 1) * 4 + 6) << "one handle or another may be a round apart";
  EXPECT_EQ(p.sent("find"), 0);

  auto& victim = handles[1'234];
  Truth truth(database);
  const auto token = victim.fencing_token();
  std::string name;
  for (const auto& d : truth.find({{"fencingToken", {{"$numberLong", token.to_string()}}}})) {
    name = d["_id"].get<std::string>();
  }
  ASSERT_FALSE(name.empty()) << "the extension stored the exact token";
  truth.remove({{"_id", name}});
  EXPECT_TRUE(eventually([&] { return victim.lost().stop_requested(); }, seconds(9)));
  EXPECT_GE(p.sent("find"), 1);
  int lost = 0;
  for (auto& handle : handles) lost += handle.held() ? 0 : 1;
  EXPECT_EQ(lost, 1);
  RecordProperty("updates_in_5_rounds", sent);
  std::printf("%d update commands in %d rounds of %d locks\n", sent, kRounds, kLocks);
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

TEST(LiveBadInput, ACorruptDocumentIsHeldReportedAndLeftAlone) {
  const auto database = fresh_database();
  Truth truth(database);
  const Json date{{"$date", {{"$numberLong", "4102444800000"}}}};  // no work for the TTL monitor
  const Json odd[] = {{{"_id", "0"}, {"lockId", 7}, {"expiresAt", date}},
                      {{"_id", "1"}, {"lockId", "x"}, {"expiresAt", "tomorrow"}},
                      {{"_id", "2"}, {"lockId", "x"}, {"expiresAt", Json::array({date})}},
                      {{"_id", "3"}, {"balance", 100}},
                      {{"_id", "4"}, {"lockId", nullptr}, {"expiresAt", nullptr}},
                      {{"_id", "5"}, {"lockId", "x"}, {"expiresAt", {{"$numberDouble", "NaN"}}}}};
  for (const auto& document : odd) truth.insert(document);
  const int before = truth.writes();
  {
    const CountedProvider p(database);
    for (int i = 0; i < 6; ++i) {
      const auto name = std::to_string(i);
      const auto result = p.lock(name, milliseconds(3'000)).try_acquire(milliseconds(100));
      ASSERT_FALSE(result) << i;
      EXPECT_EQ(result.error().kind, ErrorKind::timed_out);
      EXPECT_NE(result.error().message.find("corrupt lock document: "), std::string::npos);
      EXPECT_TRUE(eventually(
          [&] { return p.warnings().find("lock '" + name + "': corrupt") != std::string::npos; }));
    }
  }
  EXPECT_EQ(truth.writes(), before);
  EXPECT_EQ(truth.count(), 6);
}

TEST(LiveBadInput, AnOddFencingTokenIsHealedByTheNextHolder) {
  const auto database = fresh_database();
  Truth truth(database);
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

TEST(LiveBadInput, AUniqueIndexOnAFieldOfAnotherSchemaIsAConfigurationError) {
  const auto database = fresh_database();
  MongoClient client(shared_set().uri());
  client.must(database,
              {{"createIndexes", kLockCollection},
               {"indexes",
                Json::array({{{"key", {{"resourceId", 1}}}, {"name", "r"}, {"unique", true}}})}});
  const CountedProvider p(database);
  auto first = p.lock("a", milliseconds(3'000)).try_acquire();
  ASSERT_TRUE(first);
  const auto second = p.lock("b", milliseconds(3'000)).try_acquire(seconds(10));
  EXPECT_EQ(second.error().kind, ErrorKind::configuration) << second.error().message;
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

}  // namespace
}  // namespace leasehold::sim::live

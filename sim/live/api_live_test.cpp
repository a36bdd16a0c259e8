#include <mongoc/mongoc.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <future>
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
  const auto pool = pool_of("retryWrites=true&readPreference=secondary&w=1");
  const auto database = fresh_database();
  const auto mine = on_pool(pool, database), other = on_pool(pool, database);
  auto held = one_lock(mine).try_acquire(seconds(5));
  ASSERT_TRUE(held) << held.error().message;
  EXPECT_GT(held->fencing_token(), FencingToken());
  EXPECT_EQ(one_lock(other).try_acquire().error().kind, ErrorKind::refused);
  const auto seen = other.inspect("one");  // which no secondary answers
  EXPECT_TRUE(seen && seen->has_value());
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

TEST(LivePool, AnEmptyOneSaysSoAndNobodyHangs) {
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

TEST(LiveCollection, OneThatCannotHoldLocksEndsWaitingCallsAtOnce) {
  const auto database = fresh_database();
  MongoClient client(shared_set().uri());
  client.must(database, {{"create", "a view"},
                         {"viewOn", "orders"},
                         {"pipeline", Json::array()}});
  client.must(database, {{"create", "a time series"}, {"timeseries", {{"timeField", "at"}}}});
  client.must(database, {{"create", "capped"}, {"capped", true}, {"size", 4096}});
  for (const std::string collection : {"a view", "a time series", "capped", "a$dollar", ".dot"}) {
    const auto provider = std::move(LockProvider::connect(
        shared_set().uri(), {.database = database,
                             .collection = collection,
                             .on_warning = [](const std::string&) {}})).value();
    const Stopwatch since;
    const auto got = one_lock(provider).try_acquire(seconds(20));
    ASSERT_FALSE(got) << collection;
    EXPECT_EQ(got.error().kind, ErrorKind::configuration)
        << collection << ": " << got.error().code << ' ' << got.error().message;
    EXPECT_LT(since.elapsed(), seconds(10)) << collection;
  }
}

TEST(LiveWarning, GoesToStandardErrorIfNoFunctionTakesIt) {
  const auto database = fresh_database();
  Documents(database).insert({{"_id", "one"}, {"lockId", 7}});
  testing::internal::CaptureStderr();
  {
    const auto provider = LockProvider::connect(shared_set().uri(), {.database = database});
    EXPECT_FALSE(one_lock(provider.value()).try_acquire());
  }
  const auto said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("leasehold: lock 'one': corrupt"), std::string::npos) << said;
}

/// A set of one member that wants a log-in, and fails on request.
class LoginSet {
 public:
  LoginSet() : port_(free_ports(1)[0]) {
    const auto data = janitor_.folder() + "/login", key = janitor_.folder() + "/key";
    std::filesystem::create_directories(data);
    std::ofstream(key) << "a key that the members of this test share\n";
    std::filesystem::permissions(key, std::filesystem::perms::owner_read);
    process_ = ChildProcess({find_mongod(), "--port", std::to_string(port_), "--bind_ip",
                             "127.0.0.1", "--dbpath", data, "--logpath", data + ".log",
                             "--nounixsocket", "--replSet", "rs", "--keyFile", key,
                             "--wiredTigerCacheSizeGB", "0.25", "--setParameter",
                             "enableTestCommands=1"},
                            ChildProcess::Io::nothing);
    janitor_.watch(process_.pid());
    initiate();
  }

  /// The next so many steps of a log-in, of anybody with this name of an application.
  void disturb(int times, const Json& how) {
    Json data{{"failCommands", {"saslStart", "saslContinue"}}, {"appName", kApplication}};
    data.update(how);
    admin_->must("admin", {{"configureFailPoint", "failCommand"},
                           {"mode", {{"times", times}}},
                           {"data", data}});
  }
  [[nodiscard]] std::string uri(const std::string& password = "secret") const {
    return "mongodb://root:" + password + "@" + address_of(port_) +
           "/?replicaSet=rs&authSource=admin&appName=" + kApplication;
  }
  /// By way of a proxy before its member.
  [[nodiscard]] std::string uri_by(int proxy) const {
    return "mongodb://root:secret@" + address_of(proxy) +
           "/?directConnection=true&authSource=admin&appName=" + kApplication;
  }
  [[nodiscard]] int port() const { return port_; }
  static constexpr const char* kApplication = "disturbed";

 private:
  void initiate() {
    const auto host = address_of(port_);
    MongoClient first("mongodb://" + host + "/?directConnection=true");  // the localhost exception
    until_true("starting a mongod with log-ins",
               [&first] { return integer(first.run("admin", {{"ping", 1}})["ok"]) == 1; });
    first.must("admin",
               {{"replSetInitiate",
                 {{"_id", "rs"}, {"members", Json::array({{{"_id", 0}, {"host", host}}})}}}});
    until_true("an election", [&first] {
      return first.run("admin", {{"hello", 1}}).value("isWritablePrimary", false);
    });
    first.must("admin",
               {{"createUser", "root"}, {"pwd", "secret"}, {"roles", Json::array({"root"})}});
    admin_ = std::make_unique<MongoClient>("mongodb://root:secret@" + host +
                                           "/?replicaSet=rs&authSource=admin");
  }

  Janitor janitor_;
  int port_;
  ChildProcess process_;
  std::unique_ptr<MongoClient> admin_;
};

TEST(LiveLogin, OnlyARefusalEndsACall) {
  LoginSet set;
  const auto acquire = [](const std::string& uri) {
    const auto provider =
        std::move(LockProvider::connect(uri, {.on_warning = [](const std::string&) {}})).value();
    const auto got = one_lock(provider).try_acquire(seconds(30));
    return got ? "acquired" : std::string(to_string(got.error().kind)) + ": " + got.error().message;
  };
  for (const Json& how : {Json{{"closeConnection", true}},
                          Json{{"errorCode", 91}, {"closeConnection", false}}}) {
    set.disturb(3, how);
    EXPECT_EQ(acquire(set.uri()), "acquired") << how;
  }
  const auto refused = acquire(set.uri("wrong"));
  EXPECT_NE(refused.find("configuration: "), std::string::npos) << refused;
  EXPECT_NE(refused.find("authentication failed"), std::string::npos) << refused;
}

/// A command has 667 ms, and a log-in alone takes five round trips of 300.
TEST(LiveLogin, OverASlowLinkALockIsHadAndKept) {
  LoginSet set;
  FaultProxy proxy;
  const int port = proxy.add_member(set.port());
  proxy.set_link_rule(
      {LoginSet::kApplication, 0},
      {.delay_requests = milliseconds(150), .delay_replies = milliseconds(150)});
  const auto provider =
      LockProvider::connect(set.uri_by(port), {.on_warning = [](const std::string&) {}});
  LockOptions options{.expiry = milliseconds(2'000)};
  const auto lock = provider.value().create_lock("one", options);
  const auto got = lock.value().try_acquire(seconds(60));
  ASSERT_TRUE(got) << got.error().message;
  std::this_thread::sleep_for(seconds(6));
  EXPECT_TRUE(got->held()) << "its extensions use the connection";
}

/// A third of the lease may be over before the next extension is due. The next primary is one that
/// this process has no connection to yet: with its log-in that takes some eight round trips.
TEST(LiveLogin, OverASlowLinkALockIsKeptOverAnElection) {
  ReplicaSet set({.faulty = true});
  const int primary = set.primary();
  set.member(primary).must("admin", {{"createUser", "user"},
                                     {"pwd", "secret"},
                                     {"roles", Json::array({"root"})},
                                     {"writeConcern", {{"w", set.size()}}}});
  for (int m = 0; m < set.size(); ++m) {
    set.proxy().set_link_rule(
        {"slow", m}, {.delay_requests = milliseconds(150), .delay_replies = milliseconds(150)});
  }
  auto uri = with_option(set.uri(), "authSource=admin&appName=slow");
  uri.insert(uri.find("://") + 3, "user:secret@");
  const auto provider = LockProvider::connect(uri, {.on_warning = [](const std::string&) {}});
  LockOptions options{.expiry = seconds(10)};
  const auto lock = provider.value().create_lock("one", options);
  const auto got = lock.value().try_acquire(seconds(60));
  ASSERT_TRUE(got) << got.error().message;
  set.step_up((primary + 1) % set.size());
  std::this_thread::sleep_for(options.expiry + seconds(1));
  EXPECT_TRUE(got->held()) << "the lease that it had is over";
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
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "the sanitizers' allocator keeps, in a fork's child, the locks of other threads";
#endif
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
  /// What the reader was shown, or null.
  Result<Json> read(std::int64_t token) {
    bson_t found;
    const auto read = fenced_read(client_, {database_, "orders"}, id_, FencingToken(token), found);
    const Json shown = mongo::to_json(found);
    bson_destroy(&found);
    if (!read) return read.error();
    return *read ? shown : Json();
  }
  Json stored() { return Documents(database_, "orders").find(); }

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

TEST_F(Fenced, AReadIsRefusedOnceALaterHolderHasWrittenAndRefusesEarlierWrites) {
  EXPECT_TRUE(read(5)->is_null()) << "there is no such document";
  EXPECT_TRUE(*update(R"({"$inc": {"n": 1}})", 5, true));
  EXPECT_EQ(integer((*read(7))["n"]), 1);
  EXPECT_EQ(integer((*read(6))["n"]), 1) << "readers do not refuse each other";
  EXPECT_FALSE(*update(R"({"$inc": {"n": 1}})", 6)) << "a later reader has read";
  EXPECT_TRUE(*update(R"({"$inc": {"n": 1}})", 8));
  EXPECT_TRUE(read(7)->is_null()) << "a later writer has written";
  EXPECT_EQ(integer((*read(8))["n"]), 2) << "its own read";
  EXPECT_EQ(integer(stored()[0]["fencingToken"]), 8);
}

TEST_F(Fenced, AReadOfAWriteTokenThatIsNoNumberIsSaidToBeOne) {
  Documents(database_, "orders").insert({{"_id", "order"}, {"writeToken", "7"}});
  const auto shown = read(8);
  ASSERT_FALSE(shown);
  EXPECT_EQ(shown.error().message,
            "the document's writeToken is no number: no token can be compared with it");
  EXPECT_EQ(read(0).error().kind, ErrorKind::invalid_option);
}

/// A client, and what it sends.
class HeardClient {
 public:
  explicit HeardClient(const std::string& uri) : client(mongoc_client_new(uri.c_str())) {
    mongoc_apm_callbacks_t* callbacks = mongoc_apm_callbacks_new();
    mongoc_apm_set_command_started_cb(callbacks, [](const mongoc_apm_command_started_t* event) {
      char* text = bson_as_json(mongoc_apm_command_started_get_command(event), nullptr);
      static_cast<HeardClient*>(mongoc_apm_command_started_get_context(event))
          ->sent.emplace_back(text);
      bson_free(text);
    });
    mongoc_client_set_apm_callbacks(client, callbacks, this);
    mongoc_apm_callbacks_destroy(callbacks);
  }
  ~HeardClient() { mongoc_client_destroy(client); }
  HeardClient(const HeardClient&) = delete;
  HeardClient& operator=(const HeardClient&) = delete;

  std::vector<std::string> sent;
  mongoc_client_t* const client;
};

TEST_F(Fenced, IsOneCommandForAMajorityAndARefusalAReadMore) {
  HeardClient heard(with_option(shared_set().uri(), "readPreference=secondary"));  // of no use here
  bson_t change;
  bson_init_from_json(&change, R"({"$inc": {"n": 1}})", -1, nullptr);
  const auto written = [&](std::int64_t token, bool upsert) {
    heard.sent.clear();
    const FencedTarget target{database_, "orders", upsert};
    return fenced_update(heard.client, target, id_, change, FencingToken(token)).value();
  };
  EXPECT_TRUE(written(5, true));
  ASSERT_EQ(heard.sent.size(), 1u);
  EXPECT_NE(heard.sent[0].find(R"("writeConcern" : { "w" : "majority" })"), std::string::npos)
      << heard.sent[0];
  EXPECT_FALSE(written(4, false));
  EXPECT_EQ(heard.sent.size(), 2u);
  EXPECT_FALSE(written(4, true));
  EXPECT_EQ(heard.sent.size(), 3u);
  bson_destroy(&change);
}

TEST_F(Fenced, AReadIsOneCommandAndOnlyTheFirstUnderATokenWrites) {
  HeardClient heard(shared_set().uri());
  Documents(database_, "orders").insert({{"_id", "order"}, {"fencingToken", 9}});
  const auto changes = [&](std::int64_t token) {
    const auto before = stored();
    bson_t found;
    heard.sent.clear();
    EXPECT_TRUE(*fenced_read(heard.client, {database_, "orders"}, id_, FencingToken(token), found));
    EXPECT_EQ(heard.sent.size(), 1u);
    EXPECT_NE(heard.sent[0].find(R"("w" : "majority")"), std::string::npos) << heard.sent[0];
    bson_destroy(&found);
    return stored() != before;
  };
  EXPECT_FALSE(changes(8)) << "9 is of a writer without writeToken, or of a reader: not refused";
  EXPECT_TRUE(changes(10));
  EXPECT_FALSE(changes(10));
}

TEST_F(Fenced, ATokenThatIsNoNumberIsSaidToBeNone) {
  Documents orders(database_, "orders");
  for (const Json& token : {Json("7"), Json::object({{"t", 7}}), Json(true), Json::array({7})}) {
    orders.remove(Json::object());
    orders.insert({{"_id", "order"}, {"fencingToken", token}});
    for (const bool upsert : {false, true}) {
      const auto written = update(R"({"$inc": {"n": 1}})", 8, upsert);
      ASSERT_FALSE(written) << token;
      EXPECT_EQ(written.error().kind, ErrorKind::configuration);
      EXPECT_NE(written.error().message.find("is no number"), std::string::npos);
    }
    EXPECT_FALSE(stored()[0].contains("n"));
  }
}

/// Whether the token is a number is not known then.
TEST_F(Fenced, ARefusalWhoseReasonCannotBeReadIsUnavailable) {
  EXPECT_TRUE(*update(R"({"$inc": {"n": 1}})", 7, true));
  auto& set = shared_set();
  const Json data{{"failCommands", {"find"}}, {"errorCode", 11601}, {"appName", "fenced"}};
  set.fail_point(set.primary(), "failCommand", {{"times", 1}}, data);
  const auto written = update(R"({"$inc": {"n": 1}})", 5);
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().kind, ErrorKind::unavailable);
  EXPECT_EQ(written.error().code, 11601);
  EXPECT_FALSE(*update(R"({"$inc": {"n": 1}})", 5)) << "once it can be read";
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

/// Holds upserts of the primary between finding no document and inserting one.
class HeldUpserts {
 public:
  HeldUpserts() : primary_(shared_set().primary()) {
    shared_set().fail_point(primary_, kName, "alwaysOn");
  }
  ~HeldUpserts() { shared_set().fail_point(primary_, kName, "off"); }

  /// Waits until so many are held.
  bool until(int count) {
    auto& member = shared_set().member(primary_);
    return eventually([&] {
      const auto reply = member.must(
          "admin", {{"aggregate", 1},
                    {"pipeline", Json::array({{{"$currentOp", Json::object()}},
                                              {{"$match", {{"failpointMsg", kName}}}}})},
                    {"cursor", Json::object()}});
      return static_cast<int>(reply["cursor"]["firstBatch"].size()) == count;
    });
  }

 private:
  static constexpr const char* kName = "hangBeforeUpsertPerformsInsert";
  const int primary_;
};

/// Upserts one document that nobody has made yet. Whether it was written; nothing: an error.
std::optional<bool> upsert_of(mongoc_client_pool_t* pool, const std::string& database, int document,
                              int token) {
  mongoc_client_t* client = mongoc_client_pool_pop(pool);
  bson_t id = BSON_INITIALIZER, change;
  BSON_APPEND_INT32(&id, "_id", document);
  bson_init_from_json(&change, R"({"$inc": {"n": 1}})", -1, nullptr);
  const auto done =
      fenced_update(client, {database, "raced", true}, id, change, FencingToken(token));
  bson_destroy(&change);
  bson_destroy(&id);
  mongoc_client_pool_push(pool, client);
  return done ? std::optional(*done) : std::nullopt;
}

/// Upserts of one document that race: who has the highest token holds the lock.
TEST_F(Fenced, TheCurrentHolderIsNeverRefused) {
  constexpr int kHolders = 8, kRounds = 12;
  int written = 0;
  for (int round = 0; round < kRounds; ++round) {
    std::vector<std::future<std::optional<bool>>> race;
    {
      HeldUpserts held;
      for (int token = 1; token <= kHolders; ++token) {
        race.push_back(std::async(std::launch::async, upsert_of, pool_.get(), database_, round,
                                  token));
      }
      ASSERT_TRUE(held.until(kHolders));
    }
    for (int token = 1; token <= kHolders; ++token) {
      const auto done = race[static_cast<std::size_t>(token - 1)].get();
      ASSERT_TRUE(done) << "round " << round << ", token " << token;
      written += *done ? 1 : 0;
      EXPECT_TRUE(*done || token < kHolders) << "round " << round << ": nobody is later";
    }
  }
  const auto documents = Documents(database_, "raced").find();
  ASSERT_EQ(documents.size(), static_cast<std::size_t>(kRounds));
  for (const auto& document : documents) {
    EXPECT_EQ(integer(document["fencingToken"]), kHolders);
    written -= static_cast<int>(integer(document["n"]));
  }
  EXPECT_EQ(written, 0) << "as many said so as have written";
}

TEST_F(Fenced, AnotherUniqueIndexIsNamed) {
  MongoClient(shared_set().uri())
      .must(database_,
            {{"createIndexes", "orders"},
             {"indexes",
              Json::array(
                  {{{"key", {{"a", 1}, {"b", 1}}}, {"name", "a_b"}, {"unique", true}}})}});
  ASSERT_TRUE(*update(R"({"$set": {"a": 1, "b": 1}})", 5, true));
  bson_reinit(&id_);
  BSON_APPEND_UTF8(&id_, "_id", "another order");
  const auto inserted = update(R"({"$set": {"a": 1, "b": 1}})", 5, true);
  ASSERT_FALSE(inserted) << "no later holder has written";
  EXPECT_EQ(inserted.error().kind, ErrorKind::configuration);
  EXPECT_NE(inserted.error().message.find("unique index {a, b}"), std::string::npos)
      << inserted.error().message;
  ASSERT_TRUE(*update(R"({"$set": {"a": 1, "b": 2}})", 5, true));
  const auto changed = update(R"({"$set": {"b": 1}})", 5);
  ASSERT_FALSE(changed);
  EXPECT_EQ(changed.error().kind, ErrorKind::configuration) << changed.error().message;
}

TEST_F(Fenced, AnUpdateThatTheServerRefusesIsAnError) {
  const auto refused = update(R"({"$nonsense": {"n": 1}})", 5);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::configuration) << refused.error().message;
}

}  // namespace
}  // namespace leasehold::sim::live

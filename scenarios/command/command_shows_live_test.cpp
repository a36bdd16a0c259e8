#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <future>

#include "scenarios/command/command_fixture.hpp"

/// What the command says of servers that do not answer, and of documents of any kind.
namespace leasehold::lab {
namespace {

using sim::live::Json;
using sim::live::MongoClient;

const std::string kLeasehold = LEASEHOLD_COMMAND_PROGRAM;
constexpr const char* kNobody = "mongodb://127.0.0.1:1/?replicaSet=rs&serverSelectionTimeoutMS=300";

/// A database of its own on the shared set.
class Shows : public Command {
 protected:
  void TearDown() override {
    client_.run(database_, {{"dropDatabase", 1}});
    Command::TearDown();
  }

  [[nodiscard]] Ran says(std::vector<std::string> words) const {
    words.insert(words.begin() + 1, {"--database", database_});
    return leasehold(std::move(words));
  }
  [[nodiscard]] Json json_of(std::vector<std::string> words) const {
    words.emplace_back("--json");
    return Json::parse(says(std::move(words)).out);
  }
  [[nodiscard]] LockProvider provider_of(const std::string& holder) const {
    return LockProvider::connect(uri_, {.database = database_, .holder = holder}).value();
  }
  void insert(const Json& document) {
    client_.must(database_,
                 {{"insert", sim::live::kLockCollection}, {"documents", Json::array({document})}});
  }
  void insert_bytes(bson_t* document) {
    bson_error_t error;
    mongoc_collection_t* locks =
        mongoc_client_get_collection(client_.get(), database_.c_str(), sim::live::kLockCollection);
    EXPECT_TRUE(mongoc_collection_insert(
        locks, static_cast<mongoc_insert_flags_t>(MONGOC_INSERT_NO_VALIDATE), document, nullptr,
        &error))
        << error.message;
    mongoc_collection_destroy(locks);
    bson_destroy(document);
  }
  static Json in_one_hour() {
    return {{"$date", {{"$numberLong", std::to_string((std::time(nullptr) + 3'600) * 1'000)}}}};
  }

  const std::string database_ = sim::live::fresh_database();
  const std::string uri_ = shared_set().uri();
  MongoClient client_{uri_};
};

TEST_F(Shows, WithoutServersEachKindOfWaitIs69AndSaysWhy) {
  setenv("LEASEHOLD_URI", kNobody, 1);
  using Words = std::vector<std::string>;
  std::vector<std::future<Ran>> all;
  for (const Words& wait : {Words{"-n"}, Words{"-w", "0.3"}, Words{"-w", "1.5"}}) {
    for (const Words& more : {Words{}, Words{"-q"}, Words{"-E", "0"}, Words{"-q", "-E", "0"},
                              Words{"-q", "-E", "0", "--permits", "2"}}) {
      for (const auto* command : {"run", "hold"}) {
        Words words{command, lock_};
        words.insert(words.end(), wait.begin(), wait.end());
        words.insert(words.end(), more.begin(), more.end());
        if (words[0] == "run") words.insert(words.end(), {"--", "true"});
        all.push_back(std::async(std::launch::async, [words] { return leasehold(words); }));
      }
    }
  }
  for (auto& one : all) {
    const auto ran = one.get();
    EXPECT_TRUE(ended(ran, 69, "127.0.0.1:1"));
    EXPECT_LE(std::count(ran.out.begin(), ran.out.end(), '\n'), 2) << "why it tries on, the end";
  }
  for (const Words& words : {Words{"ls"}, Words{"show", "n"}, Words{"trace", "n"}, Words{"doctor"},
                             Words{"release", "n", "--force"}}) {
    EXPECT_TRUE(ended(leasehold(words), 69, "127.0.0.1:1"));
  }
}

TEST_F(Shows, AWaitIsExplainedOnce) {
  auto holder = start("exec sleep 100");
  const auto waits = leasehold({"run", "-w", "1.2", lock_, "--", "true"});
  EXPECT_EQ(waits.exit_code, kNotAcquired);
  const auto first = waits.out.find("held by ");
  EXPECT_LT(waits.out.find("; waiting\n", first), waits.out.find("timed out")) << waits.out;
  EXPECT_EQ(waits.out.find("; waiting"), waits.out.rfind("; waiting")) << waits.out;
  setenv("LEASEHOLD_URI", kNobody, 1);
  const auto tries = leasehold({"hold", "-w", "1.2", lock_});
  EXPECT_TRUE(has(tries, "no server answers yet: ")) << tries.out;
  EXPECT_TRUE(has(tries, "; still trying\n")) << tries.out;
}

/// The protocol of sd_notify, a datagram to the socket that NOTIFY_SOCKET names: what it waits for,
/// and that it lives.
TEST_F(Shows, TheServiceManagerHearsOfAWaitAndOfLife) {
  auto holder = start("exec sleep 100");
  const std::string path = folder_ + "/notify";
  const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  ASSERT_LT(path.size(), sizeof address.sun_path);
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, path.size());
  ASSERT_EQ(bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  setenv("NOTIFY_SOCKET", path.c_str(), 1);
  setenv("WATCHDOG_USEC", "200000", 1);
  ChildProcess waits(words({"hold", lock_}), ChildProcess::Io::nothing);
  unsetenv("NOTIFY_SOCKET");
  unsetenv("WATCHDOG_USEC");
  std::vector<std::string> heard;
  const auto hears = [&](const std::string& what) {
    return eventually([&] {
      char text[512]{};
      pollfd ready{fd, POLLIN, 0};
      if (poll(&ready, 1, 20) > 0 && recv(fd, text, sizeof text - 1, MSG_DONTWAIT) > 0) {
        heard.emplace_back(text);
      }
      return !heard.empty() && heard.back().find(what) != std::string::npos;
    });
  };
  EXPECT_TRUE(hears("STATUS=lock '" + lock_ + "': held by "));
  EXPECT_TRUE(hears("WATCHDOG=1"));
  holder.kill();
  EXPECT_EQ(leasehold({"release", lock_, "--force", "--now"}).exit_code, 0);
  EXPECT_TRUE(hears("READY=1\n"));
  EXPECT_TRUE(hears("WATCHDOG=1"));
  waits.send_signal(SIGINT);
  EXPECT_EQ(code_of(waits), 0);
  close(fd);
}

/// A holder whose lock others queue for.
TEST_F(Shows, AQueueIsNotTakenForTheHolderAndForceFreesItsLock) {
  std::promise<bool> granted;  // the first, because the providers' end waits for the call below
  const auto provider = provider_of("the holder"), other = provider_of("the next");
  LockOptions options{.expiry = seconds(2)};
  const auto lock = [&](const LockProvider& of) { return *of.create_lock(lock_, options); };
  auto held = lock(provider).try_acquire();
  ASSERT_TRUE(held);
  lock(other).acquire_async(seconds(60),
                            [&](auto handle) { granted.set_value(handle.has_value()); });
  ASSERT_TRUE(eventually([&] { return json_of({"show", lock_}).value("waiting", 0) == 1; }));
  for (const auto& ran : {says({"ls"}), says({"show", lock_}), says({"trace", lock_})}) {
    EXPECT_TRUE(has(ran, "the holder\n") || has(ran, "the holder,")) << ran.out;
    EXPECT_FALSE(has(ran, "~")) << ran.out;
  }
  EXPECT_EQ(json_of({"show", lock_})["holder"], "the holder");
  // An extension between its look and its write refuses it once, and it says "try again".
  EXPECT_TRUE(eventually([&] { return says({"release", lock_, "--force"}).exit_code == 0; }));
  EXPECT_TRUE(granted.get_future().get());
  EXPECT_FALSE(held->held());
}

TEST_F(Shows, AFreedDocumentIsAFreeLock) {
  insert({{"_id", lock_}, {"lockId", ""}, {"expiresAt", {{"$date", {{"$numberLong", "0"}}}}}});
  EXPECT_EQ(says({"show", lock_}).exit_code, 1);
  EXPECT_EQ(says({"release", lock_, "--force"}).exit_code, 1);
  EXPECT_TRUE(has(says({"ls"}), lock_ + "  free ")) << says({"ls"}).out;
  EXPECT_FALSE(has(says({"doctor"}), "expired more than"));
}

TEST_F(Shows, AnOddFieldIsShownAndWhatBlocksALockIsFoundAndFreed) {
  const Json odd[]{nullptr,
                   7,
                   Json::object(),
                   {{"$numberDecimal", "NaN"}},
                   {{"$timestamp", {{"t", 1}, {"i", 1}}}},
                   {{"$code", "x"}, {"$scope", Json::object()}},
                   {{"$undefined", true}},
                   {{"$maxKey", 1}}};
  std::size_t count = 1;
  std::vector<std::string> corrupt;
  Json document{{"_id", 7}, {"lockId", "theirs"}, {"expiresAt", in_one_hour()}};
  insert(document);
  for (const std::string field : {"lockId", "expiresAt", "acquiredAt", "fencingToken"}) {
    const bool deciding = field == "lockId" || field == "expiresAt";
    for (const auto& value : odd) {
      const auto name = field + std::to_string(++count);
      auto one = document;
      one["_id"] = name;
      one[field] = value;
      insert(one);
      if (deciding) corrupt.push_back(name);
    }
  }
  const auto listed = json_of({"ls"});
  EXPECT_EQ(listed.size(), count);
  for (const auto& lock : listed) {
    const auto name = lock["name"].get<std::string>();  // an _id of 7 is no string
    const bool is_corrupt = name == "7" || std::ranges::count(corrupt, name) > 0;
    EXPECT_EQ(lock["state"], is_corrupt ? "corrupt" : "held by other software") << lock;
  }
  EXPECT_TRUE(ended(says({"doctor"}), 1, "of them corrupt"));
  for (const auto& name : corrupt) {
    EXPECT_EQ(says({"run", "-n", name, "--", "true"}).exit_code, kNotAcquired) << name;
    EXPECT_TRUE(ended(says({"release", name, "--force"}), 1, "--now deletes the document")) << name;
    EXPECT_EQ(says({"release", name, "--force", "--now"}).exit_code, 0) << name;
  }
  EXPECT_EQ(says({"trace", corrupt[0]}).exit_code, 0);
  EXPECT_EQ(says({"run", "-n", corrupt[0], "--", "true"}).exit_code, 0);
}

TEST_F(Shows, ALockOfOtherSoftwareFarInTheFutureIsNotWaitedFor) {
  insert(
      {{"_id", lock_}, {"lockId", "theirs"}, {"expiresAt", {{"$date", "2199-01-01T00:00:00Z"}}}});
  EXPECT_TRUE(ended(says({"release", lock_, "--force"}), 1, "dated until 2199-01-01"));
  EXPECT_EQ(says({"release", lock_, "--force", "--now"}).exit_code, 0);
}

TEST_F(Shows, BytesThatAreNoUtf8AndControlCharactersHarmNobody) {
  bson_t* bad = bson_new();
  bson_append_utf8(bad, "_id", -1, "bad-\xff\xfe", -1);
  bson_append_utf8(bad, "lockId", -1, "their\xc3s", -1);
  bson_append_date_time(bad, "expiresAt", -1, (std::time(nullptr) + 3'600) * 1'000);
  insert_bytes(bad);
  const std::string evil = "evil\x1b[31m\rgood\nlock-two  held by root";
  EXPECT_EQ(says({"run", evil, "--note", "\x1b]0;pwned\a", "--", kLeasehold, "show", evil,
                  "--database", database_})
                .out.find('\x1b'),
            std::string::npos);
  insert({{"_id", evil}, {"lockId", "\x1b[2J"}, {"expiresAt", in_one_hour()}});
  for (const auto& ran :
       {says({"ls"}), says({"show", evil}), says({"trace", evil}), says({"doctor"}),
        says({"run", "-n", evil, "--", "true"}), says({"show", "bad-\xff\xfe"})}) {
    EXPECT_GE(ran.exit_code, 0) << "killed by a signal";
    EXPECT_EQ(ran.out.find_first_of("\x1b\r\a"), std::string::npos) << ran.out;
  }
  EXPECT_TRUE(has(says({"ls"}), "bad-\\xff\\xfe")) << says({"ls"}).out;
  EXPECT_TRUE(has(says({"ls"}), "evil\\x1b[31m\\x0dgood\\x0alock-two  held by root"));
  EXPECT_EQ(json_of({"ls"}).size(), 2u);
}

TEST_F(Shows, AListIsWholeHoweverLongItIs) {
  constexpr int kLocks = 20'000, kBatch = 2'000;
  const std::string filler(980, 'n');
  for (int i = 0; i < kLocks; i += kBatch) {
    Json documents = Json::array();
    for (int j = i; j < i + kBatch; ++j) {
      documents.push_back({{"_id", filler + std::to_string(j)},
                           {"lockId", "theirs"},
                           {"expiresAt", in_one_hour()}});
    }
    client_.must(database_, {{"insert", sim::live::kLockCollection}, {"documents", documents}});
  }
  const auto count = shell(folder_, "'" + kLeasehold + "' ls --database " + database_ + " | wc -l");
  EXPECT_EQ(count.out, std::to_string(kLocks + 1) + "\n");
  // Their text alone has 20 MB; a list that is gathered first has several times that.
  const auto memory = shell(folder_, "ulimit -v 400000; '" + kLeasehold +
                                         "' ls --json --database " +
                                         database_ + " | grep -c '\"name\"'");
  EXPECT_EQ(memory.out, std::to_string(kLocks) + "\n");
  EXPECT_TRUE(has(says({"doctor"}), std::to_string(kLocks) + " lock documents"));
}

TEST_F(Shows, DoctorLooksAtTheCollectionsOptions) {
  const auto made_with = [&](const Json& options) {
    client_.run(database_, {{"drop", sim::live::kLockCollection}});
    Json create{{"create", sim::live::kLockCollection}};
    create.update(options);
    client_.must(database_, create);
    return says({"doctor"});
  };
  EXPECT_TRUE(has(made_with(Json::object()), "fine     collection     made without options"));
  EXPECT_TRUE(has(made_with({{"capped", true}, {"size", 100'000}}), "is capped"));
  EXPECT_TRUE(
      has(made_with({{"collation", {{"locale", "en"}, {"strength", 1}}}}), "has a collation"));
  EXPECT_TRUE(has(made_with({{"viewOn", "other"}, {"pipeline", Json::array()}}), "is a view"));
  client_.run(database_, {{"drop", sim::live::kLockCollection}});
  EXPECT_TRUE(has(says({"doctor"}), "fine     writes         a majority confirms them"));
}

TEST_F(Shows, AHostThatIsNoMemberOfTheSetSaysWhatItIs) {
  const auto host = uri_.substr(0, uri_.find_first_of(",/?", 10));
  setenv("LEASEHOLD_URI", (host + "/?replicaSet=other&serverSelectionTimeoutMS=300").c_str(), 1);
  for (const auto& words : std::vector<std::vector<std::string>>{
           {"doctor"}, {"ls"}, {"run", "-n", lock_, "--", "true"}, {"hold", "-w", "0.5", lock_}}) {
    EXPECT_TRUE(ended(leasehold(words), 69, " is a member of '", "', the URI says 'other'"));
  }
}

/// One sentence with the cause, and no line of the driver's own.
TEST_F(Shows, AnEncryptionErrorIsSaidByEachSubcommand) {
  const std::pair<const char*, const char*> wrong[]{
      {"tls=true&tlsAllowInvalidCertificates=true", "TLS"},
      {"tls=true&tlsCAFile=/nowhere", "Cannot load Certificate Authorities from '/nowhere'"}};
  for (const auto& [option, cause] : wrong) {
    const auto options = std::string(option) + "&serverSelectionTimeoutMS=500";
    setenv("LEASEHOLD_URI", sim::live::with_option(uri_, options).c_str(), 1);
    for (const auto& words :
         std::vector<std::vector<std::string>>{{"ls"},
                                               {"doctor"},
                                               {"run", "-q", "-w", "1", lock_, "--", "true"},
                                               {"hold", "-q", "-n", lock_}}) {
      const auto ran = leasehold(words);
      EXPECT_TRUE(ended(ran, 69, cause)) << words[0];
      EXPECT_EQ(std::count(ran.out.begin(), ran.out.end(), '\n'), 1) << ran.out;
    }
  }
  setenv("LEASEHOLD_URI", "mongodb://u:p/q@h/", 1);
  EXPECT_EQ(leasehold({"run", "-q", lock_, "--", "true"}).out,
            "leasehold: uri: Invalid host string in URI\n");
}

}  // namespace
}  // namespace leasehold::lab

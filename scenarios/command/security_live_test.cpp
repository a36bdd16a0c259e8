#include <atomic>
#include <thread>

#include "scenarios/command/command_fixture.hpp"
#include "sim/live/own_set/user_set.hpp"
#include "sim/live/system/listener_test.hpp"

/// TLS, passwords and roles, by a mongod that insists on them.
namespace leasehold::lab {
namespace {

using sim::live::Json;
using sim::live::MemberClock;
using sim::live::MongoClient;
using std::chrono::hours;

const std::string kUsers = "admin", kDatabase = "app", kLocks = sim::live::kLockCollection;

/// Authorities, and a server's certificate of one of them.
class Certificates {
 public:
  explicit Certificates(std::string folder) : folder_(std::move(folder)) {
    fs::create_directories(folder_);
    must_run(
        "for name in ca stranger; do openssl req -x509 -newkey rsa:2048 -nodes -days 40 "
        "-keyout $name.key -out $name.pem -subj /CN=$name; done; "
        "openssl req -newkey rsa:2048 -nodes -keyout server.key -out server.csr "
        "-subj /CN=127.0.0.1; echo subjectAltName=IP:127.0.0.1 > names; "
        "echo a key that the members of this test share > member.key; chmod 400 member.key");
  }
  /// The file with the server's certificate, valid for a day from when the clock shows, and key.
  std::string server(const std::string& name, const std::string& with_clock) {
    must_run(with_clock + " openssl x509 -req -days 1 -in server.csr -CA ca.pem -CAkey ca.key "
             "-CAcreateserial -extfile names -out " + name + "; cat server.key >> " + name);
    return path(name);
  }
  [[nodiscard]] std::string path(const std::string& name) const { return folder_ + "/" + name; }

 private:
  void must_run(const std::string& line) const {
    const auto ran = shell(folder_, "set -e; " + line);
    if (ran.exit_code != 0) throw std::runtime_error(line + ": " + ran.out);
  }
  const std::string folder_;
};

/// The role document of the README, less what a test leaves out.
Json role(const std::string& name, const std::vector<std::string>& actions) {
  return {{"createRole", name},
          {"privileges", Json::array({{{"resource", {{"db", kDatabase}, {"collection", kLocks}}},
                                       {"actions", actions}}})},
          {"roles", Json::array()}};
}

const std::vector<std::string> kLeast{
    "find", "insert", "update", "remove", "createIndex", "changeStream"};

/// A set of one member that wants TLS and a login. Its users: root, and one for each role.
class SecureSet {
 public:
  explicit SecureSet(hours clock = hours(0))
      : certificates_(janitor_.folder() + "/certificates"),
        clock_(janitor_.folder() + "/clock"),
        port_(sim::live::free_ports(1)[0]) {
    clock_.set(clock);
    const std::vector<std::string> with_clock{"env", clock_.preload(), clock_.file_variable()};
    const auto data = janitor_.folder() + "/secure";
    fs::create_directories(data);
    auto words = with_clock;
    words.insert(words.end(),
                 {sim::live::find_mongod(), "--port", std::to_string(port_), "--bind_ip",
                  "127.0.0.1", "--dbpath", data, "--logpath", data + ".log", "--nounixsocket",
                  "--replSet", "rs", "--keyFile", certificates_.path("member.key"), "--tlsMode",
                  "requireTLS", "--tlsCertificateKeyFile",
                  certificates_.server("server.pem", "env " + clock_.preload() + " " +
                                                         clock_.file_variable()),
                  "--tlsCAFile",
                  certificates_.path("ca.pem"), "--tlsAllowConnectionsWithoutCertificates",
                  "--wiredTigerCacheSizeGB", "0.25"});
    process_ = ChildProcess(words, ChildProcess::Io::nothing);
    janitor_.watch(process_.pid());
  }

  /// Until it answers, whatever its certificate is worth.
  void await_start() {
    MongoClient any(uri("", "ca", "/?directConnection=true&tlsAllowInvalidCertificates=true&"));
    sim::live::until_true("starting a mongod with TLS", [&any] {
      return sim::live::integer(any.run("admin", {{"ping", 1}})["ok"]) == 1;
    });
  }

  void initiate() {
    await_start();
    MongoClient first(uri("", "ca", "/?directConnection=true&"));  // the localhost exception
    first.must("admin",
               {{"replSetInitiate",
                 {{"_id", "rs"}, {"members", Json::array({{{"_id", 0}, {"host", host()}}})}}}});
    sim::live::until_true("an election", [&first] {
      return first.run("admin", {{"hello", 1}}).value("isWritablePrimary", false);
    });
    first.must(kUsers,
               {{"createUser", "root"}, {"pwd", "pw-root"}, {"roles", Json::array({"root"})}});
    root_ = std::make_unique<MongoClient>(as("root"));
  }

  /// A user of a role with these actions; the password is "pw-" and the name.
  void add_user(const std::string& name, const std::vector<std::string>& actions) {
    root_->must(kUsers, role(name, actions));
    root_->must(kUsers,
                {{"createUser", name}, {"pwd", "pw-" + name}, {"roles", Json::array({name})}});
  }
  /// A user of roles that every server has.
  void add_user_of_roles(const std::string& name, const std::vector<std::string>& roles) {
    root_->must(kUsers, {{"createUser", name}, {"pwd", "pw-" + name}, {"roles", roles}});
  }
  [[nodiscard]] std::string as(const std::string& user, const std::string& password = "",
                               const std::string& authority = "ca") const {
    return uri(user + ":" + (password.empty() ? "pw-" + user : password) + "@", authority,
               "/" + kDatabase + "?replicaSet=rs&authSource=" + kUsers + "&");
  }
  [[nodiscard]] std::string without_login() const {
    return uri("", "ca", "/" + kDatabase + "?replicaSet=rs&");
  }
  std::int64_t documents() {
    const Json held{{"lockId", {{"$ne", ""}}}};  // the TTL monitor has time for freed ones
    return sim::live::integer(root_->must(kDatabase, {{"count", kLocks}, {"query", held}})["n"]);
  }

 private:
  [[nodiscard]] std::string host() const { return sim::live::address_of(port_); }
  [[nodiscard]] std::string uri(const std::string& user, const std::string& authority,
                                const std::string& rest) const {
    return "mongodb://" + user + host() + rest +
           "tls=true&tlsCAFile=" + certificates_.path(authority + ".pem") +
           "&serverSelectionTimeoutMS=1500";
  }

  sim::live::Janitor janitor_;
  Certificates certificates_;
  MemberClock clock_;
  int port_;
  ChildProcess process_;
  std::unique_ptr<MongoClient> root_;
};

class Security : public testing::Test {
 protected:
  static SecureSet& set() {
    static SecureSet shared;
    static const bool ready = (shared.initiate(), shared.add_user("locker", kLeast), true);
    (void)ready;
    return shared;
  }

  static Ran leasehold(const std::string& uri, std::vector<std::string> arguments) {
    setenv("LEASEHOLD_URI", uri.c_str(), 1);
    arguments.insert(arguments.begin(), LEASEHOLD_COMMAND_PROGRAM);
    return run_program(arguments);
  }
  static Ran run_shortly(const std::string& uri) {
    return leasehold(uri, {"run", "--lock", "n", "--wait", "3s", "--", "sleep", "0.3"});
  }
  /// One clear error, no lock, and nowhere a password.
  static void refused(const std::string& uri, const std::string& why) {
    const auto ran = run_shortly(uri);
    EXPECT_TRUE(ended(ran, 69, why));
    EXPECT_EQ(std::count(ran.out.begin(), ran.out.end(), '\n'), 1) << ran.out;
    EXPECT_FALSE(has(ran, "pw-"));
  }
};

/// The exit code of all runs, ten processes at a time; -1: a death by signal; -2: they differ.
int end_of_all(const std::vector<std::string>& command) {
  const char* wanted = std::getenv("LEASEHOLD_ROUNDS");
  const int rounds = wanted == nullptr ? 20 : std::atoi(wanted);
  std::atomic<int> left{rounds};
  std::mutex mutex;
  std::map<int, int> ends;
  std::vector<std::jthread> threads;
  for (int t = 0; t < 10; ++t) {
    threads.emplace_back([&] {
      while (left-- > 0) {
        const auto code = run_program(command).exit_code;
        const std::lock_guard lock(mutex);
        ++ends[code];
      }
    });
  }
  threads.clear();
  for (const auto& [code, times] : ends) {
    std::cout << "ended with " << code << ": " << times << "\n";
  }
  return ends.size() == 1 ? ends.begin()->first : -2;
}

TEST_F(Security, ACertificateNeedsARoleThatMayWriteInTheDatabase) {
  const auto certify = [](const std::string& uri) {
    setenv("LEASEHOLD_URI", uri.c_str(), 1);
    return run_program({LEASEHOLD_LAB_PROGRAM, "certify"});
  };
  EXPECT_TRUE(ended(certify(set().as("locker")), 69, "needs the role readWrite on the database"));
  set().add_user_of_roles("certifier", {"readWriteAnyDatabase"});
  EXPECT_TRUE(ended(certify(set().as("certifier")), 0));
}

/// Whichever thread of the driver is in whichever call when main returns.
TEST_F(Security, NoProcessDiesAtItsEnd) {
  const std::string job = "exec " LEASEHOLD_COMMAND_PROGRAM " run -q ";
  const std::vector<std::string> patiently{"/bin/sh", "-c", job + "ends-$$ -- true"},
      shortly{"/bin/sh", "-c", job + "-w 0.5 ends-$$ -- true"};
  setenv("LEASEHOLD_URI", set().as("locker").c_str(), 1);
  EXPECT_EQ(end_of_all(patiently), 0);
  EXPECT_EQ(end_of_all({LEASEHOLD_EXAMPLE_PROGRAM, set().as("locker")}), 0);
  const sim::live::Listener silent;
  const auto says_nothing = "mongodb://" + sim::live::address_of(silent.port) + "/?replicaSet=rs";
  for (const auto& server : {shared_set().uri(), says_nothing}) {
    const auto uri = sim::live::with_option(server, "tls=true&serverSelectionTimeoutMS=800");
    setenv("LEASEHOLD_URI", uri.c_str(), 1);
    EXPECT_EQ(end_of_all(shortly), 69) << uri;
  }
}

TEST_F(Security, TheLeastRoleIsEnough) {
  const auto ran = run_shortly(set().as("locker"));
  EXPECT_EQ(ran.exit_code, 0) << ran.out;
  EXPECT_EQ(ran.out, "") << "no warning";
  EXPECT_EQ(leasehold(set().as("locker"), {"ls"}).exit_code, 0);
  EXPECT_EQ(set().documents(), 0);
}

TEST_F(Security, NoPrivilegeOfItCanBeLeftOut) {
  for (const auto& left_out : kLeast) {
    auto actions = kLeast;
    std::erase(actions, left_out);
    set().add_user("without-" + left_out, actions);
    const auto uri = set().as("without-" + left_out);
    if (left_out == "createIndex") {  // the lock works; the index is somebody else's to make
      EXPECT_TRUE(ended(run_shortly(uri), 0, "TTL index: no permission to create it"));
    } else if (left_out == "changeStream") {
      EXPECT_TRUE(ended(run_shortly(uri), 0)) << "who does not wait needs none";
    } else if (left_out == "remove") {
      const auto ran = run_shortly(uri);
      EXPECT_TRUE(has(ran, "cannot be deleted: not authorized"));
      EXPECT_EQ(leasehold(set().as("root"), {"release", "--now", "--force", "n"}).exit_code, 0);
    } else {
      refused(uri, "not authorized");
    }
    const auto doctor = leasehold(uri, {"doctor"});
    EXPECT_TRUE(has(doctor, "missing on app.distributed.locks: " + left_out));
  }
  EXPECT_EQ(set().documents(), 0);
}

TEST_F(Security, AWrongPasswordAndAnUnknownAuthorityAreEachOneClearError) {
  refused(set().as("locker", "pw-wrong"), "uthentication failed");
  refused(set().as("locker", "", "stranger"), "certificate verify failed");
  EXPECT_EQ(set().documents(), 0);
}

TEST_F(Security, DoctorWithoutALogInSaysThatNoLockCanBeTaken) {
  const auto doctor = leasehold(set().without_login(), {"doctor"});
  EXPECT_TRUE(ended(doctor, 1, "problem  writes         no lock can be taken: "));
}

TEST_F(Security, AnExpiredCertificateIsOneClearError) {
  SecureSet yesterday(hours(-72));  // its server takes the certificate for a good one
  yesterday.await_start();
  refused(yesterday.as("locker"), "certificate verify failed");
}

TEST_F(Security, EachRightThatARunOnAnOwnSetLacksIsNamed) {
  set().add_user_of_roles("tester", {"readWriteAnyDatabase"});
  const auto lacks = [](const std::string& user) {
    return sim::live::look_before_running(set().as(user), "rights_test", 1'000).missing;
  };
  const auto missing = lacks("tester");
  ASSERT_EQ(missing.size(), 1u);
  EXPECT_TRUE(missing[0].starts_with("the user may not find in local.oplog.rs")) << missing[0];
  EXPECT_TRUE(lacks("root").empty());
}

TEST_F(Security, ARightThatTheLeastRoleLacksIsSaidInOneSentence) {
  auto holder = [] {
    return LockProvider::connect(set().as("locker"), {.on_warning = [](const std::string&) {}});
  }();
  auto held = std::move(holder->create_lock("pushed")).value().try_acquire();
  ASSERT_TRUE(held);
  EXPECT_TRUE(ended(leasehold(set().as("locker"), {"show", "pushed"}), 0,
                    "this role may not read the oplog"));

  std::mutex mutex;
  std::vector<std::string> warnings;
  set().add_user("poller", {"find", "insert", "update", "remove", "createIndex"});
  auto waiter = LockProvider::connect(set().as("poller"), {.on_warning = [&](const auto& text) {
                                        const std::lock_guard lock(mutex);
                                        warnings.push_back(text);
                                      }});
  auto lock = std::move(waiter->create_lock("pushed")).value();
  std::jthread releaser([&held] {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    held->release();
  });
  EXPECT_TRUE(lock.try_acquire(std::chrono::seconds(10))) << "by polling";
  const std::lock_guard guard(mutex);
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_EQ(warnings[0].find("waiting calls poll"), 0u) << warnings[0];
}

}  // namespace
}  // namespace leasehold::lab

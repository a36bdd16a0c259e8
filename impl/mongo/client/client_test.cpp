#include <gtest/gtest.h>

#include <cstdio>
#include <sys/resource.h>
#include <unistd.h>

#include "mongo/client/client.hpp"
#include "mongo/client/json_client.hpp"
#include "mongo/client/uri.hpp"

namespace leasehold::mongo {
namespace {

using core::Outcome;

constexpr uid_t kUserNobody = 65'534;

Outcome outcome_of(std::uint32_t domain, std::uint32_t code, const std::string& message,
                   std::optional<std::size_t> hosts = 3) {
  bson_error_t error;
  bson_set_error(&error, domain, code, "%s", message.c_str());
  return driver_failure(error, hosts).outcome;
}

Outcome of_login(const std::string& message) {
  return outcome_of(MONGOC_ERROR_CLIENT, MONGOC_ERROR_CLIENT_AUTHENTICATE, message);
}

TEST(LogIn, ARefusalIsAConfigurationError) {
  for (const char* refusal :
       {"Authentication failed.", "There is no x.509 client certificate matching the user.",
        "Received authentication for mechanism SCRAM-SHA-1 which is not enabled",
        "Received authentication for mechanism PLAIN which is unknown or not enabled",
        "Unknown authentication mechanism \"SCRUM\".",
        "cannot determine username for X-509 authentication.",
        "No username provided for X509 authentication.",
        "The SCRAM_SHA_1 authentication mechanism requires libmongoc built with ENABLE_SSL"}) {
    EXPECT_EQ(of_login(refusal), Outcome::configuration) << refusal;
  }
  EXPECT_EQ(outcome_of(MONGOC_ERROR_SCRAM, MONGOC_ERROR_SCRAM_PROTOCOL_ERROR,
                       "SCRAM Failure: could not verify server signature in sasl step 3"),
            Outcome::configuration);
}

TEST(LogIn, ADisturbedOneIsTriedAgain) {
  for (const char* disturbance :
       {"Failed to send \"saslStart\" command with database \"admin\": "
        "Failed to read 4 bytes: socket error or timeout",
        "Failed to send \"saslContinue\" command with database \"admin\": "
        "Failure during socket delivery: Broken pipe (32)",
        "Failed to send \"authenticate\" command with database \"$external\": "
        "Invalid reply from server.",
        // A `hello`, or a step of the log-in itself, was answered with ok: 0.
        "The server is in quiesce mode and will shut down", "interrupted at shutdown",
        "Failing command via 'failCommand' failpoint", "not primary",
        "Received invalid SCRAM reply from MongoDB server.", ""}) {
    EXPECT_EQ(of_login(disturbance), Outcome::not_executed) << disturbance;
  }
  EXPECT_EQ(outcome_of(MONGOC_ERROR_SASL, 1, "Cannot contact any KDC for realm"),
            Outcome::not_executed);
}

const std::string kUntrusted =
    "[TLS handshake failed: certificate verify failed (19): self-signed certificate in chain]";
const std::string kRefused = "[connection refused calling hello on '127.0.0.1:27018']";

Outcome of_selection(const std::string& complaints, std::optional<std::size_t> hosts) {
  return outcome_of(MONGOC_ERROR_SERVER_SELECTION, MONGOC_ERROR_SERVER_SELECTION_FAILURE,
                    "No suitable servers found: `serverSelectionTimeoutMS` expired: " + complaints,
                    hosts);
}

TEST(ServerSelection, IsHopelessOnlyIfEveryMemberIsUntrustedOrWantsAVersionOfTheCommands) {
  EXPECT_EQ(of_selection(kUntrusted, 1), Outcome::configuration);
  EXPECT_EQ(of_selection(kUntrusted + ' ' + kUntrusted + ' ' + kUntrusted, 3),
            Outcome::configuration);
  EXPECT_EQ(of_selection(kUntrusted + ' ' + kRefused + ' ' + kRefused, 3), Outcome::not_executed);
  EXPECT_EQ(of_selection(kUntrusted, 3), Outcome::not_executed) << "two members have no complaint";
  EXPECT_EQ(of_selection(kUntrusted, std::nullopt), Outcome::not_executed) << "another is heard";
  EXPECT_EQ(of_selection(kRefused + ' ' + kRefused, 2), Outcome::not_executed);
  EXPECT_EQ(of_selection("", 0), Outcome::not_executed);
  const std::string versioned = "[The apiVersion parameter is required]";
  EXPECT_EQ(of_selection(versioned, 1), Outcome::configuration);
  EXPECT_EQ(of_selection(versioned + ' ' + kRefused, 2), Outcome::not_executed);
}

TEST(ServerSelection, ComplaintsThatTheBufferCutsOffCountLikeThoseBefore) {
  std::string six;
  for (int i = 0; i < 6; ++i) six += ' ' + kUntrusted;
  for (std::size_t name = 0; name < kUntrusted.size(); ++name) {  // wherever the end is
    const std::string longer(name, 'x');
    EXPECT_EQ(of_selection("[" + longer + kUntrusted.substr(1) + six, 7), Outcome::configuration);
    EXPECT_EQ(of_selection("[" + longer + kRefused.substr(1) + six, 7), Outcome::not_executed);
  }
}

TEST(Connection, OneThatWasNeverMadeCarriedNoCommand) {
  constexpr auto kStream = MONGOC_ERROR_STREAM;
  for (const auto code : {MONGOC_ERROR_STREAM_CONNECT, MONGOC_ERROR_STREAM_NAME_RESOLUTION,
                          MONGOC_ERROR_STREAM_NOT_ESTABLISHED}) {
    EXPECT_EQ(outcome_of(kStream, static_cast<std::uint32_t>(code), "no"), Outcome::not_executed);
  }
  const auto of_socket = [](const std::string& message) {
    return outcome_of(kStream, MONGOC_ERROR_STREAM_SOCKET, message);
  };
  EXPECT_EQ(of_socket("TLS handshake failed: certificate verify failed (10): expired"),
            Outcome::not_executed);
  EXPECT_EQ(of_socket("Failed to send \"isMaster\" command with database \"admin\": socket error"),
            Outcome::not_executed);
  EXPECT_EQ(of_socket("Failed to send \"update\" command with database \"app\": socket error"),
            Outcome::unknown);
}

TEST(Underway, ACommandThatIsGivenUpBeforeItBeginsDoesNotBegin) {
  Underway underway;
  Sockets sockets;
  bson_error_t error;
  const auto begin = [&] {
    const bool begun = underway.connect(sockets, "a:1", error) && underway.begin(error);
    underway.end();
    return begun;
  };
  underway.is(1);
  EXPECT_TRUE(begin());
  underway.give_up(1);
  EXPECT_FALSE(begin());
  EXPECT_EQ(driver_failure(error, 1).outcome, Outcome::not_executed);
  underway.is(2);
  EXPECT_TRUE(begin()) << "the next command";
  underway.give_up(1);  // late
  EXPECT_FALSE(underway.given_up());
  EXPECT_TRUE(begin());
}

TEST(Underway, ACommandThatIsGivenUpWhileItsConnectionIsMadeDoesNotBeginThere) {
  Underway underway;
  Sockets sockets;
  bson_error_t error;
  underway.is(1);
  ASSERT_TRUE(underway.connect(sockets, "a:1", error));
  underway.give_up(1);
  EXPECT_FALSE(underway.begin(error));
  EXPECT_EQ(driver_failure(error, 1).outcome, Outcome::not_executed);
  underway.end();
}

std::string refusal_of(const std::string& uri) {
  bson_error_t error{};
  return parse_uri(uri, error) ? "" : error.message;
}

TEST(Uri, WhiteSpaceAroundItIsNoPartOfIt) {
  for (const char* end : {"\n", "\r\n", " ", "\t "}) {
    bson_error_t error{};
    const auto uri = parse_uri(end + std::string("mongodb://h/?replicaSet=bar") + end, error);
    ASSERT_TRUE(uri) << error.message;
    EXPECT_STREQ(mongoc_uri_get_replica_set(uri.get()), "bar");
  }
  EXPECT_NE(refusal_of(" \n"), "");
}

TEST(Uri, ALogInThatTheDriverDoesNotSurviveOrWouldTryForEverIsRefused) {
  const std::string x509 = "mongodb://h/?replicaSet=bar&authMechanism=MONGODB-X509";
  EXPECT_EQ(refusal_of(x509), "authMechanism is MONGODB-X509: it needs tls=true");
  EXPECT_EQ(refusal_of(x509 + "&tls=true"), "");
  const std::string user = "mongodb://u:p@h/?replicaSet=bar&authMechanism=";
  EXPECT_NE(refusal_of(user + "MONGODB-CR"), "");
  EXPECT_NE(refusal_of(user + "SCRAM-SHA-256&authSource=$external"), "");
  EXPECT_EQ(refusal_of(user + "SCRAM-SHA-256&authSource=app"), "");
  EXPECT_EQ(refusal_of(user + "PLAIN&authSource=$external"), "");
}

TEST(Pool, GivesNoClientIfTheDriversThreadsCannotStart) {
  EXPECT_EXIT(
      {
        const rlimit none{};
        const bool limited = setuid(kUserNobody) == 0 && setrlimit(RLIMIT_NPROC, &none) == 0;
        try {
          const JsonClient client("mongodb://127.0.0.1:1/?replicaSet=bar");
          std::fprintf(stderr, "got one");
        } catch (const std::system_error& refused) {
          std::fprintf(stderr, "%s", refused.what());
        }
        _exit(limited ? 0 : 1);
      },
      testing::ExitedWithCode(geteuid() == 0 ? 0 : 1),
      geteuid() == 0 ? "threads cannot start" : "");
}

TEST(Uri, SecretsAreFoundAndAnAtSignInAnOptionIsNone) {
  const struct {
    const char* secret;
    std::vector<const char*> uris;
  } rows[]{
      {"a password", {"mongodb://u:p@h/", "mongodb://u:@h", "mongodb+srv://u:p@h/?appName=a",
                      "mongodb://u:p/q@h/", "mongodb://u:p?q@h:1/", "u:p@h"}},
      {"tlsCertificateKeyFilePassword",
       {"mongodb://h/?tls=true&tlscertificatekeyfilepassword=s"}},
      {"sslClientCertificateKeyPassword", {"mongodb://h/?sslClientCertificateKeyPassword=s"}},
      {"AWS_SESSION_TOKEN", {"mongodb://u@h/?authMechanismProperties=AWS_SESSION_TOKEN:s"}},
      {"", {"mongodb://h:1/?replicaSet=bar&appName=ci@build",
            "mongodb://h:1,[::1]:2,i/?appName=@a@", "mongodb://u@h:1/db", "mongodb://h",
            "mongodb://%2Ftmp%2Fs.sock/?appName=a@b", ""}},
  };
  for (const auto& [secret, uris] : rows) {
    for (const auto* uri : uris) EXPECT_EQ(secret_in(uri), secret) << uri;
  }
}

TEST(Uri, HostsAreReplacedAndAllElseStays) {
  const std::vector<std::string> proxies{"127.0.0.1:1", "127.0.0.1:2"};
  EXPECT_EQ(with_hosts("mongodb://db1,db2:27018/app?replicaSet=rs", proxies),
            "mongodb://127.0.0.1:1,127.0.0.1:2/app?replicaSet=rs");
  EXPECT_EQ(with_hosts("mongodb://me:s%40t@db1/?authSource=admin", proxies),
            "mongodb://me:s%40t@127.0.0.1:1,127.0.0.1:2/?authSource=admin");
  EXPECT_EQ(with_hosts("mongodb://[::1]:27017", {"127.0.0.1:1"}), "mongodb://127.0.0.1:1");
  EXPECT_EQ(with_hosts("mongodb://db1/?appName=a@b", {"127.0.0.1:1"}),
            "mongodb://127.0.0.1:1/?appName=a@b");
}

TEST(Uri, AnAddressIsAHostAndAPort) {
  using Pair = std::pair<std::string, std::string>;
  EXPECT_EQ(host_and_port("db1:27018"), Pair("db1", "27018"));
  EXPECT_EQ(host_and_port("db1"), Pair("db1", "27017"));
  EXPECT_EQ(host_and_port("[::1]:27018"), Pair("::1", "27018"));
  EXPECT_EQ(host_and_port("[::1]"), Pair("::1", "27017"));
}

}  // namespace
}  // namespace leasehold::mongo

#include "mongo/client/client.hpp"

#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

#include "mongo/client/handles.hpp"
#include "mongo/client/uri.hpp"

namespace leasehold::mongo {
namespace {

using core::Outcome;

/// Words of errors that certainly refuse a log-in, so that another try would be refused too. The
/// driver gives one domain and code to all failures between connecting and the first command, a cut
/// socket and a server that shuts down included; only its words tell them apart.
constexpr std::array kRefusedLogins{
    // The server's. The first is its one answer to a wrong password and to an unknown user.
    "Authentication failed.",
    "There is no x.509 client certificate matching the user.",
    "Received authentication for mechanism ",  // which is not enabled
    // The driver's, of the URI.
    "Unknown authentication mechanism ",
    "Unsupported mechanism by client",
    "cannot determine username for X-509 authentication.",
    "No username provided for X509 authentication.",
    "requires libmongoc built with ENABLE_SSL",
    // The driver's, of a peer that does not keep to the protocol or does not know the password.
    "SCRAM Failure: ",
};

/// Words of errors of a connection that was never made: no command was sent on it.
constexpr std::array kConnecting{
    "TLS handshake failed",
    "Failed to send \"isMaster\"",  // the first command on a connection is the driver's own
    "Failed to send \"hello\"",
};

template <std::size_t kSize>
bool says(const bson_error_t& error, const std::array<const char*, kSize>& texts) {
  return std::ranges::any_of(texts, [&error](const char* text) {
    return std::strstr(error.message, text) != nullptr;
  });
}

bool of_login(const bson_error_t& error) {
  return (error.domain == MONGOC_ERROR_CLIENT && error.code == MONGOC_ERROR_CLIENT_AUTHENTICATE) ||
         error.domain == MONGOC_ERROR_SASL || error.domain == MONGOC_ERROR_SCRAM;
}

Outcome of_stream(const bson_error_t& error) {
  const bool connecting = error.code == MONGOC_ERROR_STREAM_CONNECT ||
                          error.code == MONGOC_ERROR_STREAM_NAME_RESOLUTION ||
                          error.code == MONGOC_ERROR_STREAM_NOT_ESTABLISHED ||
                          says(error, kConnecting);
  return connecting ? Outcome::not_executed : Outcome::unknown;
}

std::size_t occurrences(std::string_view text, std::string_view of) {
  std::size_t count = 0;
  for (auto at = text.find(of); at != text.npos; at = text.find(of, at + of.size())) ++count;
  return count;
}

bool is_cut_off(const bson_error_t& error) {
  return std::string_view(error.message).size() + 1 >= sizeof error.message;
}

/// Whether no member at all has a certificate that we may trust, or serves a client that names no
/// version of its commands: another try would find the same.
/// The driver lists the error of each member that it has no connection to, "[...] [...]", as far as
/// its buffer goes; if the list is cut off, the listed members stand for the rest.
bool none_serves_us(const bson_error_t& error, std::size_t hosts) {
  std::string_view complaints(error.message);
  if (is_cut_off(error)) {
    complaints = complaints.substr(0, complaints.rfind("] [") + 1);
    hosts = occurrences(complaints, "] [") + 1;
  }
  const auto refusals = occurrences(complaints, "certificate verify failed") +
                        occurrences(complaints, "apiVersion parameter is required");
  return refusals > 0 && refusals >= hosts;
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n\v\f";
  const auto begin = std::min(text.find_first_not_of(kBlank), text.size());
  return text.substr(begin, text.find_last_not_of(kBlank) + 1 - begin);
}

/// Null: it fits. The driver finds out amid its log-in, or dies of it.
const char* unfit_login(const mongoc_uri_t* uri) {
  const char* named = mongoc_uri_get_auth_mechanism(uri);
  const char* source = mongoc_uri_get_auth_source(uri);
  const std::string_view mechanism = named != nullptr ? named : "";
  if (mechanism == "MONGODB-X509" && !mongoc_uri_get_tls(uri)) {
    return "authMechanism is MONGODB-X509: it needs tls=true";
  }
  if (mechanism == "MONGODB-CR") {
    return "authMechanism is MONGODB-CR, which servers have no more: leave it out";
  }
  if (mechanism.starts_with("SCRAM-") && source != nullptr &&
      std::string_view(source) == "$external") {
    return "authSource is $external: a SCRAM user is in a database, often admin";
  }
  return nullptr;
}

}  // namespace

void name_encryption(const mongoc_client_t* client, bson_error_t& error) {
  const bool encrypts = mongoc_uri_get_tls(mongoc_client_get_uri(client));
  const bool closed = std::strstr(error.message, "connection closed") != nullptr;
  if (!encrypts || !closed || std::strstr(error.message, "TLS") != nullptr) return;
  const std::string said = error.message;
  bson_set_error(&error, error.domain, error.code,
                 "the URI asks for TLS, and a server closed the connection: %s", said.c_str());
}

UriHandle parse_uri(const std::string& given, bson_error_t& error) {
  const std::string uri(trimmed(given));
  const auto login = parts_of(uri).login;
  if (std::ranges::count(login, '@') > 1) {
    bson_set_error(&error, MONGOC_ERROR_COMMAND, MONGOC_ERROR_COMMAND_INVALID_ARG,
                   "it has more than one @: in a user name or password it is written %%40");
    return nullptr;
  }
  UriHandle parsed(mongoc_uri_new_with_error(uri.c_str(), &error));
  const char* why = parsed ? unfit_login(parsed.get()) : nullptr;
  if (why == nullptr) return parsed;
  bson_set_error(&error, MONGOC_ERROR_COMMAND, MONGOC_ERROR_COMMAND_INVALID_ARG, "%s", why);
  return nullptr;
}

PoolHandle make_pool(const mongoc_uri_t* uri, bson_error_t& error) {
  PoolHandle pool(mongoc_client_pool_new_with_error(uri, &error), mongoc_client_pool_destroy);
  if (pool) mongoc_client_pool_set_error_api(pool.get(), MONGOC_ERROR_API_VERSION_2);
  return pool;
}

void require_means_of_driver() {
  constexpr std::size_t kMonitors = 8;  // two for each of three members, and some of our own
  int missing = 0;
  std::array<int, kMonitors> opened{};
  for (int& one : opened) {
    one = eventfd(0, EFD_CLOEXEC);
    if (one < 0) missing = errno;
  }
  for (const int one : opened) {
    if (one >= 0) close(one);
  }
  if (missing != 0) {
    throw std::system_error(missing, std::generic_category(), "the driver's sockets cannot open");
  }
  std::mutex gate;
  std::vector<std::jthread> started;  // ends once the gate is open
  const std::lock_guard closed(gate);
  try {
    while (started.size() < kMonitors) {
      started.emplace_back([&gate] { const std::lock_guard wait(gate); });
    }
  } catch (const std::system_error& error) {
    throw std::system_error(error.code(), "the driver's threads cannot start");
  }
}

mongoc_client_t* pop(mongoc_client_pool_t* pool, bson_error_t& error) {
  // The first pop starts the driver's threads. They must not take signals that others wait for.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  mongoc_client_t* client = mongoc_client_pool_try_pop(pool);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (client == nullptr) {
    bson_set_error(&error, MONGOC_ERROR_SERVER_SELECTION, 0,
                   "the driver's pool has no client left: its maxPoolSize is too small");
  }
  return client;
}

mongoc_client_t* borrow(mongoc_client_pool_t* pool, Sockets& sockets, bson_error_t& error) {
  mongoc_client_t* client = pop(pool, error);
  if (client != nullptr) sockets.watch(client);
  return client;
}

void give_back(mongoc_client_pool_t* pool, mongoc_client_t* client) {
  if (client == nullptr) return;
  mongoc_client_set_stream_initiator(client, nullptr, nullptr);
  mongoc_client_pool_push(pool, client);
}

void Underway::is(core::CommandId command) {
  const std::lock_guard lock(mutex_);
  command_ = command;
}

void Underway::give_up(core::CommandId command) noexcept {
  const std::lock_guard lock(mutex_);
  const bool again = given_up_ == command;
  given_up_ = command;
  if (on_ != nullptr && command_ == command && (!connecting_ || again)) on_->cut();
}

bool Underway::connect(Sockets& sockets, const std::string& member, bson_error_t& error) {
  const std::lock_guard lock(mutex_);
  if (refuses(error)) return false;
  sockets.aim(member);
  on_ = &sockets;
  connecting_ = true;
  return true;
}

bool Underway::begin(bson_error_t& error) {
  const std::lock_guard lock(mutex_);
  connecting_ = false;
  return !refuses(error);
}

bool Underway::refuses(bson_error_t& error) const {
  if (given_up_ != command_) return false;
  bson_set_error(&error, MONGOC_ERROR_SERVER_SELECTION, 0, "given up before it was sent");
  return true;
}

void Underway::end() {
  const std::lock_guard lock(mutex_);
  if (on_ != nullptr) on_->settle();
  on_ = nullptr;
  connecting_ = false;
}

bool Underway::given_up() const {
  const std::lock_guard lock(mutex_);
  return given_up_ == command_;
}

bool run_on_primary(mongoc_client_t* client, Sockets& sockets, Underway& underway,
                    mongoc_client_session_t* session, const std::string& database,
                    const bson_t* command, ReplyBson& reply, bson_error_t& error) {
  const DescriptionHandle primary(mongoc_client_select_server(client, true, nullptr, &error));
  if (!primary) {
    name_encryption(client, error);
    return false;
  }
  const auto* host = mongoc_server_description_host(primary.get());
  const auto id = mongoc_server_description_id(primary.get());
  if (!underway.connect(sockets, host->host_and_port, error)) return false;
  const DescriptionHandle greeted(
      mongoc_client_get_handshake_description(client, id, nullptr, &error));
  bson_t options = BSON_INITIALIZER;
  BSON_APPEND_INT32(&options, "serverId", static_cast<std::int32_t>(id));
  const bool done =
      greeted && underway.begin(error) &&
      (session == nullptr || mongoc_client_session_append(session, &options, &error)) &&
      mongoc_client_command_with_opts(client, database.c_str(), command, nullptr, &options,
                                      reply.out(), &error);
  bson_destroy(&options);
  underway.end();
  return done;
}

std::optional<std::size_t> hosts_unheard(mongoc_client_t* client) {
  if (client == nullptr) return std::nullopt;
  std::size_t heard = 0, hosts = 0;
  auto** all = mongoc_client_get_server_descriptions(client, &heard);
  mongoc_server_descriptions_destroy_all(all, heard);
  const auto* host = mongoc_uri_get_hosts(mongoc_client_get_uri(client));
  for (; host != nullptr; host = host->next) ++hosts;
  return heard == 0 ? std::optional(hosts) : std::nullopt;
}

bool is_in_vain(mongoc_client_t* client, const bson_error_t& error) {
  const std::string_view why(error.message);
  const auto reasons = why.find('[') == why.npos ? 0 : occurrences(why, "] [") + 1;
  const auto hosts = hosts_unheard(client);
  return hosts && (reasons >= *hosts || is_cut_off(error));
}

core::Reply driver_failure(const bson_error_t& error, std::optional<std::size_t> unheard) {
  core::Reply reply;
  reply.code = static_cast<int>(error.code);
  reply.message = error.message;
  if (error.domain == MONGOC_ERROR_SERVER_SELECTION) {
    const bool hopeless = unheard && none_serves_us(error, *unheard);
    reply.outcome = hopeless ? Outcome::configuration : Outcome::not_executed;
  } else if (error.domain == MONGOC_ERROR_STREAM) {
    reply.outcome = of_stream(error);
  } else if (of_login(error)) {  // before any command of ours
    const bool refused = says(error, kRefusedLogins);
    reply.outcome = refused ? Outcome::configuration : Outcome::not_executed;
    reply.message = (refused ? "authentication failed: " : "no log-in: ") + reply.message;
  } else if (error.domain == MONGOC_ERROR_BSON ||
             (error.domain == MONGOC_ERROR_CLIENT && error.code == MONGOC_ERROR_CLIENT_TOO_BIG)) {
    reply.outcome = Outcome::configuration;
  }
  return reply;
}

}  // namespace leasehold::mongo

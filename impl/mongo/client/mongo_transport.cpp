#include "mongo/client/mongo_transport.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <limits>
#include <memory>
#include <mutex>
#include <system_error>

#include "mongo/client/client.hpp"
#include "mongo/client/handles.hpp"
#include "mongo/client/own_session.hpp"
#include "mongo/client/sockets.hpp"
#include "mongo/commands.hpp"
#include "mongo/replies.hpp"

// Exported by libmongoc 1.x, but in no public header. Weak: without it the log handler that an
// application has set before is replaced.
extern "C" void _mongoc_log_get_handler(mongoc_log_func_t* handler, void** data)
    __attribute__((weak));

namespace leasehold::mongo {
namespace {

using core::Command;
using core::Outcome;
using core::Reply;

/// The last resort against a socket that hangs where no thread can cut it.
constexpr int kSocketTimeoutMs = 60'000;
constexpr int kMaxClients = 256;
/// The driver keeps at most `minPoolSize` idle clients: the clients of workers that replaced hung
/// ones would else stay for ever, with the sockets that were cut.
constexpr int kMaxIdleClients = 1;

struct Shared {
  std::string database;
  std::string collection;
  std::function<void(const std::string&)> on_wire;
  PoolHandle pool;  ///< one of our own sends endSessions, and reports it, when it is destroyed
  OwnSessions transactions;  ///< by the session that the bytes name
  /// By their cursors: one that is read and one that is about to be closed. A further cursor was
  /// forgotten: its answer came when no caller waited for it any more.
  OwnSessions streams{2};
  std::mutex starting;       ///< protects the next, and is held while the first client is taken
  bool driver_runs = false;  ///< its threads do, or they are the application's affair
  // What was asked and answered: a link that is slow gets one answer a connection.
  std::atomic<bool> servers_are_right = false, collection_is_right = false;
};

class MongoConnection final : public core::Connection {
 public:
  explicit MongoConnection(std::shared_ptr<Shared> shared) : shared_(std::move(shared)) {}
  ~MongoConnection() override { give_back(shared_->pool.get(), client_); }

  Reply execute(const Command& command) override {
    underway_.is(command.id);
    if (auto refused = refusal()) return std::move(*refused);
    Reply reply = run(command, build(command, shared_->collection));
    if (std::holds_alternative<core::EnsureIndexCommand>(command.body)) {
      return judge_index(std::move(reply));
    }
    return reply;
  }

  void interrupt(core::CommandId command) noexcept override { underway_.give_up(command); }

 private:
  Reply run(const Command& command, const Bson& bytes) {
    ReplyBson reply;
    bson_error_t error{};
    if (const auto* step = std::get_if<core::StreamCommand>(&command.body)) {
      return run_stream(command, *step, bytes);
    }
    if (in_transaction(bytes)) {
      run_in_transaction(shared_->pool.get(), shared_->transactions, shared_->database, bytes,
                         underway_, reply, error);
    } else {
      const auto* plain = std::get_if<core::RawCommand>(&command.body);
      const bool on_admin = plain != nullptr && plain->on_admin;
      run_here(on_admin ? "admin" : shared_->database, bytes, reply, error);
    }
    return read(command, reply, error);
  }

  bool run_here(const std::string& database, const Bson& bytes, ReplyBson& reply,
                bson_error_t& error) {
    return run_on_primary(client_, sockets_, underway_, nullptr, database, bytes.get(), reply,
                          error);
  }

  /// Nothing: it was answered, perhaps by a refusal to say. Otherwise why it was not; what was not
  /// answered has to be asked again, because no answer is no "no".
  std::optional<Reply> ask(const std::string& database, const Bson& bytes, ReplyBson& reply) {
    bson_error_t error{};
    run_here(database, bytes, reply, error);
    const int code = static_cast<int>(error.code);
    const bool answered = bson_has_field(reply.get(), "ok") && !spoils_whole_batch(code) &&
                          outcome_of_error(code) != Outcome::not_executed;
    if (answered) return std::nullopt;
    Reply unasked = driver_failure(error, hosts_unheard(client_));
    unasked.message = "no command was sent, for what the servers are is not known: " +
                      unasked.message;
    if (unasked.outcome == Outcome::unknown) unasked.outcome = Outcome::not_executed;
    return unasked;
  }

  /// Not by a find: those count the looks at locks.
  static Bson document_of(const char* collection, const std::string& id) {
    Bson read;
    read.text("aggregate", collection);
    read.array("pipeline", [&id](Bson& stages) {
      stages.doc("0", [&id](Bson& stage) {
        stage.doc("$match", [&id](Bson& filter) { filter.text("_id", id); });
      });
    });
    read.doc("cursor", [](Bson&) {});
    return read;
  }

  static Reply configuration(std::string message) {
    return {.outcome = Outcome::configuration, .message = std::move(message)};
  }

  Reply read(const Command& command, const ReplyBson& reply, const bson_error_t& error) {
    if (bson_has_field(reply.get(), "ok")) return read_reply(command, *reply.get());
    return driver_failure(error, hosts_unheard(client_));
  }

  Reply run_stream(const Command& command, const core::StreamCommand& step, const Bson& bytes) {
    bson_error_t error{};
    const bool opens = step.step == core::StreamCommand::Step::open;
    if (opens && through_mongos_) {
      return configuration("a mongos reports a write only when every shard has passed its time");
    }
    auto stream = opens ? OwnSession::start(shared_->pool.get(), error)
                        : shared_->streams.take(std::to_string(step.cursor));
    if (!stream && opens) return driver_failure(error, hosts_unheard(client_));
    if (!stream) {
      return {.outcome = Outcome::not_executed, .message = "the change stream is not open"};
    }
    ReplyBson bson;
    stream->run(shared_->database, bytes.get(), underway_, bson, error);
    Reply reply = read(command, bson, error);
    // One that was given up is dropped: its socket was cut, and the server's own time-out of idle
    // cursors ends the cursor.
    const bool lives_on = reply.outcome == Outcome::done && reply.cursor != 0;
    if (lives_on && !underway_.given_up()) {
      shared_->streams.put(std::to_string(reply.cursor), std::move(stream));
    }
    return reply;
  }

  mongoc_client_t* take_client(bson_error_t& error) {
    const std::lock_guard lock(shared_->starting);
    try {
      if (!shared_->driver_runs) require_means_of_driver();
    } catch (const std::system_error& none) {
      bson_set_error(&error, MONGOC_ERROR_SERVER_SELECTION, 0, "%s", none.what());
      return nullptr;
    }
    shared_->driver_runs = true;
    return borrow(shared_->pool.get(), sockets_, error);
  }

  /// What the servers are is asked once; a wrong kind stays wrong.
  std::optional<Reply> refusal() {
    if (server_is_right_) return std::nullopt;
    bson_error_t error;
    if (client_ == nullptr) client_ = take_client(error);
    if (client_ == nullptr) return driver_failure(error, std::nullopt);
    const DescriptionHandle server(mongoc_client_select_server(client_, true, nullptr, &error));
    if (!server) return driver_failure(error, hosts_unheard(client_));
    const bson_t& hello = *mongoc_server_description_hello_response(server.get());
    auto refused = refusal_of_chosen(hello);
    through_mongos_ = is_mongos(hello);
    if (!refused && !shared_->servers_are_right) {
      refused = through_mongos_ ? refusal_of_sharded() : refusal_of_shard();
      shared_->servers_are_right = !refused;
    }
    if (!refused && !shared_->collection_is_right) refused = refusal_of_collection();
    server_is_right_ = !refused;
    return refused;
  }

  /// A role that may not read it is not refused for that: its locks work, but for the removal of
  /// documents.
  std::optional<Reply> refusal_of_shard() {
    ReplyBson answer;
    const auto failed = ask("admin", document_of("system.version", "shardIdentity"), answer);
    if (failed) return failed;
    if (!is_of_a_shard(*answer.get())) return std::nullopt;
    return configuration(kIsAShard);
  }

  /// Most roles may ask for statistics, few for the entry in config.
  std::optional<Reply> refusal_of_sharded() {
    Bson stats;
    stats.text("collStats", shared_->collection);
    ReplyBson answer, entries;
    if (auto failed = ask(shared_->database, stats, answer)) return failed;
    if (says_unsharded(*answer.get())) return std::nullopt;
    const auto name = shared_->database + '.' + shared_->collection;
    if (auto failed = ask("config", document_of("collections", name), entries)) return failed;
    return refusal_of_sharding(*entries.get());
  }

  /// A capped collection loses its oldest documents, and with them locks that are held. A role that
  /// may not list collections is not refused for that.
  std::optional<Reply> refusal_of_collection() {
    Bson list;
    list.int32("listCollections", 1);
    list.doc("filter", [this](Bson& filter) { filter.text("name", shared_->collection); });
    ReplyBson answer;
    if (auto failed = ask(shared_->database, list, answer)) return failed;
    if (!Field(*answer.get(), "cursor.firstBatch.0.options.capped").truth()) {
      shared_->collection_is_right = true;
      return std::nullopt;
    }
    return configuration("collection '" + shared_->collection +
                         "' is capped: it must keep each document until that is deleted");
  }

  /// An index with other options, or a missing permission, is tolerated: the message of the reply,
  /// which is otherwise done, tells of it.
  Reply judge_index(Reply reply) {
    constexpr int kUnauthorized = 13, kOptionsConflict = 85, kKeySpecsConflict = 86;
    if (reply.code == kUnauthorized) {
      reply.outcome = Outcome::done;
      reply.message =
          "no permission to create it; documents of crashed holders stay unless "
          "another user does";
    } else if (reply.code == kOptionsConflict || reply.code == kKeySpecsConflict) {
      Bson list;
      list.text("listIndexes", shared_->collection);
      ReplyBson indexes;
      bson_error_t error;
      const bool listed = run_here(shared_->database, list, indexes, error);
      reply.outcome = Outcome::done;
      reply.message = listed ? judge_indexes(*indexes.get()) : error.message;
    } else if (reply.outcome == Outcome::done) {
      reply.message.clear();
    }
    return reply;
  }

  std::shared_ptr<Shared> shared_;
  mongoc_client_t* client_ = nullptr;  ///< from the first command on
  Sockets sockets_;
  Underway underway_;
  bool server_is_right_ = false, through_mongos_ = false;
};

class MongoTransport final : public core::Transport {
 public:
  explicit MongoTransport(std::shared_ptr<Shared> shared) : shared_(std::move(shared)) {}
  std::unique_ptr<core::Connection> connect() override {
    return std::make_unique<MongoConnection>(shared_);
  }

 private:
  std::shared_ptr<Shared> shared_;
};

/// A URI of DNS seeds is looked up while it is read; the URI is not bad if a name server is down.
Error no_pool(const bson_error_t& error) {
  const bool of_dns = is_name_resolution(error);
  return {of_dns ? ErrorKind::unavailable : ErrorKind::invalid_option,
          of_dns ? static_cast<int>(error.code) : 0, std::string("uri: ") + error.message};
}

void started(const mongoc_apm_command_started_t* event) {
  const auto* shared = static_cast<Shared*>(mongoc_apm_command_started_get_context(event));
  shared->on_wire(mongoc_apm_command_started_get_command_name(event));
}

void observe_wire(Shared& shared) {
  mongoc_apm_callbacks_t* callbacks = mongoc_apm_callbacks_new();
  mongoc_apm_set_command_started_cb(callbacks, started);
  mongoc_client_pool_set_apm_callbacks(shared.pool.get(), callbacks, &shared);
  mongoc_apm_callbacks_destroy(callbacks);
}

/// The failure of a command is in its outcome, so the driver need not log it as well.
void log_what_matters(mongoc_log_level_t level, const char* domain, const char* message, void*) {
  if (level <= MONGOC_LOG_LEVEL_CRITICAL) {
    mongoc_log_default_handler(level, domain, message, nullptr);
  }
}

/// An application that has a handler of its own keeps it.
void keep_log_quiet() {
  mongoc_log_func_t handler = mongoc_log_default_handler;
  void* data = nullptr;
  if (_mongoc_log_get_handler != nullptr) _mongoc_log_get_handler(&handler, &data);
  if (handler == mongoc_log_default_handler) mongoc_log_set_handler(log_what_matters, nullptr);
}

/// OpenSSL tears itself down in exit() unless its first user says otherwise. A thread of the driver
/// may still be in it then, because its server hangs, and would crash a process that has done its
/// work. Looked up, because a driver may be built without OpenSSL. Without effect if OpenSSL was
/// used before.
void leave_openssl_to_the_kernel() {
  using Init = int (*)(std::uint64_t options, const void* settings);
  constexpr std::uint64_t kNoAtExit = 0x00080000;  // OPENSSL_INIT_NO_ATEXIT
  const auto init = reinterpret_cast<Init>(dlsym(RTLD_DEFAULT, "OPENSSL_init_crypto"));
  if (init != nullptr) init(kNoAtExit, nullptr);
}

/// What the caller's URI may not decide, and what it decides unless it says otherwise.
void set_options(mongoc_uri_t* uri, const TransportOptions& options) {
  mongoc_uri_set_option_as_bool(uri, MONGOC_URI_RETRYWRITES, false);
  mongoc_uri_set_option_as_bool(uri, MONGOC_URI_RETRYREADS, false);
  mongoc_uri_set_option_as_int32(uri, MONGOC_URI_MAXPOOLSIZE, kMaxClients);
#ifdef MONGOC_URI_MINPOOLSIZE  // which libmongoc 2 has not: it keeps all idle clients
  mongoc_uri_set_option_as_int32(uri, MONGOC_URI_MINPOOLSIZE, kMaxIdleClients);
#endif
  mongoc_uri_set_option_as_int32(uri, MONGOC_URI_SOCKETTIMEOUTMS, kSocketTimeoutMs);
  mongoc_uri_set_option_as_int32(uri, MONGOC_URI_SERVERSELECTIONTIMEOUTMS,
                                 static_cast<std::int32_t>(std::min<std::int64_t>(
                                     options.server_selection_timeout.count(),
                                     std::numeric_limits<std::int32_t>::max())));
  // The driver would take a single seed for the whole set and never learn of another primary.
  if (!mongoc_uri_has_option(uri, MONGOC_URI_DIRECTCONNECTION) &&
      mongoc_uri_get_replica_set(uri) == nullptr) {
    mongoc_uri_set_option_as_bool(uri, MONGOC_URI_DIRECTCONNECTION, false);
  }
}

std::string database_in(const mongoc_uri_t* uri) {
  const char* named = mongoc_uri_get_database(uri);
  return named != nullptr ? named : "leasehold";
}

/// Also fills in the database, if the options name none.
Result<PoolHandle> own_pool(TransportOptions& options) {
  static std::once_flag once;
  std::call_once(once, [] {
    leave_openssl_to_the_kernel();
    mongoc_init();
    keep_log_quiet();
  });
  bson_error_t error;
  const UriHandle uri = parse_uri(options.uri, error);
  if (!uri) return no_pool(error);
  set_options(uri.get(), options);
  auto pool = make_pool(uri.get(), error);
  if (!pool) return no_pool(error);
  if (options.database.empty()) options.database = database_in(uri.get());
  return pool;
}

/// The application's pool; only one of its clients knows the database. The first client taken out
/// of a pool has the driver look for servers, so none is where the options name the database.
Result<PoolHandle> given_pool(TransportOptions& options) {
  if (!options.database.empty()) return options.pool;
  Sockets sockets;
  bson_error_t error;
  mongoc_client_t* client = borrow(options.pool.get(), sockets, error);
  if (client == nullptr) return Error{ErrorKind::unavailable, 0, error.message};
  options.database = database_in(mongoc_client_get_uri(client));
  give_back(options.pool.get(), client);
  return options.pool;
}

}  // namespace

Result<std::shared_ptr<core::Transport>> make_transport(TransportOptions options) {
  auto pool = options.pool ? given_pool(options) : own_pool(options);
  if (!pool) return pool.error();
  if (auto error = check_database(options.database)) return std::move(*error);
  auto shared = std::make_shared<Shared>();
  shared->pool = std::move(*pool);
  shared->driver_runs = options.pool != nullptr;
  shared->database = std::move(options.database);
  shared->collection = options.collection;
  shared->on_wire = std::move(options.on_wire);
  if (shared->on_wire) observe_wire(*shared);
  return std::shared_ptr<core::Transport>(std::make_shared<MongoTransport>(std::move(shared)));
}

}  // namespace leasehold::mongo

#pragma once

#include <mongoc/mongoc.h>

#include <mutex>
#include <optional>
#include <string>

#include "core/protocol.hpp"
#include "mongo/bson.hpp"
#include "mongo/client/handles.hpp"
#include "mongo/client/sockets.hpp"

/// The driver's clients, how a command that was given up stays unsent, and what the driver says
/// when there is no reply.
namespace leasehold::mongo {

/// White space around it is left out. Null: `error` says why. A URI with a second @ gives null,
/// because the driver would parse the rest of a password as a host name, and name it in errors; so
/// does a log-in that the driver does not survive or would try for ever.
[[nodiscard]] UriHandle parse_uri(const std::string& uri, bson_error_t& error);

/// Null: `error` says why.
[[nodiscard]] PoolHandle make_pool(const mongoc_uri_t* uri, bson_error_t& error);

/// Throws std::system_error unless the driver may start its threads, which it does at the first
/// `pop`, and open its sockets. It has to be asked before, because the driver does not look: it
/// would wait for a thread that never was, and say of a socket that a server cannot be reached.
void require_means_of_driver();

/// A client of the pool; the first has the driver start its threads. Null when the pool has none
/// left: `error` says so.
[[nodiscard]] mongoc_client_t* pop(mongoc_client_pool_t* pool, bson_error_t& error);

/// The same; its sockets are known from now on. REQUIRES: `sockets` outlives its use.
[[nodiscard]] mongoc_client_t* borrow(mongoc_client_pool_t* pool, Sockets& sockets,
                                      bson_error_t& error);

/// Null is fine.
void give_back(mongoc_client_pool_t* pool, mongoc_client_t* client);

/// The command that a connection carries, as seen by another thread that gives it up.
///
/// INVARIANT: once it is given up, nothing of it is sent. The driver may wait for a primary for as
/// long as the server selection time-out, and nothing can be cut in that time. So the driver is
/// asked for a primary first, then this class is asked, and only then is the command sent to that
/// one member, where cutting its sockets stops it. A command that is given up before it has begun
/// does not begin. `give_up` may come late: its number tells the command from the next one.
///
/// A connection that is being made for the command is not cut, because over a slow link with a
/// log-in no connection would ever be made in the time of a command. To give the command up once
/// more cuts that, too.
///
/// Thread safety: `give_up` from any thread, the rest from the connection's.
class Underway {
 public:
  void give_up(core::CommandId command) noexcept;
  /// From now on it is this command.
  void is(core::CommandId command);
  /// From now on a connection to this member may be made for it by these sockets, and from `begin`
  /// on it may be sent. False: it was given up; `error` says so.
  [[nodiscard]] bool connect(Sockets& sockets, const std::string& member, bson_error_t& error);
  [[nodiscard]] bool begin(bson_error_t& error);
  void end();
  [[nodiscard]] bool given_up() const;

 private:
  [[nodiscard]] bool refuses(bson_error_t& error) const;

  mutable std::mutex mutex_;  // protects the rest
  Sockets* on_ = nullptr;     ///< where it may hang
  bool connecting_ = false;
  core::CommandId command_ = 0;
  std::optional<core::CommandId> given_up_;
};

/// Has the error of a server that was not found say that the URI asks for TLS, if a server closed
/// the connection. One without TLS does so amid the handshake; the driver then says that the
/// handshake failed, or only that the connection was closed, by what it noticed first.
void name_encryption(const mongoc_client_t* client, bson_error_t& error);

/// A command on the primary. False: `error` says what the driver says, unless `reply` has an `ok`.
/// `session` may be null.
bool run_on_primary(mongoc_client_t* client, Sockets& sockets, Underway& underway,
                    mongoc_client_session_t* session, const std::string& database,
                    const bson_t* command, ReplyBson& reply, bson_error_t& error);

/// How many hosts the client's URI names; nothing once any member of the set was heard, because the
/// driver lists only those.
[[nodiscard]] std::optional<std::size_t> hosts_unheard(mongoc_client_t* client);

/// Whether looking longer for a server is in vain: no member is heard, as one would be amid an
/// election, and for each host the driver says why, as "[...] [...]", as far as its buffer goes.
[[nodiscard]] bool is_in_vain(mongoc_client_t* client, const bson_error_t& error);

/// What became of a command that the driver has no reply to, while so many hosts are unheard.
[[nodiscard]] core::Reply driver_failure(const bson_error_t& error,
                                         std::optional<std::size_t> unheard);

}  // namespace leasehold::mongo

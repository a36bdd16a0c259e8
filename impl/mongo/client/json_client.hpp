#pragma once

#include <mongoc/mongoc.h>

#include <chrono>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "mongo/bson.hpp"
#include "mongo/client/handles.hpp"

namespace leasehold::mongo {

using Json = nlohmann::ordered_json;  // the name of a command must stay its first key

/// No server answered.
struct NoReply : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A connection apart from every lock's: commands and replies as (extended) JSON. It is of a pool
/// of its own, because the driver's client without one hangs for ever if a set names members by
/// hosts that cannot be looked up. For one thread.
///
///     client.run("admin", {{"ping", 1}});
class JsonClient {
 public:
  using Read = std::function<void(const _bson_t& reply)>;  // a bson_t, but for its alignment

  /// Throws std::runtime_error for a bad URI, and NoReply if its hosts have to be looked up and no
  /// name server answers. `longest_reply`: unless the URI says how long to wait for one.
  explicit JsonClient(const std::string& uri,
                      std::optional<std::chrono::milliseconds> longest_reply = {});

  /// The reply, also of a command that failed. Throws NoReply if there is none, once each member
  /// has been asked in vain or after the URI's time-outs (10 s to find a server, unless it says); a
  /// command may then have been executed, and even twice. `read` is shown the reply's bytes, too.
  Json run(const std::string& database, const Json& command, const Read& read = {});

  /// The same, and throws unless the reply says ok.
  Json must(const std::string& database, const Json& command);

  /// The same, tried once, on one member of the set, whatever its office, or on the primary (0).
  Json run_once(const std::string& database, const Json& command, const Read& read = {},
                std::uint32_t member = 0);

  /// The same for a command in bytes; `read` gets its reply.
  void run_bytes(const std::string& database, const _bson_t& command, const Read& read);

  /// Shows `use` each document that a `find` finds, batch by batch. Nothing, or the reply of the
  /// command that failed; then some may have been shown. Throws NoReply.
  std::optional<Json> each(const std::string& database, const Json& find, const Read& use);

  /// A command in bytes, tried once, on one member or on the primary (0).
  void send(const std::string& database, const _bson_t& command, std::uint32_t member,
            const Read& read);

  struct Member {
    std::uint32_t id;
    std::string host;
  };
  /// Those that the driver has heard by now; of a cluster, its mongos. REQUIRES: a command was
  /// answered.
  [[nodiscard]] std::vector<Member> members() const;

  /// The one that the URI names, or this.
  [[nodiscard]] std::string database(const std::string& otherwise) const;

  [[nodiscard]] mongoc_client_t* get() { return client_.get(); }

 private:
  void tried_twice(const std::function<void()>& send_it);
  /// The primary, or one of several mongos: a cursor is known to the one that opened it.
  std::uint32_t that_takes_writes();

  struct GiveBack {
    PoolHandle pool;
    void operator()(mongoc_client_t* client) const { mongoc_client_pool_push(pool.get(), client); }
  };
  std::unique_ptr<mongoc_client_t, GiveBack> client_;
  std::chrono::milliseconds patience_;       ///< how long a server is looked for
};

/// Throws std::runtime_error for what is no extended JSON of a document.
[[nodiscard]] Bson from_json(const Json& document);

/// A document as extended JSON. Text in it that is no UTF-8 has a ? for each byte that is none.
[[nodiscard]] Json to_json(const _bson_t& document);

/// mongoc_init, once, and silence: the driver would talk on standard error at each time-out.
void init_driver();

/// From here on the driver's log is not shown. Its last error is kept, because the driver says the
/// cause of some failures, a file of certificates that cannot be read for instance, nowhere else.
/// May be called before the driver is initialised.
void keep_driver_log();
/// Empty: there was none.
[[nodiscard]] std::string last_error_logged();

/// Asks each host that the URI names, by itself and without a log-in, what it is, because a driver
/// that looks for a replica set does not tell what it found instead. A sentence for each host that
/// is no member of it: "h:1 is a standalone", "h:1 is a member of 'rs', the URI says 'other'"; or
/// knows no primary. Waits half a second for each at most.
/// `silent_too`: also why a host does not answer, which the driver says in brackets, "[..]", unless
/// it had no time to.
[[nodiscard]] std::vector<std::string> words_of_hosts(const std::string& uri, bool silent_too);

/// An integer in extended JSON, in any of its forms.
[[nodiscard]] std::int64_t integer(const Json& value);

/// A date in extended JSON, in ms since 1970; 0 for any other value.
[[nodiscard]] std::int64_t date_ms(const Json& value);

/// A BSON timestamp in extended JSON, packed as a fencing token.
[[nodiscard]] std::int64_t packed_timestamp(const Json& value);

}  // namespace leasehold::mongo

#pragma once

#include <mongoc/mongoc.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>

namespace leasehold::sim::live {

using Json = nlohmann::ordered_json;  // the name of a command must stay its first key

/// No server answered.
struct NoReply : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The harness's own connection, apart from every lock's: commands and replies as (extended) JSON.
/// For one thread.
///
///     client.run("admin", {{"ping", 1}});
class MongoClient {
 public:
  /// Throws std::runtime_error for a bad URI.
  explicit MongoClient(const std::string& uri);

  /// The reply, also of a command that failed. Throws NoReply if there is none, at once or after
  /// the time-outs of the URI; a command may then have been executed, and even twice.
  Json run(const std::string& database, const Json& command);

  /// The same, and throws unless the reply says ok.
  Json must(const std::string& database, const Json& command);

  /// The same, tried once: `read` is given the reply's bytes.
  template <typename Read>
  void run_and_read(const std::string& database, const Json& command, Read read) {
    bson_t reply;
    const auto error = execute(database, command, reply);
    if (!error) read(reply);
    bson_destroy(&reply);
    if (error) throw NoReply(*error);
  }

  [[nodiscard]] mongoc_client_t* get() { return client_.get(); }

 private:
  Json run_once(const std::string& database, const Json& command);
  /// Why there is no reply, if there is none.
  std::optional<std::string> execute(const std::string& database, const Json& command,
                                     bson_t& reply);

  struct Destroy {
    void operator()(mongoc_client_t* client) const { mongoc_client_destroy(client); }
  };
  std::unique_ptr<mongoc_client_t, Destroy> client_;
};

/// mongoc_init, once, and silence: the driver would talk on standard error at each time-out.
void init_driver();

/// An integer in extended JSON, in any of its forms.
[[nodiscard]] std::int64_t integer(const Json& value);

/// A BSON timestamp in extended JSON, packed as a fencing token.
[[nodiscard]] std::int64_t packed_timestamp(const Json& value);

}  // namespace leasehold::sim::live

#include "mongo/client/hosts.hpp"

#include <mongoc/mongoc.h>

#include <memory>
#include <mutex>
#include <string_view>

#include "mongo/bson.hpp"
#include "mongo/client/client.hpp"
#include "mongo/client/handles.hpp"
#include "mongo/client/json_client.hpp"
#include "mongo/replies.hpp"

namespace leasehold::mongo {
namespace {

constexpr int kPatience_ms = 500;

/// Never destroyed, because the driver's threads may log while the process ends.
struct KeptLog {
  std::mutex mutex;
  std::string last;  ///< protected by mutex
};
KeptLog& kept_log() {
  static auto& log = *new KeptLog();
  return log;
}

using ClientHandle = std::unique_ptr<mongoc_client_t, Call<mongoc_client_destroy>>;

/// For this host alone, by the same certificates.
UriHandle uri_of(const mongoc_host_list_t& host, const mongoc_uri_t* of) {
  UriHandle uri(mongoc_uri_new_for_host_port(host.host, host.port));
  if (!uri) return uri;
  mongoc_uri_set_option_as_bool(uri.get(), MONGOC_URI_DIRECTCONNECTION, true);
  mongoc_uri_set_option_as_int32(uri.get(), MONGOC_URI_SERVERSELECTIONTIMEOUTMS, kPatience_ms);
  mongoc_uri_set_option_as_int32(uri.get(), MONGOC_URI_CONNECTTIMEOUTMS, kPatience_ms);
  mongoc_uri_set_option_as_int32(uri.get(), MONGOC_URI_SOCKETTIMEOUTMS, kPatience_ms);
  bson_iter_t at;
  if (!bson_iter_init(&at, mongoc_uri_get_options(of))) return uri;
  while (bson_iter_next(&at)) {
    const std::string_view name(bson_iter_key(&at));
    if (!name.starts_with("tls")) continue;
    if (BSON_ITER_HOLDS_BOOL(&at)) {
      mongoc_uri_set_option_as_bool(uri.get(), name.data(), bson_iter_bool(&at));
    } else if (BSON_ITER_HOLDS_UTF8(&at)) {
      mongoc_uri_set_option_as_utf8(uri.get(), name.data(), bson_iter_utf8(&at, nullptr));
    }
  }
  return uri;
}

std::string text_in(const bson_t& document, const char* field) {
  bson_iter_t at;
  const bool found = bson_iter_init_find(&at, &document, field) && BSON_ITER_HOLDS_UTF8(&at);
  return found ? bson_iter_utf8(&at, nullptr) : "";
}

/// Empty: nothing is wrong with it, or it does not answer.
std::string words_of(const mongoc_host_list_t& host, const mongoc_uri_t* of, bool silent_too) {
  const auto uri = uri_of(host, of);
  const ClientHandle client(uri ? mongoc_client_new_from_uri(uri.get()) : nullptr);
  Bson hello;
  hello.int32("hello", 1);
  ReplyBson reply;
  bson_error_t error{};
  const bool answered = client && mongoc_client_command_simple(client.get(), "admin", hello.get(),
                                                               nullptr, reply.out(), &error);
  if (!answered) {
    const std::string_view why = error.message;
    const auto cause = why.find('[');
    if (!silent_too || (cause == why.npos && why.starts_with("No suitable servers"))) return "";
    return cause != why.npos ? std::string(why.substr(cause)) : "[" + std::string(why) + "]";
  }
  const std::string name = host.host_and_port;
  const auto set = text_in(*reply.get(), "setName");
  const char* wanted = mongoc_uri_get_replica_set(of);
  if (is_mongos(*reply.get())) {
    return wanted == nullptr ? "" : name + " is a mongos: leave replicaSet out of the URI";
  }
  bson_iter_t at;
  if (bson_iter_init_find(&at, reply.get(), "isreplicaset")) {
    return name + " was not initiated as a member of a set: rs.initiate() in mongosh does that";
  }
  if (set.empty()) {
    return name + " is a standalone: mongod --replSet NAME and rs.initiate() make it a set of one";
  }
  if (wanted != nullptr && set != wanted) {
    return name + " is a member of '" + set + "', the URI says '" + wanted + "'";
  }
  return text_in(*reply.get(), "primary").empty() ? name + " knows no primary" : "";
}

}  // namespace

void keep_driver_log() {
  mongoc_log_set_handler(
      [](mongoc_log_level_t level, const char*, const char* message, void*) {
        if (level != MONGOC_LOG_LEVEL_ERROR) return;
        const std::lock_guard lock(kept_log().mutex);
        kept_log().last = message;
      },
      nullptr);
}

std::string last_error_logged() {
  const std::lock_guard lock(kept_log().mutex);
  return kept_log().last;
}

std::vector<std::string> words_of_hosts(const std::string& uri, bool silent_too) {
  init_driver();
  bson_error_t error;
  const auto parsed = parse_uri(uri, error);
  std::vector<std::string> all;
  const auto* host = parsed ? mongoc_uri_get_hosts(parsed.get()) : nullptr;
  for (; host != nullptr; host = host->next) {
    auto words = words_of(*host, parsed.get(), silent_too);
    if (!words.empty()) all.push_back(std::move(words));
  }
  return all;
}

}  // namespace leasehold::mongo

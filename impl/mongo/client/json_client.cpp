#include "mongo/client/json_client.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <ctime>
#include <leasehold/fencing_token.hpp>
#include <mutex>
#include <string_view>

#include "core/document/utf8.hpp"
#include "mongo/bson.hpp"
#include "mongo/client/client.hpp"
#include "mongo/client/handles.hpp"
#include "mongo/replies.hpp"

namespace leasehold::mongo {
namespace {

constexpr std::chrono::milliseconds kNoticedAtOnce{500};
constexpr std::chrono::milliseconds kPatience{10'000};  ///< unless the URI says
/// For a server, before what is known is read: the driver asks each again after 500 ms.
constexpr int kLook_ms = 700;

/// Changes a copy that is ours, because the iterator has no other way to change a text in place.
void make_utf8(char* text, std::size_t size) {
  std::string_view rest(text, size);
  while (!rest.empty()) {
    const auto length = core::first_character(rest);
    if (length == 0) text[size - rest.size()] = '?';
    rest.remove_prefix(std::max<std::size_t>(length, 1));
  }
}

/// Names and texts of all depths.
void make_utf8(const bson_iter_t& start) {
  bson_iter_t at = start, inside;
  while (bson_iter_next(&at)) {
    char* key = const_cast<char*>(bson_iter_key(&at));
    make_utf8(key, std::strlen(key));
    std::uint32_t size = 0;
    if (BSON_ITER_HOLDS_UTF8(&at)) {
      make_utf8(const_cast<char*>(bson_iter_utf8(&at, &size)), size);
    } else if (bson_iter_type(&at) == BSON_TYPE_SYMBOL) {
      make_utf8(const_cast<char*>(bson_iter_symbol(&at, &size)), size);
    } else if (BSON_ITER_HOLDS_CODE(&at)) {
      make_utf8(const_cast<char*>(bson_iter_code(&at, &size)), size);
    } else if ((BSON_ITER_HOLDS_DOCUMENT(&at) || BSON_ITER_HOLDS_ARRAY(&at)) &&
               bson_iter_recurse(&at, &inside)) {
      make_utf8(inside);
    }
  }
}

struct Free {
  void operator()(char* text) const { bson_free(text); }
};
using Text = std::unique_ptr<char, Free>;

/// Shows `use` the documents of a batch, and returns the cursor's number; 0: that was the last one.
std::int64_t show_batch(const bson_t& reply, const JsonClient::Read& use) {
  for (const char* batch : {"cursor.firstBatch", "cursor.nextBatch"}) {
    Field(reply, batch).each_document(use);
  }
  return Field(reply, "cursor.id").number();
}

constexpr int kHostsPatience_ms = 500;

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
  mongoc_uri_set_option_as_int32(uri.get(), MONGOC_URI_SERVERSELECTIONTIMEOUTMS, kHostsPatience_ms);
  mongoc_uri_set_option_as_int32(uri.get(), MONGOC_URI_CONNECTTIMEOUTMS, kHostsPatience_ms);
  mongoc_uri_set_option_as_int32(uri.get(), MONGOC_URI_SOCKETTIMEOUTMS, kHostsPatience_ms);
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
  const auto set = Field(*reply.get(), "setName").text();
  const char* wanted = mongoc_uri_get_replica_set(of);
  if (is_mongos(*reply.get())) {
    return wanted == nullptr ? "" : name + " is a mongos: leave replicaSet out of the URI";
  }
  if (Field(*reply.get(), "isreplicaset")) {
    return name + " was not initiated as a member of a set: rs.initiate() in mongosh does that";
  }
  if (set.empty()) {
    return name + " is a standalone: mongod --replSet NAME and rs.initiate() make it a set of one";
  }
  if (wanted != nullptr && set != wanted) {
    return name + " is a member of '" + set + "', the URI says '" + wanted + "'";
  }
  return Field(*reply.get(), "primary").text().empty() ? name + " knows no primary" : "";
}

}  // namespace

Bson from_json(const Json& document) {
  bson_error_t error;
  const std::string text = document.dump();
  bson_t* bytes = bson_new_from_json(reinterpret_cast<const std::uint8_t*>(text.data()),
                                     static_cast<ssize_t>(text.size()), &error);
  if (bytes == nullptr) throw std::runtime_error("not BSON: " + std::string(error.message));
  return Bson(bytes);
}

Json to_json(const bson_t& document) {
  Text text(bson_as_relaxed_extended_json(&document, nullptr));
  if (!text) {
    const Bson copy(bson_copy(&document));
    bson_iter_t at;
    if (bson_iter_init(&at, copy.get())) make_utf8(at);
    text.reset(bson_as_relaxed_extended_json(copy.get(), nullptr));
  }
  if (!text) throw std::runtime_error("a server's document is no BSON");
  return Json::parse(text.get());
}

void init_driver() {
  static std::once_flag once;
  std::call_once(once, [] {
    // For the processes that this one starts: one that is killed leaves its counters in /dev/shm.
    setenv("MONGOC_DISABLE_SHM", "1", 0);
    mongoc_init();
    keep_driver_log();
  });
}

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

JsonClient::JsonClient(const std::string& uri,
                       std::optional<std::chrono::milliseconds> longest_reply) {
  init_driver();
  bson_error_t error;
  const auto handle = parse_uri(uri, error);
  mongoc_uri_t* parsed = handle.get();
  if (parsed == nullptr) throw std::runtime_error(std::string("uri: ") + error.message);
  if (!mongoc_uri_has_option(parsed, MONGOC_URI_DIRECTCONNECTION) &&
      mongoc_uri_get_replica_set(parsed) == nullptr) {
    mongoc_uri_set_option_as_bool(parsed, MONGOC_URI_DIRECTCONNECTION, false);
  }
  mongoc_uri_set_option_as_bool(parsed, MONGOC_URI_RETRYWRITES, false);
  if (longest_reply && !mongoc_uri_has_option(parsed, MONGOC_URI_SOCKETTIMEOUTMS)) {
    mongoc_uri_set_option_as_int32(parsed, MONGOC_URI_SOCKETTIMEOUTMS,
                                   static_cast<std::int32_t>(longest_reply->count()));
  }
  patience_ = std::chrono::milliseconds(mongoc_uri_get_option_as_int32(
      parsed, MONGOC_URI_SERVERSELECTIONTIMEOUTMS, static_cast<std::int32_t>(kPatience.count())));
  mongoc_uri_set_option_as_int32(parsed, MONGOC_URI_SERVERSELECTIONTIMEOUTMS, kLook_ms);
  const auto pool = make_pool(parsed, error);
  if (!pool && is_name_resolution(error)) throw NoReply(error.message);
  if (!pool) throw std::runtime_error(std::string("uri: ") + error.message);
  require_means_of_driver();
  client_ = {pop(pool.get(), error), GiveBack{pool}};
  if (!client_) throw NoReply(error.message);
}

std::string JsonClient::database(const std::string& otherwise) const {
  const char* named = mongoc_uri_get_database(mongoc_client_get_uri(client_.get()));
  return named != nullptr ? named : otherwise;
}

void JsonClient::run_bytes(const std::string& database, const bson_t& command, const Read& read) {
  tried_twice([&] { send(database, command, 0, read); });
}

/// A member that changed its office has closed our connection: the first try only notices.
void JsonClient::tried_twice(const std::function<void()>& send_it) {
  const auto began = std::chrono::steady_clock::now();
  try {
    return send_it();
  } catch (const NoReply&) {
    if (std::chrono::steady_clock::now() - began > kNoticedAtOnce) throw;
  }
  send_it();
}

Json JsonClient::run(const std::string& database, const Json& command, const Read& read) {
  Json reply;
  tried_twice([&] { reply = run_once(database, command, read); });
  return reply;
}

Json JsonClient::run_once(const std::string& database, const Json& command, const Read& read,
                          std::uint32_t member) {
  Json reply;
  send(database, *from_json(command).get(), member, [&](const bson_t& bytes) {
    if (read) read(bytes);
    reply = to_json(bytes);
  });
  return reply;
}

std::optional<Json> JsonClient::each(const std::string& database, const Json& find,
                                     const Read& use) {
  constexpr int kBatch = 2'000;
  std::int64_t cursor = 0;
  std::optional<Json> failed;
  const auto read = [&](const bson_t& reply) {
    const bool done = Field(reply, "ok").truth();
    cursor = done ? show_batch(reply, use) : 0;
    if (!done) failed = to_json(reply);
  };
  Json first = find;
  first["batchSize"] = kBatch;
  std::uint32_t member = 0;
  tried_twice([&] {
    member = that_takes_writes();
    send(database, *from_json(first).get(), member, read);
  });
  const std::string collection = find.begin().value();
  while (cursor != 0) {
    const Json more{{"getMore", {{"$numberLong", std::to_string(cursor)}}},
                    {"collection", collection},
                    {"batchSize", kBatch}};
    send(database, *from_json(more).get(), member, read);
  }
  return failed;
}

std::uint32_t JsonClient::that_takes_writes() {
  bson_error_t error{};
  const auto latest = std::chrono::steady_clock::now() + patience_;
  do {
    const DescriptionHandle one(mongoc_client_select_server(client_.get(), true, nullptr, &error));
    if (one) return mongoc_server_description_id(one.get());
  } while (std::chrono::steady_clock::now() < latest && !is_in_vain(client_.get(), error));
  name_encryption(client_.get(), error);
  throw NoReply(error.message);
}

std::vector<JsonClient::Member> JsonClient::members() const {
  std::size_t count = 0;
  auto** all = mongoc_client_get_server_descriptions(client_.get(), &count);
  std::vector<Member> members;
  for (std::size_t i = 0; i < count; ++i) {
    members.push_back({mongoc_server_description_id(all[i]),
                       mongoc_server_description_host(all[i])->host_and_port});
  }
  mongoc_server_descriptions_destroy_all(all, count);
  return members;
}

void JsonClient::send(const std::string& database, const bson_t& command, std::uint32_t member,
                      const Read& read) {
  bson_error_t error{};
  ReplyBson reply;
  if (member == 0) member = that_takes_writes();
  mongoc_client_command_simple_with_server_id(client_.get(), database.c_str(), &command, nullptr,
                                              member, reply.out(), &error);
  if (bson_has_field(reply.get(), "ok")) return read(*reply.get());
  name_encryption(client_.get(), error);
  throw NoReply(*error.message == '\0' ? "no member of the set was found" : error.message);
}

Json JsonClient::must(const std::string& database, const Json& command) {
  Json reply = run(database, command);
  if (integer(reply["ok"]) != 1) {
    throw std::runtime_error(command.begin().key() + ": " + reply.value("errmsg", "failed"));
  }
  return reply;
}

std::int64_t integer(const Json& value) {
  if (value.is_number_integer()) return value.get<std::int64_t>();
  if (value.is_number()) return static_cast<std::int64_t>(value.get<double>());
  if (value.contains("$numberLong")) return std::stoll(value["$numberLong"].get<std::string>());
  return 0;
}

std::int64_t packed_timestamp(const Json& value) {
  const auto& t = value.at("$timestamp");
  return FencingToken::from_timestamp(t.at("t").get<std::uint32_t>(),
                                      t.at("i").get<std::uint32_t>())
      .value();
}

std::int64_t date_ms(const Json& value) {
  if (!value.is_object() || !value.contains("$date")) return 0;
  const Json& at = value["$date"];
  if (at.is_object()) return integer(at);
  // Relaxed extended JSON writes the usual ones as text: 2026-11-22T01:02:03.456Z.
  std::tm parts{};
  const auto text = at.get<std::string>();
  const char* rest = strptime(text.c_str(), "%Y-%m-%dT%H:%M:%S", &parts);
  std::int64_t ms = 0;
  if (rest != nullptr && *rest == '.') {
    constexpr std::int64_t kTenths = 100;
    auto unit = kTenths;
    for (++rest; unit > 0 && *rest >= '0' && *rest <= '9'; ++rest, unit /= 10) {
      ms += unit * (*rest - '0');
    }
  }
  return timegm(&parts) * 1'000 + ms;
}

}  // namespace leasehold::mongo

#include "mongo/json_client.hpp"

#include <chrono>
#include <ctime>
#include <leasehold/fencing_token.hpp>
#include <mutex>

#include "mongo/bson.hpp"

namespace leasehold::mongo {
namespace {

constexpr std::chrono::milliseconds kNoticedAtOnce{500};

Json to_json(const bson_t& bytes) {
  char* out = bson_as_relaxed_extended_json(&bytes, nullptr);
  auto parsed = Json::parse(out);
  bson_free(out);
  return parsed;
}

}  // namespace

void init_driver() {
  static std::once_flag once;
  std::call_once(once, [] {
    // For the processes that this one starts: one that is killed leaves its counters in /dev/shm.
    setenv("MONGOC_DISABLE_SHM", "1", 0);
    mongoc_init();
    mongoc_log_set_handler([](mongoc_log_level_t, const char*, const char*, void*) {}, nullptr);
  });
}

JsonClient::JsonClient(const std::string& uri) {
  init_driver();
  bson_error_t error;
  mongoc_uri_t* parsed = mongoc_uri_new_with_error(uri.c_str(), &error);
  if (parsed == nullptr) throw std::runtime_error(std::string("uri: ") + error.message);
  if (!mongoc_uri_has_option(parsed, MONGOC_URI_DIRECTCONNECTION) &&
      mongoc_uri_get_replica_set(parsed) == nullptr) {
    mongoc_uri_set_option_as_bool(parsed, MONGOC_URI_DIRECTCONNECTION, false);
  }
  mongoc_uri_set_option_as_bool(parsed, MONGOC_URI_RETRYWRITES, false);
  client_.reset(mongoc_client_new_from_uri(parsed));
  mongoc_uri_destroy(parsed);
  if (!client_) throw std::runtime_error("no client for the uri");
  mongoc_client_set_error_api(client_.get(), MONGOC_ERROR_API_VERSION_2);
}

std::string JsonClient::database(const std::string& otherwise) const {
  const char* named = mongoc_uri_get_database(mongoc_client_get_uri(client_.get()));
  return named != nullptr ? named : otherwise;
}

Json JsonClient::run(const std::string& database, const Json& command, const Read& read) {
  const auto began = std::chrono::steady_clock::now();
  try {
    return run_once(database, command, read);
  } catch (const NoReply&) {
    // A member that changed its office has closed our connection: the first try only notices.
    if (std::chrono::steady_clock::now() - began > kNoticedAtOnce) throw;
    return run_once(database, command, read);
  }
}

Json JsonClient::run_once(const std::string& database, const Json& command, const Read& read) {
  return execute(database, command, 0, read);
}

Json JsonClient::run_on(std::uint32_t member, const std::string& database, const Json& command) {
  return execute(database, command, member, {});
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

Json JsonClient::execute(const std::string& database, const Json& command, std::uint32_t member,
                         const Read& read) {
  bson_error_t error;
  const std::string text = command.dump();
  bson_t* bytes = bson_new_from_json(reinterpret_cast<const std::uint8_t*>(text.data()),
                                     static_cast<ssize_t>(text.size()), &error);
  if (bytes == nullptr) throw std::runtime_error("command: " + std::string(error.message));
  ReplyBson reply;
  if (member == 0) {
    mongoc_client_command_with_opts(client_.get(), database.c_str(), bytes, nullptr, nullptr,
                                    reply.out(), &error);
  } else {
    mongoc_client_command_simple_with_server_id(client_.get(), database.c_str(), bytes, nullptr,
                                                member, reply.out(), &error);
  }
  bson_destroy(bytes);
  if (!bson_has_field(reply.get(), "ok")) throw NoReply(error.message);
  if (read) read(*reply.get());
  return to_json(*reply.get());
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

#include "sim/live/mongo_client.hpp"

#include <chrono>
#include <leasehold/fencing_token.hpp>
#include <mutex>

namespace leasehold::sim::live {
namespace {

constexpr std::chrono::milliseconds kNoticedAtOnce{500};

}  // namespace

void init_driver() {
  static std::once_flag once;
  std::call_once(once, [] {
    setenv("MONGOC_DISABLE_SHM", "1", 0);  // or it warns on a machine with little shared memory
    mongoc_init();
    mongoc_log_set_handler([](mongoc_log_level_t, const char*, const char*, void*) {}, nullptr);
  });
}

MongoClient::MongoClient(const std::string& uri) {
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

Json MongoClient::run(const std::string& database, const Json& command) {
  const auto began = std::chrono::steady_clock::now();
  try {
    return run_once(database, command);
  } catch (const NoReply&) {
    // A member that changed its office has closed our connection: the first try only notices.
    if (std::chrono::steady_clock::now() - began > kNoticedAtOnce) throw;
    return run_once(database, command);
  }
}

Json MongoClient::run_once(const std::string& database, const Json& command) {
  Json parsed;
  run_and_read(database, command, [&parsed](const bson_t& reply) {
    char* out = bson_as_relaxed_extended_json(&reply, nullptr);
    parsed = Json::parse(out);
    bson_free(out);
  });
  return parsed;
}

std::optional<std::string> MongoClient::execute(const std::string& database, const Json& command,
                                                bson_t& reply) {
  bson_error_t error;
  const std::string text = command.dump();
  bson_t* bytes = bson_new_from_json(reinterpret_cast<const std::uint8_t*>(text.data()),
                                     static_cast<ssize_t>(text.size()), &error);
  if (bytes == nullptr) throw std::runtime_error("command: " + std::string(error.message));
  mongoc_client_command_with_opts(client_.get(), database.c_str(), bytes, nullptr, nullptr, &reply,
                                  &error);
  bson_destroy(bytes);
  return bson_has_field(&reply, "ok") ? std::nullopt : std::optional<std::string>(error.message);
}

Json MongoClient::must(const std::string& database, const Json& command) {
  Json reply = run(database, command);
  if (integer(reply["ok"]) != 1) {
    throw std::runtime_error(command.begin().key() + ": " + reply.value("errmsg", "failed"));
  }
  return reply;
}

std::int64_t integer(const Json& value) {
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

}  // namespace leasehold::sim::live

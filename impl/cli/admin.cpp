#include "cli/admin.hpp"

#include "mongo/errors.hpp"

namespace leasehold::cli {
namespace {

std::int64_t date_of(const Json& document, const char* field) {
  const auto found = document.find(field);
  return found == document.end() ? 0 : date_ms(*found);
}

std::string text_of(const Json& document, const char* field) {
  const auto found = document.find(field);
  return found != document.end() && found->is_string() ? found->get<std::string>() : "";
}

SeenLock seen(const Json& document) {
  SeenLock lock;
  lock.name = text_of(document, "_id");
  lock.lock_id = text_of(document, "lockId");
  lock.parts = core::parse_lock_id(lock.lock_id);
  if (lock.parts) lock.holder = core::holder_in(lock.lock_id);
  lock.acquired_ms = date_of(document, "acquiredAt");
  lock.expires_ms = date_of(document, "expiresAt");
  lock.now_ms = date_of(document, "now");
  if (document.contains("fencingToken")) lock.token = mongo::integer(document["fencingToken"]);
  return lock;
}

mongo::JsonClient connected(const std::string& uri) {
  try {
    return mongo::JsonClient(uri);
  } catch (const std::runtime_error& error) {
    throw UsageError(error.what());
  }
}

}  // namespace

Admin::Admin(const Server& server)
    : client_(connected(server.uri)),
      database_(server.database.empty() ? client_.database("leasehold") : server.database),
      collection_(server.collection) {}

Json Admin::run(const std::string& database, const Json& command,
                const mongo::JsonClient::Read& read) {
  try {
    return client_.run(database, command, read);
  } catch (const mongo::NoReply& error) {
    throw no_answer(error);
  }
}

Json Admin::must(const std::string& database, const Json& command) {
  Json reply = run(database, command);
  if (mongo::integer(reply["ok"]) == 1) return reply;
  throw Failure(kUnavailable, command.begin().key() + ": " +
                                  mongo::without_command(reply.value("errmsg", "failed")));
}

Json Admin::must_bytes(const mongo::Bson& command) {
  char* text = bson_as_canonical_extended_json(command.get(), nullptr);
  const auto json = Json::parse(text);
  bson_free(text);
  return must(database_, json);
}

std::vector<SeenLock> Admin::find(const Json& filter) {
  constexpr int kMost = 100'000;
  const Json reply = must(database_, {{"find", collection_},
                                      {"filter", filter},
                                      {"sort", {{"_id", 1}}},
                                      {"projection",
                                       {{"lockId", 1},
                                        {"acquiredAt", 1},
                                        {"expiresAt", 1},
                                        {"fencingToken", 1},
                                        {"now", "$$NOW"}}},
                                      {"batchSize", kMost},
                                      {"singleBatch", true}});
  std::vector<SeenLock> locks;
  for (const Json& document : reply["cursor"]["firstBatch"]) locks.push_back(seen(document));
  return locks;
}

std::vector<SeenLock> Admin::locks() { return find(Json::object()); }

std::optional<SeenLock> Admin::lock(const std::string& name) {
  auto found = find({{"_id", name}});
  if (found.empty()) return std::nullopt;
  return std::move(found.front());
}

Json Admin::oplog_of(const std::string& name) const {
  return {{"ns", database_ + "." + collection_},
          {"$or", Json::array({{{"o2._id", name}}, {{"o._id", name}}})}};
}

Result<std::vector<Json>> Admin::last_writes(const std::string& name, int count) {
  const Json reply = run("local", {{"find", "oplog.rs"},
                                   {"filter", oplog_of(name)},
                                   {"sort", {{"$natural", -1}}},
                                   {"limit", count},
                                   {"singleBatch", true},
                                   {"maxTimeMS", 5'000}});
  if (mongo::integer(reply["ok"]) != 1) {
    return Error{ErrorKind::configuration, static_cast<int>(mongo::integer(reply["code"])),
                 reply.value("errmsg", "refused")};
  }
  std::vector<Json> writes;
  for (const Json& entry : reply["cursor"]["firstBatch"]) {
    const auto op = entry.value("op", "");
    Json write{{"at", date(date_of(entry, "wall"))},
               {"what", op == "i"   ? "insert"
                        : op == "d" ? "delete"
                                    : "update"}};
    const Json& after = entry["o"];
    if (after.contains("lockId")) write["lockId"] = after["lockId"];
    writes.push_back(std::move(write));
  }
  return writes;
}

Failure no_answer(const mongo::NoReply& error) {
  return {kUnavailable, std::string("no answer from the replica set: ") + error.what()};
}

Json to_json(const SeenLock& lock) {
  Json json{{"name", lock.name},
            {"lockId", lock.lock_id},
            {"acquiredAt", date(lock.acquired_ms)},
            {"expiresAt", date(lock.expires_ms)},
            {"leftMs", lock.left_ms()},
            {"fencingToken", std::to_string(lock.token)}};
  if (lock.parts) {
    json["holder"] = lock.holder;
    json["leaseMs"] = lock.parts->lease_ms;
    json["beat"] = lock.parts->beat;
  }
  return json;
}

}  // namespace leasehold::cli

#include "cli/admin/admin.hpp"

#include "cli/admin/lock_life.hpp"
#include "core/document/lock_queue.hpp"
#include "core/document/lock_readers.hpp"
#include "mongo/commands.hpp"
#include "mongo/replies.hpp"

namespace leasehold::cli {
namespace {

mongo::JsonClient connected(const std::string& uri) {
  try {
    return mongo::JsonClient(uri);
  } catch (const mongo::NoReply& error) {
    throw Failure(kUnavailable, error.what());
  } catch (const std::system_error&) {
    throw;
  } catch (const std::runtime_error& error) {
    throw UsageError(error.what());
  }
}

Failure refused(const std::string& command, const Json& reply) {
  return {kUnavailable, command + ": " + mongo::without_command(reply.value("errmsg", "failed"))};
}

core::LockDocument read(const bson_t& bytes) {
  auto document = mongo::read_lock_document(bytes);
  if (mongo::Field(bytes, "_id").type() == BSON_TYPE_UTF8) return document;
  // It stands for no lock, but people must find it.
  document.name = mongo::to_json(bytes)["_id"].dump();
  document.corruption = "_id is no string";
  return document;
}

}  // namespace

SeenLock::SeenLock(core::LockDocument read)
    : document(std::move(read)),
      id(core::parse_lock_id(document.lock_id)),
      waiting(core::owners_in(document.queue).size()) {}

const char* SeenLock::state() const {
  if (is_corrupt()) return "corrupt";
  if (is_free()) return "free";
  if (left_ms() < 0) return "expired";
  return id ? "held" : "held by other software";
}

std::string SeenLock::holder() const {
  if (is_corrupt()) return document.corruption;
  if (is_free()) return "";
  return core::holder_for_people(document.lock_id);
}

std::int64_t SeenLock::left_ms() const {
  return document.expires_at.since_1970_ms - document.read_at.since_1970_ms;
}

Admin::Admin(const Server& server)
    : uri_(server.uri),
      client_(connected(server.uri)),
      database_(server.database.empty() ? client_.database("leasehold") : server.database),
      collection_(server.collection) {
  if (const auto error = check_database(database_)) throw UsageError(error->message);
}

/// The driver reports its own failure; the hosts are asked what they are.
template <typename Ask>
auto Admin::answered(Ask ask) const {
  try {
    return ask();
  } catch (const mongo::NoReply& error) {
    std::string what = std::string("no answer from the replica set: ") + error.what();
    const bool has_cause = what.find('[') != what.npos;
    for (const auto& said : mongo::words_of_hosts(uri_, !has_cause)) what += "; " + said;
    if (const auto logged = mongo::last_error_logged(); !logged.empty()) what += "; " + logged;
    throw Failure(kUnavailable, what);
  }
}

Json Admin::run(const std::string& database, const Json& command,
                const mongo::JsonClient::Read& read) {
  return answered([&] { return client_.run(database, command, read); });
}

Json Admin::must(const std::string& database, const mongo::Bson& command) {
  Json reply;
  answered([&] {
    client_.run_bytes(database, *command.get(),
                      [&reply](const bson_t& answer) { reply = mongo::to_json(answer); });
  });
  if (mongo::integer(reply["ok"]) == 1) return reply;
  bson_iter_t at;
  throw refused(
      bson_iter_init(&at, command.get()) && bson_iter_next(&at) ? bson_iter_key(&at) : "?", reply);
}

core::Reply Admin::must_command(const core::Command& command) {
  core::Reply reply;
  const auto bytes = mongo::build(command, collection_);
  answered([&] {
    client_.run_bytes(database_, *bytes.get(),
                      [&](const bson_t& answer) { reply = mongo::read_reply(command, answer); });
  });
  const bool executed =
      reply.outcome == core::Outcome::done || reply.outcome == core::Outcome::unknown;
  if (!executed) throw Failure(kUnavailable, reply.message);
  return reply;
}

void Admin::each(const std::string& database, const Json& find,
                 const mongo::JsonClient::Read& use) {
  const auto failed = answered([&] { return client_.each(database, find, use); });
  if (failed) throw refused("find", *failed);
}

Json Admin::find(const Json& filter) const {
  return {{"find", collection_},
          {"filter", filter},
          {"sort", {{"_id", 1}}},
          {"projection",
           {{"lockId", 1},
            {"acquiredAt", 1},
            {"expiresAt", 1},
            {"fencingToken", 1},
            {"now", "$$NOW"}}}};
}

void Admin::each_lock(const std::function<void(const SeenLock& lock)>& use) {
  each(database_, find(Json::object()), [&](const bson_t& one) { use(SeenLock(read(one))); });
}

std::unique_ptr<const SeenLock> Admin::held_lock(const std::string& name) {
  std::unique_ptr<const SeenLock> found;
  each(database_, find({{"_id", name}}),
       [&](const bson_t& one) { found = std::make_unique<const SeenLock>(read(one)); });
  if (!found) throw Failure(kFound, "lock '" + name + "' is free: it has no document");
  if (found->is_free()) throw Failure(kFound, "lock '" + name + "' is free: it was released");
  return found;
}

Json Admin::oplog_of(const std::string& name) const {
  const Json write{{"ns", space()}, {"$or", Json::array({{{"o2._id", name}}, {{"o._id", name}}})}};
  return {{"$or", Json::array({write, {{"op", "c"}, {"o.applyOps", {{"$elemMatch", write}}}}})}};
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
    for (const Json& one : writes_of(entry, space(), name)) {
      const auto op = one.value("op", "");
      Json write{{"at", date(date_ms(one.value("wall", Json())))},
                 {"what", op == "i"   ? "insert"
                          : op == "d" ? "delete"
                                      : "update"}};
      const Json& after = one.at("o");
      if (after.contains("lockId")) write["lockId"] = after["lockId"];
      writes.push_back(std::move(write));
    }
  }
  return writes;
}

Json to_json(const SeenLock& lock) {
  const auto& document = lock.document;
  Json json{{"name", document.name}, {"state", lock.state()}, {"lockId", document.lock_id}};
  if (lock.is_corrupt()) json["corruption"] = document.corruption;
  if (lock.since_ms() != 0) json["acquiredAt"] = date(lock.since_ms());
  if (!lock.is_corrupt() && !lock.is_free()) {
    json["expiresAt"] = date(document.expires_at.since_1970_ms);
    json["leftMs"] = lock.left_ms();
  }
  json["fencingToken"] = std::to_string(document.fencing_token);
  if (lock.waiting > 0) json["waiting"] = lock.waiting;
  const auto readers = core::readers_in(document.lock_id);
  for (const auto& reader : readers) {
    const auto id = core::parse_lock_id(reader.lock_id);
    json["readers"].push_back({{"holder", core::holder_for_people(reader.lock_id)},
                               {"acquiredAt", date(reader.since.since_1970_ms)},
                               {"expiresAt", date(reader.until.since_1970_ms)},
                               {"leaseMs", id ? id->lease_ms : 0}});
    if (id && id->room > 0) json["readers"].back()["permit"] = reader.slot;
  }
  if (lock.id && lock.id->room > 0) json["permits"] = int{lock.id->room};
  if (lock.id && readers.empty() && !lock.is_free()) {
    json["holder"] = lock.id->holder;
    json["leaseMs"] = lock.id->lease_ms;
    json["beat"] = lock.id->beat;
  }
  return json;
}

}  // namespace leasehold::cli

#include <mongoc/mongoc.h>

#include <leasehold/mongoc.hpp>

#include "mongo/bson.hpp"
#include "mongo/client/client.hpp"
#include "mongo/replies.hpp"

namespace leasehold::inline v0_1 {
namespace {

using mongo::Bson;

/// The greatest token that was let in, and the greatest that wrote.
constexpr const char* kSeen = "fencingToken";
constexpr const char* kWrote = "writeToken";
constexpr int kDuplicateKey = 11000;

Error invalid(const std::string& what) { return {ErrorKind::invalid_option, 0, what}; }

std::optional<Error> check(const bson_t& id, FencingToken token) {
  if (bson_count_keys(&id) != 1 || !bson_has_field(&id, "_id")) {
    return invalid("id must be a document with _id and nothing else");
  }
  if (token.value() <= 0) return invalid("token is 0: it must be that of a lock that was held");
  return std::nullopt;
}

std::optional<Error> check(const bson_t& id, const bson_t& update, FencingToken token) {
  if (auto error = check(id, token)) return error;
  bson_iter_t at;
  if (!bson_iter_init(&at, &update) || bson_empty(&update)) return invalid("update is empty");
  while (bson_iter_next(&at)) {
    if (*bson_iter_key(&at) == '$' && BSON_ITER_HOLDS_DOCUMENT(&at)) continue;
    return invalid(std::string("update has '") + bson_iter_key(&at) +
                   "': it must have update operators only, each with a document");
  }
  return std::nullopt;
}

Bson copy_of(const bson_t& document) {
  return Bson::of({reinterpret_cast<const char*>(bson_get_data(&document)), document.len});
}

/// The document, if what it has in this field is not above the token.
Bson query_of(const bson_t& id, const char* field, FencingToken token) {
  Bson query = copy_of(id);
  query.array("$or", [&](Bson& either) {
    either.doc("0", [&](Bson& b) { b.null(field); });  // missing, or null as some mappers write it
    either.doc("1", [&](Bson& b) {
      b.doc(field, [&](Bson& f) {
        f.int64("$lte", token.value());
        f.doc("$not", [](Bson& n) { n.text("$type", "array"); });  // $lte asks its elements
      });
    });
  });
  return query;
}

/// The update, with the token beside what it may set to a maximum itself.
Bson update_of(const bson_t& update, FencingToken token) {
  Bson with_token;
  Bson maxima;
  bson_iter_t at;
  bson_iter_init(&at, &update);
  while (bson_iter_next(&at)) {
    std::uint32_t length = 0;
    const std::uint8_t* bytes = nullptr;
    bson_iter_document(&at, &length, &bytes);
    Bson part = Bson::of({reinterpret_cast<const char*>(bytes), length});
    if (std::string_view(bson_iter_key(&at)) == "$max") {
      maxima = std::move(part);
    } else {
      with_token.copy(bson_iter_key(&at), part);
    }
  }
  maxima.int64(kSeen, token.value()).int64(kWrote, token.value());
  with_token.copy("$max", maxima);
  return with_token;
}

Bson command_of(const FencedTarget& target, const bson_t& id, const bson_t& update,
                FencingToken token) {
  Bson command;
  command.text("update", target.collection);
  command.array("updates", [&](Bson& statements) {
    statements.doc("0", [&](Bson& s) {
      s.copy("q", query_of(id, kSeen, token)).copy("u", update_of(update, token));
      s.flag("upsert", target.upsert);
    });
  });
  command.doc("writeConcern", [](Bson& w) { w.text("w", "majority"); });
  return command;
}

/// A read is noted, because a paused writer might write between two reads of one reader.
Bson read_of(const FencedTarget& target, const bson_t& id, FencingToken token) {
  Bson command;
  command.text("findAndModify", target.collection).copy("query", query_of(id, kWrote, token));
  command.doc("update", [&](Bson& change) {
    change.doc("$max", [&](Bson& maxima) { maxima.int64(kSeen, token.value()); });
  });
  command.flag("new", true);
  command.doc("writeConcern", [](Bson& w) { w.text("w", "majority"); });
  return command;
}

/// Finds the document if its token is of a type that no number can be compared with.
Bson stranger_of(const FencedTarget& target, const bson_t& id, const char* field) {
  const auto not_number = [](Bson& b) {
    b.doc("$not", [](Bson& f) {
      f.array("$type", [](Bson& types) { types.text("0", "number").text("1", "null"); });
    });
    b.flag("$exists", true);
  };
  Bson filter = copy_of(id);
  filter.array("$or", [&](Bson& either) {
    either.doc("0", [&](Bson& b) { b.doc(field, not_number); });
    either.doc("1", [&](Bson& b) { b.doc(field, [](Bson& f) { f.text("$type", "array"); }); });
  });
  Bson command;
  command.text("find", target.collection).copy("filter", filter);
  command.flag("singleBatch", true).int64("batchSize", 1);
  return command;
}

/// Why nothing was written or read: a later holder, or no such document; or neither can be said.
Result<bool> refusal(mongoc_client_t* client, const FencedTarget& target, const bson_t& id,
                     const char* field) {
  const Bson command = stranger_of(target, id, field);
  mongo::ReplyBson reply;
  bson_error_t error{};
  if (!mongoc_client_command_with_opts(client, target.database.c_str(), command.get(), nullptr,
                                       nullptr, reply.out(), &error)) {
    return Error{ErrorKind::unavailable, static_cast<int>(error.code),
                 std::string("it was refused, and why could not be read: ") + error.message};
  }
  if (!mongo::Field(*reply.get(), "cursor.firstBatch.0")) return false;
  return Error{ErrorKind::configuration, 0,
               std::string("the document's ") + field +
                   " is no number: no token can be compared with it"};
}

/// What came of it. An update of one statement answers as a delete of one does.
core::Reply run(mongoc_client_t* client, const FencedTarget& target, const Bson& command,
                mongo::ReplyBson& reply) {
  bson_error_t error{};
  mongoc_client_command_with_opts(client, target.database.c_str(), command.get(), nullptr, nullptr,
                                  reply.out(), &error);
  if (!bson_has_field(reply.get(), "ok")) {
    return mongo::driver_failure(error, mongo::hosts_unheard(client));
  }
  return mongo::read_reply({0, {}, core::DeleteCommand{}}, *reply.get());
}

Error failure(const core::Reply& reply) {
  return {reply.error_kind(ErrorKind::unknown_outcome), reply.code, reply.message};
}

/// A document with this key is there already: under which index, as far as it is another's.
Error taken(const core::Reply& reply, const std::string& index) {
  return {
      ErrorKind::configuration, reply.code,
      "another document has what the unique index " + index + " must have once: " + reply.message};
}

}  // namespace

Result<bool> fenced_update(mongoc_client_t* client, const FencedTarget& target, const bson_t& id,
                           const bson_t& update, FencingToken token) {
  if (auto error = check(id, update, token)) return std::move(*error);
  const Bson command = command_of(target, id, update, token);
  // A duplicate key: another insert came before this upsert, or a higher token refuses it. A second
  // try tells which, because the document exists then.
  for (bool again = false;; again = true) {
    mongo::ReplyBson reply;
    const auto read = run(client, target, command, reply);
    if (read.code == kDuplicateKey) {
      const auto index = mongo::duplicate_index(*reply.get());
      if (index != "{_id}") return taken(read, index);
      if (again) return refusal(client, target, id, kSeen);
      continue;
    }
    if (read.outcome != core::Outcome::done) return failure(read);
    if (read.matched == 1) return true;
    return refusal(client, target, id, kSeen);
  }
}

Result<bool> fenced_read(mongoc_client_t* client, const FencedTarget& target, const bson_t& id,
                         FencingToken token, bson_t& document) {
  bson_init(&document);
  if (auto error = check(id, token)) return std::move(*error);
  const Bson command = read_of(target, id, token);
  mongo::ReplyBson reply;
  const auto read = run(client, target, command, reply);
  if (read.outcome != core::Outcome::done) return failure(read);
  bool shown = false;
  mongo::Field(*reply.get(), "value").as_document([&](const bson_t& found) {
    shown = bson_concat(&document, &found);
  });
  return shown ? Result<bool>(true) : refusal(client, target, id, kWrote);
}

Result<detail::FencedBytes> detail::fenced_bytes(std::string_view id, std::string_view update,
                                                 FencingToken token) {
  bson_t which, change;
  if (!bson_init_static(&which, reinterpret_cast<const std::uint8_t*>(id.data()), id.size()) ||
      !bson_init_static(&change, reinterpret_cast<const std::uint8_t*>(update.data()),
                        update.size())) {
    return invalid("id and update must be whole documents");
  }
  if (auto error = check(which, change, token)) return std::move(*error);
  const auto bytes = [](const Bson& document) {
    return std::string(reinterpret_cast<const char*>(bson_get_data(document.get())),
                       document.get()->len);
  };
  return FencedBytes{bytes(query_of(which, kSeen, token)), bytes(update_of(change, token))};
}

}  // namespace leasehold

#include "mongo/replies.hpp"

#include <algorithm>
#include <array>

#include "core/document/lock_queue.hpp"
#include "core/document/lock_readers.hpp"
#include "mongo/bson.hpp"

namespace leasehold::mongo {
namespace {

using core::Outcome;
using core::Reply;

struct Row {
  int code;
  Outcome outcome;
};

/// Codes of `ok: 0`. The same numbers inside a writeConcernError always mean unknown.
constexpr std::array kErrors{
    Row{2, Outcome::configuration},      // BadValue
    Row{9, Outcome::configuration},      // FailedToParse
    Row{13, Outcome::configuration},     // Unauthorized
    Row{14, Outcome::configuration},     // TypeMismatch
    Row{16, Outcome::configuration},     // InvalidLength
    Row{18, Outcome::configuration},     // AuthenticationFailed
    Row{24, Outcome::not_executed},      // LockTimeout
    Row{59, Outcome::configuration},     // CommandNotFound
    Row{61, Outcome::configuration},     // ShardKeyNotFound: sharded, and not by _id
    Row{67, Outcome::configuration},     // CannotCreateIndex
    Row{72, Outcome::configuration},     // InvalidOptions
    Row{73, Outcome::configuration},     // InvalidNamespace
    Row{112, Outcome::not_executed},     // WriteConflict
    Row{115, Outcome::configuration},    // CommandNotSupported
    Row{121, Outcome::configuration},    // DocumentValidationFailure
    Row{166, Outcome::configuration},    // CommandNotSupportedOnView
    Row{167, Outcome::configuration},    // OptionNotSupportedOnView
    Row{168, Outcome::configuration},    // InvalidPipelineOperator
    Row{197, Outcome::configuration},    // InvalidIndexSpecificationOption
    Row{224, Outcome::configuration},    // QueryFeatureNotAllowed: of the compatibility version
    Row{238, Outcome::configuration},    // NotImplemented: of look-alikes
    Row{263, Outcome::configuration},    // OperationNotSupportedInTransaction
    Row{322, Outcome::configuration},    // APIVersionError: a pool that pins a stable API
    Row{323, Outcome::configuration},    // APIStrictError
    Row{10107, Outcome::not_executed},   // NotWritablePrimary
    Row{10334, Outcome::configuration},  // BSONObjectTooLarge
    Row{13435, Outcome::not_executed},   // NotPrimaryNoSecondaryOk
    Row{13436, Outcome::not_executed},   // NotPrimaryOrSecondary
    Row{16554, Outcome::configuration},  // $add of something that is no number or date
    Row{51144, Outcome::configuration},  // $$CLUSTER_TIME is not available: a standalone
};

const char* type_name(bson_type_t type) {
  switch (type) {
    case BSON_TYPE_EOD: return "missing";
    case BSON_TYPE_NULL: return "null";
    case BSON_TYPE_DOUBLE: return "a double";
    case BSON_TYPE_UTF8: return "a string";
    case BSON_TYPE_DOCUMENT: return "a document";
    case BSON_TYPE_ARRAY: return "an array";
    case BSON_TYPE_BINARY: return "binary";
    case BSON_TYPE_OID: return "an ObjectId";
    case BSON_TYPE_BOOL: return "a bool";
    case BSON_TYPE_DATE_TIME: return "a date";
    case BSON_TYPE_INT32:
    case BSON_TYPE_INT64: return "an integer";
    case BSON_TYPE_TIMESTAMP: return "a timestamp";
    default: return "of another type";
  }
}

core::LockDocument read_document(const bson_t& document) {
  const Field id(document, "_id"), lock_id(document, "lockId"), acquired(document, "acquiredAt"),
      expires(document, "expiresAt"), token(document, "fencingToken");
  core::LockDocument out;
  out.name = id.text();
  const std::string whole = lock_id.text();
  const auto split = core::split_queue(whole);
  out.lock_id = split.lock_id;
  out.queue = split.queue;
  if (acquired.type() == BSON_TYPE_DATE_TIME) out.acquired_at.since_1970_ms = acquired.date();
  if (token.type() == BSON_TYPE_INT64 || token.type() == BSON_TYPE_INT32) {
    out.fencing_token = token.number();
  }
  if (lock_id.type() != BSON_TYPE_UTF8) {
    out.corruption = std::string("lockId is ") + type_name(lock_id.type());
  } else if (expires.type() != BSON_TYPE_DATE_TIME) {
    out.corruption = std::string("expiresAt is ") + type_name(expires.type());
  }
  return out;
}

std::string keys_of(const bson_t& pattern) {
  std::string keys;
  bson_iter_t at;
  if (!bson_iter_init(&at, &pattern)) return keys;
  while (bson_iter_next(&at)) keys += (keys.empty() ? "" : ", ") + std::string(bson_iter_key(&at));
  return keys;
}

/// A duplicate key is a lost race only on `_id`. Under any other unique index waiting would last
/// for ever.
Outcome duplicate_key(const bson_t& reply) {
  return duplicate_index(reply) == "{_id}" ? Outcome::duplicate_key : Outcome::configuration;
}

void read_command_error(Reply& out, const bson_t& reply) {
  out.code = static_cast<int>(Field(reply, "code").number());
  out.message = without_command(Field(reply, "errmsg").text());
  out.outcome = out.code == 11000 ? duplicate_key(reply) : outcome_of_error(out.code);
}

/// A report of a failure that cannot be read is still one.
void read_write_errors(Reply& out, const bson_t& reply) {
  const Field errors(reply, "writeErrors");
  if (errors && errors.type() != BSON_TYPE_ARRAY) out.outcome = Outcome::unknown;
  errors.each_document([&](const bson_t& error) {
    const int code = static_cast<int>(Field(error, "code").number());
    out.failed.push_back(static_cast<std::size_t>(Field(error, "index").number()));
    if (out.code == 0) {
      out.code = code;
      out.message = Field(error, "errmsg").text();
    }
    if (spoils_whole_batch(code)) out.outcome = Outcome::unknown;
  });
}

void read_write_concern_error(Reply& out, const bson_t& reply) {
  const Field failure(reply, "writeConcernError");
  if (failure) out.outcome = Outcome::unknown;
  failure.as_document([&](const bson_t& error) {
    out.code = static_cast<int>(Field(error, "code").number());
    out.message = "write concern: " + Field(error, "errmsg").text();
    out.permanent = is_permanent_write_concern_error(out.code);
  });
}

/// The report of an update has the changed fields only. A date may be missing, because a clock that
/// went back can give the old value again.
core::NamedOwner read_named(const bson_t& fields, const std::string& name, FencingToken at) {
  const Field acquired(fields, "acquiredAt"), expires(fields, "expiresAt");
  core::NamedOwner out;
  out.document = read_document(fields);
  out.document.name = name;
  out.at = at;
  const bool dated =
      acquired.type() == BSON_TYPE_DATE_TIME && expires.type() == BSON_TYPE_DATE_TIME;
  if (!dated) return out;
  const bool is_free = expires.date() == 0;
  out.as = is_free ? core::NamedOwner::As::next : core::NamedOwner::As::holder;
  return out;
}

void add_named(core::NamedOwner named, std::vector<core::NamedOwner>& to) {
  const std::string whole = named.document.lock_id;
  if (!core::is_of_readers(whole)) return to.push_back(std::move(named));
  named.as = core::NamedOwner::As::holder;
  for (const core::Reader& reader : core::readers_in(whole)) {
    named.document.acquired_at = reader.since;
    named.document.slot = reader.slot;
    named.document.lock_id = reader.lock_id;
    to.push_back(named);
  }
}

void read_event(Reply& out, const bson_t& event) {
  const std::string name = Field(event, "documentKey._id").text();
  const auto at = Field(event, "clusterTime").timestamp();
  if (name.empty()) return;
  for (const char* fields : {"fullDocument", "updateDescription.updatedFields"}) {
    Field(event, fields).as_document([&](const bson_t& after) {
      if (!Field(after, "lockId").text().empty()) {
        add_named(read_named(after, name, at), out.named);
      }
    });
  }
}

void read_stream(Reply& out, const bson_t& reply) {
  out.cursor = Field(reply, "cursor.id").number();
  for (const char* batch : {"cursor.firstBatch", "cursor.nextBatch"}) {
    Field(reply, batch).each_document([&](const bson_t& event) { read_event(out, event); });
  }
}

/// Whether the attempt of a published lock won, as its author decides it.
void read_attempt(Reply& out, const core::RawCommand& command, const bson_t& reply) {
  using Won = core::RawCommand::Won;
  core::LockDocument document;
  document.name = command.name;
  document.value = Field(reply, "value.Value").text();
  bool won = command.won == Won::by_success;
  if (command.won == Won::by_null_before) {
    won = Field(reply, "value").type() == BSON_TYPE_NULL;
    document.lock_id = "another";
  } else if (command.won == Won::by_owner_in_value) {
    document.lock_id = Field(reply, "value.lockId").text();
    document.fencing_token = Field(reply, "value.fencingToken").number();
    won = document.lock_id == to_hex(command.owner);
  }
  if (won) document.lock_id = command.lock_id;
  out.documents.push_back(std::move(document));
}

void read_plain(Reply& out, const core::RawCommand& command, const bson_t& reply) {
  constexpr int kDuplicateKey = 11000;
  if (out.code == kDuplicateKey) {  // under whichever unique index the lock relies on
    out.outcome = Outcome::duplicate_key;
  } else if (!out.failed.empty()) {
    out.outcome = outcome_of_error(out.code);
  }
  const bool shows = out.outcome == Outcome::done && Field(reply, "ok").truth();
  if (shows && command.role == core::RawCommand::Role::acquire) read_attempt(out, command, reply);
}

/// What the owner of the command is to see of a document that several share.
core::LockDocument shown_to_owner(const core::Command& command, core::LockDocument document) {
  if (const auto* acquire = std::get_if<core::AcquireCommand>(&command.body)) {
    return core::holding_of(std::move(document), acquire->owner);
  }
  const auto* hand_over = std::get_if<core::HandOverCommand>(&command.body);
  return hand_over == nullptr ? document : core::holding_of(std::move(document), hand_over->owner);
}

template <typename... Bodies>
bool is(const core::Command& command) {
  return (std::holds_alternative<Bodies>(command.body) || ...);
}

}  // namespace

Outcome outcome_of_error(int code) {
  const auto row = std::ranges::find(kErrors, code, &Row::code);
  return row == kErrors.end() ? Outcome::unknown : row->outcome;
}

std::string without_command(std::string message) {
  return message.substr(0, message.find(" to execute command {"));
}

bool spoils_whole_batch(int code) {
  constexpr std::array kCodes{6,    7,     50,    89,    91,    189,   262,
                              9001, 10107, 11600, 11601, 11602, 13435, 13436};
  return std::ranges::find(kCodes, code) != kCodes.end();
}

bool is_permanent_write_concern_error(int code) { return code == 100 || code == 79; }

core::LockDocument read_lock_document(const bson_t& document) {
  core::LockDocument out = read_document(document);
  const Field expires(document, "expiresAt"), now(document, "now");
  if (expires.type() == BSON_TYPE_DATE_TIME) out.expires_at.since_1970_ms = expires.date();
  if (now.type() == BSON_TYPE_DATE_TIME) out.read_at.since_1970_ms = now.date();
  return out;
}

Reply read_reply(const core::Command& command, const bson_t& reply) {
  Reply out;
  if (!Field(reply, "ok").truth()) {
    out.message = "empty reply";
    if (Field(reply, "code")) read_command_error(out, reply);
    if (const auto* plain = std::get_if<core::RawCommand>(&command.body)) {
      read_plain(out, *plain, reply);
    }
    return out;
  }
  out.outcome = Outcome::done;
  read_write_errors(out, reply);
  read_write_concern_error(out, reply);
  out.retried = static_cast<bool>(Field(reply, "retriedStmtId"));
  out.matched = Field(reply, "n").number();
  out.operation_time = Field(reply, "operationTime").timestamp();
  const bool grants = is<core::AcquireCommand, core::HandOverCommand>(command);
  if (grants || is<core::PassOnCommand>(command)) {
    Field(reply, "value").as_document([&](const bson_t& value) {
      out.documents.push_back(shown_to_owner(command, read_document(value)));
    });
  } else if (is<core::ReadHoldersCommand, core::InspectCommand>(command)) {
    Field(reply, "cursor.firstBatch").each_document([&](const bson_t& found) {
      out.documents.push_back(read_lock_document(found));
    });
  } else if (is<core::StreamCommand>(command)) {
    read_stream(out, reply);
  } else if (const auto* plain = std::get_if<core::RawCommand>(&command.body)) {
    read_plain(out, *plain, reply);
  } else if (is<core::DeleteCommand>(command) && !out.failed.empty()) {
    out.outcome = outcome_of_error(out.code);  // its only statement
  }
  // A set with log-in sends no times until it has made its first keys, seconds after its first
  // election. A grant needs one, so this answers no more than a lost reply does.
  if (grants && out.outcome == Outcome::done && !out.documents.empty() && !out.operation_time) {
    out.outcome = Outcome::unknown;
    out.message = "the reply has no operationTime, from which the fencing token is made";
  }
  return out;
}

std::string duplicate_index(const bson_t& reply) {
  std::string keys;
  const auto read = [&keys](const bson_t& pattern) { keys = keys_of(pattern); };
  Field(reply, "keyPattern").as_document(read);
  Field(reply, "writeErrors").each_document([&](const bson_t& error) {
    if (keys.empty()) Field(error, "keyPattern").as_document(read);
  });
  return '{' + keys + '}';
}

std::optional<core::Reply> refusal_of_chosen(const bson_t& hello) {
  if (bson_empty(&hello)) {
    return Reply{.outcome = Outcome::not_executed,
                 .message = "the member that was chosen could not be reached any more"};
  }
  auto reason = refusal_of_hello(hello);
  if (!reason) return std::nullopt;
  return Reply{.outcome = Outcome::configuration, .message = std::move(*reason)};
}

bool is_mongos(const bson_t& hello) { return Field(hello, "msg").text() == "isdbgrid"; }

bool is_of_a_shard(const bson_t& identities) {
  bool any = false;
  Field(identities, "cursor.firstBatch").each_document([&any](const bson_t&) { any = true; });
  return any;
}

bool says_unsharded(const bson_t& stats) {
  const Field sharded(stats, "sharded");
  return Field(stats, "ok").truth() && sharded && !sharded.truth();
}

std::optional<core::Reply> refusal_of_sharding(const bson_t& entries) {
  if (!Field(entries, "ok").truth()) {
    constexpr int kUnauthorized = 13;
    const auto code = static_cast<int>(Field(entries, "code").number());
    return Reply{
        .outcome = code == kUnauthorized ? Outcome::configuration : Outcome::not_executed,
        .code = code,
        .message = "whether the collection is sharded by _id is not known: config.collections: " +
                   without_command(Field(entries, "errmsg").text())};
  }
  std::string keys = "_id";  // of a collection without an entry, which one shard has
  Field(entries, "cursor.firstBatch").each_document([&keys](const bson_t& entry) {
    Field(entry, "key").as_document([&keys](const bson_t& key) { keys = keys_of(key); });
  });
  if (keys == "_id") return std::nullopt;
  return Reply{.outcome = Outcome::configuration,
               .message = "the collection is sharded by {" + keys +
                          "}, so each shard may have a lock of one name: it must be sharded by "
                          "_id alone, or not at all"};
}

std::optional<std::string> refusal_of_hello(const bson_t& hello) {
  constexpr std::int64_t kWireVersion51 = 14;  // the first with $tsSecond
  if (!is_mongos(hello) && Field(hello, "setName").text().empty()) {
    return "the server is a standalone: locks need a replica set (majority writes and cluster "
           "time); one member is enough";
  }
  const bool is_primary =
      Field(hello, "isWritablePrimary").truth() || Field(hello, "ismaster").truth();
  if (!is_mongos(hello) && is_primary && Field(hello, "primary").text().empty()) {
    return "the server says that it is a primary and names none: the fact "
           "hello-tells-what-a-member-is fails, as with FerretDB";
  }
  const auto wire_version = Field(hello, "maxWireVersion").number();
  if (wire_version < kWireVersion51) {
    return "the server is too old (wire version " + std::to_string(wire_version) +
           "): MongoDB 5.1 or newer is needed (wire version 14)";
  }
  return std::nullopt;
}

std::string judge_indexes(const bson_t& list_indexes_reply) {
  std::string verdict = "none on expiresAt: documents of crashed holders stay for ever";
  Field(list_indexes_reply, "cursor.firstBatch").each_document([&](const bson_t& index) {
    bool on_expiry = false;
    Field(index, "key").as_document([&](const bson_t& key) {
      on_expiry = bson_count_keys(&key) == 1 && bson_has_field(&key, "expiresAt");
    });
    if (!on_expiry) return;
    const Field seconds(index, "expireAfterSeconds");
    if (!seconds) {
      verdict =
          "the index on expiresAt has no expireAfterSeconds: documents of crashed holders "
          "stay for ever";
    } else if (bson_has_field(&index, "partialFilterExpression")) {
      verdict = "the index on expiresAt is partial: it may pass over lock documents";
    } else if (seconds.number() > 0) {
      verdict = "the index waits " + std::to_string(seconds.number()) +
                " s after expiresAt: documents of crashed holders stay that much longer";
    } else {
      verdict.clear();
    }
  });
  return verdict;
}

}  // namespace leasehold::mongo

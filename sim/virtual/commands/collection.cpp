#include "sim/virtual/commands/collection.hpp"

#include <algorithm>

#include "sim/virtual/documents/expression.hpp"

namespace leasehold::sim::simulated {
namespace {

/// A command's fields, each of which has to be known.
///
/// A field that is passed over in silence would make the virtual world say that a command works
/// which a mongod takes otherwise: a new field of the adapter has to fail here first.
///
/// REQUIRES: the object outlives it.
class Fields {
 public:
  Fields(const Object& object, std::initializer_list<Key> known) : object_(object) {
    for (const auto& [key, value] : object.fields) {
      if (std::ranges::find(known, key) == known.end()) {
        throw Unsupported("field " + key.text());
      }
    }
  }
  /// What the adapter always sends; mongod has a default for some of it, which is never relied on.
  [[nodiscard]] const Value& need(const Key& key) const {
    const Value* value = object_.find(key);
    if (value == nullptr) throw Unsupported("a command without " + key.text());
    return *value;
  }
  template <typename T>
  [[nodiscard]] const T& need_as(const Key& key) const {
    const T* value = need(key).as<T>();
    if (value == nullptr) throw Unsupported("another type of " + key.text());
    return *value;
  }
  [[nodiscard]] bool truth(const Key& key) const {
    const Value* value = object_.find(key);
    return value != nullptr && value->truth();
  }

 private:
  const Object& object_;
};

/// Whether a text begins with what these parts of a pattern say, one after the other.
bool begins_with(std::string_view text, std::initializer_list<std::string_view> parts,
                 const std::string& pattern) {
  bool equal = true;
  for (const auto part : parts) {
    for (std::size_t i = 0; i < part.size(); ++i) {
      // A backslash takes the next sign literally; else one with a meaning of its own is refused.
      const bool escaped = part[i] == '\\' && i + 1 < part.size();
      if (escaped) ++i;
      if (!escaped && std::string_view(".*+?()[]{}|$").find(part[i]) != std::string_view::npos) {
        throw Unsupported("regex " + pattern);
      }
      equal = equal && text.starts_with(part[i]);
      if (equal) text.remove_prefix(1);
    }
  }
  return equal;
}

/// What a pattern says of a part somewhere among a lock's readers, which stand before its queue.
constexpr std::string_view kAmongReaders = R"(0{32}\.[^~]*\.)";
bool is_among_readers(std::string_view text, std::string_view part, const std::string& pattern) {
  text = text.substr(0, text.find('~'));
  bool found = false;
  for (auto at = text.find('.'); at != text.npos && !found; at = text.find('.', at + 1)) {
    found = begins_with(text.substr(at + 1), {part}, pattern);
  }
  return found && text.starts_with(std::string(32, '0') + '.');
}

/// ^literal\. or ^(one|other)\. and no other pattern: the beginning of a string. With [^~]*$ at its
/// end also that no such mark follows. Deletes and extensions name their owner like this. Any other
/// pattern would need an engine, and its differences from the server's would be untested.
bool matches_pattern(const std::string& text, const std::string& pattern) {
  std::string_view rest = pattern;
  if (!rest.starts_with('^')) throw Unsupported("regex " + pattern);
  rest.remove_prefix(1);
  constexpr std::string_view kNoMarkFollows = "[^~]*$";
  if (rest.ends_with(kNoMarkFollows)) {
    if (text.find('~') != std::string::npos) return false;
    rest.remove_suffix(kNoMarkFollows.size());
  }
  const auto optional = '(' + std::string(kAmongReaders) + ")?";
  const bool may_begin_so = rest.starts_with(optional);
  if (may_begin_so || rest.starts_with(kAmongReaders)) {
    const auto part = rest.substr(may_begin_so ? optional.size() : kAmongReaders.size());
    return is_among_readers(text, part, pattern) ||
           (may_begin_so && begins_with(text, {part}, pattern));
  }
  // One alternative at the beginning: the giver's owner, or the receiver's.
  const auto bar = rest.find('|'), end = rest.find(')');
  if (!rest.starts_with('(') || bar > end || end == std::string_view::npos) {
    return begins_with(text, {rest}, pattern);
  }
  const auto tail = rest.substr(end + 1);
  return begins_with(text, {rest.substr(1, bar - 1), tail}, pattern) ||
         begins_with(text, {rest.substr(bar + 1, end - bar - 1), tail}, pattern);
}

/// Only documents are gone into. In a list a path has another meaning, and events have none.
const Value* at_path(const Object& object, std::string_view path) {
  const auto dot = path.find('.');
  const Value* found = object.find(path.substr(0, dot));
  if (found == nullptr || dot == std::string_view::npos) return found;
  const auto* inner = found->as<Object>();
  return inner == nullptr ? nullptr : at_path(*inner, path.substr(dot + 1));
}

/// By a pattern, an operator, or as equal.
bool matches_value(const Value* found, const Value& wanted) {
  if (const auto* regex = wanted.as<Regex>()) {
    const auto* text = found == nullptr ? nullptr : found->as<std::string>();
    return text != nullptr && matches_pattern(*text, regex->pattern);
  }
  if (const auto* operators = wanted.as<Object>()) {
    const Fields known(*operators, {"$lt"_key, "$exists"_key});
    if (operators->fields.size() != 1) throw Unsupported("a query by several operators");
    const Value* exists = operators->find("$exists"_key);
    if (exists != nullptr) return exists->truth() == (found != nullptr);
    // Values of another type are not below.
    const Value& limit = known.need("$lt"_key);
    return found != nullptr && found->type_name() == limit.type_name() &&
           compare(*found, limit) < 0;
  }
  if (found == nullptr) return wanted.is<Null>();  // missing is null to a query
  return compare(*found, wanted) == 0;
}

/// The update pipeline: one stage, $replaceWith or $set. The codes are mongod's. A $set without its
/// value sets nothing.
/// What is replaced by $$ROOT is the very document, shared and not copied, so that no caller has to
/// compare the two. That is what a refused attempt does, which is most of them.
Document updated(const Array& pipeline, const Document& document, const Start& start) {
  if (pipeline.items.size() != 1) throw Unsupported("a pipeline of other than one stage");
  // The manual allows several stages; each update of a lock is one.
  const auto& [name, argument] = pipeline.items[0].as<Object>()->fields.at(0);
  const Value root = document;
  const Scope scope{root, start.now, start.cluster_time};
  Value kept;
  if (name == "$replaceWith"_key) {
    const Value& value = evaluate(argument, scope, kept);
    if (!value.is<Object>()) throw ServerError(40228, "$replaceWith: not a document");
    return value.document();
  }
  if (name != "$set"_key) throw Unsupported("stage " + name.text());
  // Each sees the document as it was before the stage.
  Object changed = *document;
  for (const auto& [key, expression] : argument.as<Object>()->fields) {
    const Value& value = evaluate(expression, scope, kept);
    if (!value.is<Missing>()) changed.set(key, value);
  }
  return std::make_shared<const Object>(std::move(changed));
}

/// {$set: ..., $setOnInsert: ...}
/// $setOnInsert counts only for an upsert that inserts. Values are taken as they are: modifiers
/// have no expressions, so no $$NOW, and the published locks that use them write their client's
/// clock.
Object modified(const Object& modifiers, const Object& document, bool inserts) {
  // By the manual on update operators: an update is a pipeline or made of these, never both.
  const Fields known(modifiers, {"$set"_key, "$setOnInsert"_key});
  Object result = document;
  for (const char* name : {"$set", "$setOnInsert"}) {
    const Value* fields = modifiers.find(name);
    if (fields == nullptr || (name == std::string_view("$setOnInsert") && !inserts)) continue;
    for (const auto& [key, value] : fields->as<Object>()->fields) result.set(key, value);
  }
  return result;
}

/// By a pipeline or by modifiers.
Document updated(const Value& update, const Document& document, const Start& start, bool inserts) {
  Document result;
  if (const auto* pipeline = update.as<Array>()) {
    result = updated(*pipeline, document, start);
  } else if (const auto* modifiers = update.as<Object>()) {
    return std::make_shared<const Object>(modified(*modifiers, *document, inserts));
  } else {
    throw Unsupported("another type of update");
  }
  const Value* id = result->find("_id"_key);
  // A pipeline that replaces the document must carry its `_id` over.
  if (id == nullptr || *id != *document->find("_id"_key)) {
    throw ServerError(66, "the immutable field '_id' was changed");
  }
  return result;
}

bool are_equal(const Document& a, const Document& b) { return a == b || *a == *b; }

/// Nothing but the two that occur: "majority", and 1 of the locks with a planted or published
/// weakness. A wtimeout of 0 waits for ever, as the manual says.
void read_write_concern(Executed& out, const Fields& command) {
  const Fields concern(command.need_as<Object>("writeConcern"_key), {"w"_key, "wtimeout"_key});
  const auto* word = concern.need("w"_key).as<std::string>();
  const bool majority = word != nullptr && *word == "majority";
  if (!majority && concern.need("w"_key) != Value(std::int32_t{1})) throw Unsupported("w");
  out.for_majority = majority;
  out.wtimeout_ms = concern.need("wtimeout"_key).integer();
}

/// By the manual on findAndModify: one document is found, changed and returned, before it (`new`:
/// after it), and no other write comes between. That is all that a lock's safety asks of the server
/// besides majorities.
Executed find_and_modify(const Object& command, const Collection& collection, const Start& start) {
  const Fields fields(
      command, {"findAndModify"_key, "query"_key, "update"_key, "upsert"_key, "new"_key,
                "writeConcern"_key, "maxTimeMS"_key});
  const bool upsert = fields.truth("upsert"_key);
  const auto& asked = fields.need_as<Object>("query"_key);
  const Fields query(asked, {"_id"_key, "$or"_key, "lockId"_key});
  const auto& id = query.need_as<std::string>("_id"_key);
  Executed out;
  read_write_concern(out, fields);
  const Document before = collection.find(id);
  // One document at most: `_id` is in every query.
  const bool found = before && matches(asked, *before);
  // The answer to a hand-over by a process that is not the holder any more.
  if (!found && !upsert) {
    const Object none = make({{"n"_key, 0}, {"updatedExisting"_key, false}});
    out.reply = make({{"lastErrorObject"_key, none}, {"value"_key, Null{}}, {"ok"_key, 1.0}});
    return out;
  }
  // The document is there and the rest of the query does not match it: the upsert then inserts.
  // Acquire's query is `{_id}` alone and never comes here.
  if (before && !found) return {.reply = duplicate_id()};
  // What an upsert starts from: the fields that the query names by equality.
  Document seed = before;
  if (!before) seed = std::make_shared<const Object>(make({{"_id"_key, id}}));
  Document after = updated(fields.need("update"_key), seed, start, before == nullptr);
  Object last = make({{"n"_key, 1}, {"updatedExisting"_key, before != nullptr}});
  // The manual: `upserted` is there only if a document was inserted.
  if (!before) last.set("upserted"_key, id);
  const Document& shown = fields.truth("new"_key) ? after : before;
  out.reply = make({{"lastErrorObject"_key, std::move(last)},
                    {"value"_key, shown ? Value(shown) : Value(Null{})},
                    {"ok"_key, 1.0}});
  // Compared exactly, types and order of fields included.
  if (!before || !are_equal(before, after)) out.changes.push_back({id, std::move(after)});
  return out;
}

/// The field that names a document: `_id`, or another under a unique index.
/// "insert-unique" finds its documents by `resourceId`, and never two by one: its index is unique.
/// So one map, by whichever of them, serves as the collection.
const std::string& key_in(const Object& query) {
  for (const Key& key : {"_id"_key, "resourceId"_key}) {
    const Value* id = query.find(key);
    if (id != nullptr && id->is<std::string>()) return *id->as<std::string>();
  }
  throw Unsupported("a query without _id or resourceId");
}

/// The statement's document, if there is one that it matches.
Document matched(const Object& query, const Collection& collection) {
  Document found = collection.find(key_in(query));
  return found && matches(query, *found) ? found : nullptr;
}

/// By the manual on update: `n` counts what matched, `nModified` what was changed. Extensions are
/// decided by the first, as one that changes nothing has not lost its lock.
Executed update(const Object& command, const Collection& collection, const Start& start) {
  const Fields fields(command, {"update"_key, "updates"_key, "ordered"_key, "writeConcern"_key,
                                "maxTimeMS"_key});
  if (fields.truth("ordered"_key)) throw Unsupported("ordered updates");
  Executed out;
  read_write_concern(out, fields);
  // A statement sees what those before it did. Only changed documents are here; an update deletes
  // none, so what is not here is as it was.
  Collection now;  // what this command has changed so far
  std::int32_t n = 0, modified = 0;
  Array errors;
  const auto& statements = fields.need_as<Array>("updates"_key).items;
  for (std::size_t i = 0; i < statements.size(); ++i) {
    const Fields statement(*statements[i].as<Object>(), {"q"_key, "u"_key});
    const auto& query = statement.need_as<Object>("q"_key);
    const auto& id = *query.find("_id"_key)->as<std::string>();
    const Document before = matched(query, now.find(id) ? now : collection);
    if (!before) continue;
    try {
      const Document after = updated(statement.need("u"_key), before, start, false);
      // Counted once the update is known to succeed: a failed statement is no match.
      ++n;
      if (are_equal(before, after)) continue;
      ++modified;
      out.changes.push_back({id, after});
      now.apply(out.changes.back());
      // Unordered: one document that cannot be updated does not keep the others from it. A batch of
      // extensions relies on that.
    } catch (const ServerError& error) {
      add_write_error(errors, i, error.code, error.what());
    }
  }
  out.reply = make({{"n"_key, n}, {"nModified"_key, modified}});
  if (!errors.items.empty()) out.reply.set("writeErrors"_key, errors);
  out.reply.set("ok"_key, 1.0);
  return out;
}

/// By the manual on delete: `n` is 0 if no document matched, which is no error. A release learns by
/// it that its owner is gone.
Executed remove(const Object& command, const Collection& collection) {
  const Fields fields(command, {"delete"_key, "deletes"_key, "writeConcern"_key, "maxTimeMS"_key});
  Executed out;
  read_write_concern(out, fields);
  const auto& statements = fields.need_as<Array>("deletes"_key).items;
  // The locks delete one at a time, so that a reply's `n` is of one owner.
  if (statements.size() != 1) throw Unsupported("several deletes");
  const Fields statement(*statements[0].as<Object>(), {"q"_key, "limit"_key});
  const auto& query = statement.need_as<Object>("q"_key);
  const bool found = matched(query, collection) != nullptr;
  if (found) out.changes.push_back({key_in(query), nullptr});
  out.reply = make({{"n"_key, found ? 1 : 0}, {"ok"_key, 1.0}});
  return out;
}

/// The read behind an extension that matched too few: documents by their names, with the fields
/// that were asked for.
Executed find(const Object& command, const Collection& collection) {
  const Fields fields(command,
                      {"find"_key, "filter"_key, "projection"_key, "batchSize"_key,
                       "singleBatch"_key, "maxTimeMS"_key});
  const Fields filter(fields.need_as<Object>("filter"_key), {"_id"_key});
  const Fields in(filter.need_as<Object>("_id"_key), {"$in"_key});
  std::vector<std::string> ids;
  for (const Value& id : in.need_as<Array>("$in"_key).items) ids.push_back(*id.as<std::string>());
  // As a scan of the index of `_id` finds them: in its order, and each once.
  std::ranges::sort(ids);
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  Array batch;
  for (const auto& id : ids) {
    const Document document = collection.find(id);
    if (!document) continue;
    Object shown;
    for (const auto& [key, value] : document->fields) {
      // By the manual `_id` is in a projection unless it is left out by name.
      if (key == "_id"_key || fields.need_as<Object>("projection"_key).find(key) != nullptr) {
        shown.fields.emplace_back(key, value);
      }
    }
    batch.items.emplace_back(shown);
  }
  // All in one batch: nothing is left to fetch.
  const Object cursor = make({{"firstBatch"_key, batch}, {"id"_key, std::int64_t{0}}});
  return {.reply = make({{"cursor"_key, cursor}, {"ok"_key, 1.0}})};
}

/// By the manual: to make an index that is there already, with the same options, does nothing.
Executed create_indexes(const Object& command) {
  const Fields fields(command,
                      {"createIndexes"_key, "indexes"_key, "writeConcern"_key, "maxTimeMS"_key});
  Executed out;
  read_write_concern(out, fields);
  for (const Value& item : fields.need_as<Array>("indexes"_key).items) {
    const Fields index(*item.as<Object>(),
                       {"key"_key, "name"_key, "expireAfterSeconds"_key, "unique"_key});
    const auto& key = index.need_as<Object>("key"_key).fields;
    const Value* seconds = item.as<Object>()->find("expireAfterSeconds"_key);
    // A TTL index has one field, by the manual. That "unique" is asked for changes nothing here:
    // the collection's map is by that key. Whether an index of other options stands is the
    // member's.
    if (key.size() != 1) throw Unsupported("an index of several fields");
    if (seconds != nullptr) out.ttl = TtlIndex{key[0].first.text(), seconds->integer()};
  }
  out.reply = make({{"ok"_key, 1.0}});
  return out;
}

/// The index has an entry for each element of an array; of other types than dates none counts.
bool has_date_up_to(const Value& value, std::int64_t limit_ms) {
  if (const auto* date = value.as<Date>()) return date->ms <= limit_ms;
  const auto* array = value.as<Array>();
  return array != nullptr &&
         std::ranges::any_of(array->items, [&](const Value& item) {
           return item.is<Date>() && item.as<Date>()->ms <= limit_ms;
         });
}

constexpr int kWriteConflict = 112, kNoSuchTransaction = 251;
// The default of transactionLifetimeLimitSeconds.
constexpr std::int64_t kLifetime_ms = 60'000;

/// The session alone: the one client that has transactions begins a session for each of them, so
/// their numbers within it tell nothing.
std::string session_of(const Object& command) {
  const Value* lsid = command.find("lsid"_key);
  const auto* session = lsid == nullptr ? nullptr : lsid->as<Object>();
  const Value* id = session == nullptr ? nullptr : session->find("id"_key);
  if (id == nullptr || !id->is<Binary>()) throw Unsupported("a transaction without lsid");
  return id->as<Binary>()->bytes;
}

Executed done() { return {.reply = make({{"ok"_key, 1.0}})}; }

/// ok: 1 even if nothing was inserted: the statement failed, not the command.
Executed inserted(std::int32_t n) { return {.reply = make({{"ok"_key, 1.0}, {"n"_key, n}})}; }

/// As mongod says it here: ok: 1, and a write error.
Executed duplicate_key() {
  Array errors;
  add_write_error(errors, 0, kDuplicateKey, "duplicate key: resourceId");
  Object error = *errors.items[0].as<Object>();
  error.set("keyPattern"_key, make({{"resourceId"_key, 1}}));
  errors.items[0] = error;
  Executed out = inserted(0);
  out.reply.set("writeErrors"_key, errors);
  return out;
}

}  // namespace

bool matches(const Object& query, const Object& document) {
  return std::ranges::all_of(query.fields, [&](const auto& field) {
    const auto& [path, wanted] = field;
    // One branch is enough; the fields beside it have to match, too.
    if (path == "$or"_key) {
      return std::ranges::any_of(wanted.template as<Array>()->items, [&](const Value& branch) {
        return matches(*branch.as<Object>(), document);
      });
    }
    const Value* found = document.find(path);
    return matches_value(found != nullptr ? found : at_path(document, path.text()), wanted);
  });
}

Change note_in_oplog() { return {"", nullptr}; }

void add_write_error(Array& errors, std::size_t index, int code, const std::string& message) {
  errors.items.emplace_back(make({{"index"_key, static_cast<std::int32_t>(index)},
                                  {"code"_key, code},
                                  {"errmsg"_key, message}}));
}

Object error_reply(int code, const std::string& message) {
  return make({{"ok"_key, 0.0}, {"errmsg"_key, message}, {"code"_key, code}});
}

Object duplicate_id() {
  Object reply = error_reply(kDuplicateKey, "duplicate key: _id");
  reply.set("keyPattern"_key, make({{"_id"_key, 1}}));
  return reply;
}

Object write_concern_error(Object reply, int code, const std::string& message) {
  reply.set("writeConcernError"_key, make({{"code"_key, code}, {"errmsg"_key, message}}));
  return reply;
}

/// By the command's name, as the server does. What is thrown inside is the whole command's error;
/// an update's statements have theirs each for itself.
Executed execute(const Object& command, const Collection& collection, const Start& start) {
  const Key& name = command.fields.at(0).first;
  try {
    if (name == "findAndModify"_key) return find_and_modify(command, collection, start);
    if (name == "update"_key) return update(command, collection, start);
    if (name == "delete"_key) return remove(command, collection);
    if (name == "find"_key) return find(command, collection);
    if (name == "createIndexes"_key) return create_indexes(command);
  } catch (const ServerError& error) {
    return {.reply = error_reply(error.code, error.what())};
  }
  throw Unsupported("command " + name.text());
}

/// By the manual on TTL indexes: what is at least so old, by the server's clock; a document without
/// the field, or without a date in it, never expires.
std::vector<std::string> expired(const Collection& collection, const TtlIndex& index, Date now) {
  std::vector<std::string> ids;
  for (const auto& [id, document] : collection.documents()) {
    const Value* value = document->find(index.field);
    if (value != nullptr && has_date_up_to(*value, now.ms - index.after_s * 1'000)) {
      ids.push_back(id);
    }
  }
  return ids;
}

bool in_transaction(const Object& command) { return command.find("autocommit"_key) != nullptr; }

Executed Transactions::execute(const Object& command, const Collection& collection,
                               const Start& start) {
  // mongod has a thread for it. No client sees a transaction between two commands, so it is soon
  // enough to look when the next one comes.
  std::erase_if(open_, [&](const auto& entry) {
    return start.now.ms - entry.second.began.ms > kLifetime_ms;
  });
  const std::string& name = command.fields.at(0).first;
  try {
    if (name == "insert") return insert(command, collection, start);
    if (name == "commitTransaction") return commit(command);
    if (name == "abortTransaction") return abort(command);
  } catch (const ServerError& error) {
    // Also where the commit found none: then there is nothing to take out.
    open_.erase(session_of(command));
    Executed out{.reply = error_reply(error.code, error.what())};
    // Before it says so, the server writes a note, for writers that wait for a majority.
    if (error.code == kNoSuchTransaction) out.changes.push_back(note_in_oplog());
    return out;
  }
  throw Unsupported("in a transaction: " + name);
}

Executed Transactions::insert(const Object& command, const Collection& collection,
                              const Start& start) {
  const auto* documents = command.find("documents"_key)->as<Array>();
  if (documents == nullptr || documents->items.size() != 1) throw Unsupported("several inserts");
  const auto document = std::make_shared<const Object>(*documents->items[0].as<Object>());
  const auto key = *document->find("resourceId"_key)->as<std::string>();
  // The insert is the first statement: a transaction with a failed insert was never begun, and its
  // commit finds none.
  if (collection.find(key)) return duplicate_key();
  for (const auto& [session, open] : open_) {
    // At once, without waiting for the other: inside a transaction mongod does not wait for a
    // document.
    if (open.change.id == key) throw ServerError(kWriteConflict, "WriteConflict");
  }
  open_[session_of(command)] = {{key, document}, start.now};
  return inserted(1);
}

Executed Transactions::commit(const Object& command) {
  const auto session = session_of(command);
  Executed out = done();
  // A client that got no answer commits again. That writes nothing, but waits for the majority
  // that the first one waited for, so its answer is worth as much.
  if (!committed_.contains(session)) out.changes.push_back(take(session));
  committed_.insert(session);
  const Value* concern = command.find("writeConcern"_key);
  out.for_majority = true;
  out.wtimeout_ms = concern->as<Object>()->find("wtimeout"_key)->integer();
  return out;
}

/// It is an error if the transaction is gone already, as with a commit.
Executed Transactions::abort(const Object& command) {
  (void)take(session_of(command));
  return done();
}

/// It is open no more from here on, committed or not.
Change Transactions::take(const std::string& session) {
  auto found = open_.extract(session);
  if (found.empty()) throw ServerError(kNoSuchTransaction, "NoSuchTransaction");
  return std::move(found.mapped().change);
}

}  // namespace leasehold::sim::simulated

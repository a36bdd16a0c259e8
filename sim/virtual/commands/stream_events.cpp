#include "sim/virtual/commands/stream_events.hpp"

#include <algorithm>

namespace leasehold::sim::simulated {
namespace {

/// The size of its BSON, which is what mongod compares.
std::size_t size_of(const Object& object) { return Bytes(object).get()->len; }

/// Fields that were removed are not looked for: a document that has fewer is logged as a whole.
Object changed_fields(const Object& before, const Object& after) {
  Object changed;
  for (const auto& [key, value] : after.fields) {
    const Value* was = before.find(key);
    if (was == nullptr || !(*was == value)) changed.set(key, value);
  }
  return changed;
}

/// mongod writes what has changed into the oplog, unless the whole document is shorter: then it is
/// a replacement, and so it is if fields are in another order.
bool is_logged_as_changes(const Object& before, const Object& changed, const Object& after) {
  constexpr std::size_t kAround = 15;  // what the oplog entry has besides
  const auto same_order =
      before.fields.size() == after.fields.size() &&
      std::equal(before.fields.begin(), before.fields.end(), after.fields.begin(),
                 [](const auto& a, const auto& b) { return a.first == b.first; });
  // As the oplog has it: {u: {...}}, the fields that are new or have another value.
  Object updates;
  updates.set("u"_key, changed);
  return same_order && size_of(updates) + kAround < size_of(after);
}

/// Only documents are gone into. In a list a path has another meaning, and events have none.
const Value* at_path(const Object& object, std::string_view path) {
  const auto dot = path.find('.');
  const Value* found = object.find(path.substr(0, dot));
  if (found == nullptr || dot == std::string_view::npos) return found;
  const auto* inner = found->as<Object>();
  return inner == nullptr ? nullptr : at_path(*inner, path.substr(dot + 1));
}

/// What the two streams of the lock ask for, and no more: text, a pattern of it, whether it is
/// there.
bool field_matches(const Value* found, const Value& wanted) {
  if (const auto* pattern = wanted.as<Regex>()) {
    const auto* text = found == nullptr ? nullptr : found->as<std::string>();
    return text != nullptr && matches_pattern(*text, pattern->pattern);
  }
  if (const auto* operators = wanted.as<Object>()) {
    const Value* exists = operators->find("$exists"_key);
    if (exists == nullptr || operators->fields.size() != 1) throw Unsupported("$match by operator");
    return exists->truth() == (found != nullptr);
  }
  if (!wanted.is<std::string>()) throw Unsupported("$match by another type");
  return found != nullptr && *found == wanted;
}

/// What is not there is left out, with the documents around it if they are not there either.
void copy_path(const Object& from, std::string_view path, Object& to) {
  const auto dot = path.find('.');
  const auto key = path.substr(0, dot);
  const Value* found = from.find(key);
  if (found == nullptr) return;
  if (dot == std::string_view::npos) return to.set(key, *found);
  const auto* inner = found->as<Object>();
  if (inner == nullptr) return;
  Object copied;
  copy_path(*inner, path.substr(dot + 1), copied);
  to.set(key, std::move(copied));
}

}  // namespace

/// By the manual on change events: `clusterTime` is the time of the oplog's entry, `documentKey`
/// the `_id`. Resume tokens and namespaces are left out, because no lock reads them.
Object stream_event(const Change& change, const Document& before, Timestamp at) {
  Object key, event;
  key.set("_id"_key, change.id);
  event.set("clusterTime"_key, at);
  event.set("documentKey"_key, key);
  // A deletion says nothing of what the document was.
  if (!change.after || !before) {
    event.set("operationType"_key, std::string(change.after ? "insert" : "delete"));
    if (change.after) event.set("fullDocument"_key, *change.after);
    return event;
  }
  Object changed = changed_fields(*before, *change.after);
  const bool update = is_logged_as_changes(*before, changed, *change.after);
  event.set("operationType"_key, std::string(update ? "update" : "replace"));
  // A replacement shows the document after it.
  if (!update) {
    event.set("fullDocument"_key, *change.after);
    return event;
  }
  Object description;
  description.set("updatedFields"_key, std::move(changed));
  event.set("updateDescription"_key, std::move(description));
  return event;
}

/// All fields have to match; of an $or one branch.
bool event_matches(const Object& match, const Object& event) {
  return std::all_of(match.fields.begin(), match.fields.end(), [&](const auto& field) {
    const auto& [path, wanted] = field;
    if (path != "$or"_key) return field_matches(at_path(event, path.text()), wanted);
    const auto& branches = wanted.template as<Array>()->items;
    return std::any_of(branches.begin(), branches.end(), [&](const Value& branch) {
      return event_matches(*branch.as<Object>(), event);
    });
  });
}

Object projected(const Object& projection, const Object& event) {
  Object out;
  for (const auto& [path, one] : projection.fields) {
    if (one != Value(std::int32_t{1})) throw Unsupported("$project of another form");
    copy_path(event, path.text(), out);
  }
  return out;
}

}  // namespace leasehold::sim::simulated

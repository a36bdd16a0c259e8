#include "sim/virtual/commands/change_streams.hpp"

#include <algorithm>
#include <utility>

namespace leasehold::sim::simulated {
namespace {

constexpr int kUnauthorized = 13, kCursorNotFound = 43, kCursorKilled = 237;

/// As far as the adapter reads it: resume tokens and the events' other fields are left out.
/// By the manual a cursor is answered by {cursor: {id, firstBatch or nextBatch}}.
Object batch(std::int64_t id, const char* name, Array news) {
  const Object cursor = make({{"id"_key, id}, {name, std::move(news)}});
  return make({{"cursor"_key, cursor}, {"ok"_key, 1.0}});
}

/// The size of its BSON, which is what mongod compares.
std::size_t bytes_in(const Object& object) { return Bytes(object).get()->len; }

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
  const bool same_order = std::ranges::equal(
      before.fields, after.fields, [](const auto& a, const auto& b) { return a.first == b.first; });
  // As the oplog has it: {u: {...}}, the fields that are new or have another value.
  return same_order && bytes_in(make({{"u"_key, changed}})) + kAround < bytes_in(after);
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

/// Only these paths of the event: `$project` with ones alone.
Object projected(const Object& projection, const Object& event) {
  Object out;
  for (const auto& [path, one] : projection.fields) {
    if (one != Value(std::int32_t{1})) throw Unsupported("$project of another form");
    copy_path(event, path.text(), out);
  }
  return out;
}

}  // namespace

/// By the manual on change events: `clusterTime` is the time of the oplog's entry, `documentKey`
/// the `_id`. Resume tokens and namespaces are left out, because no lock reads them.
Object stream_event(const Change& change, const Document& before, Timestamp at) {
  Object event =
      make({{"clusterTime"_key, at}, {"documentKey"_key, make({{"_id"_key, change.id}})}});
  // A deletion says nothing of what the document was.
  if (!change.after || !before) {
    event.set("operationType"_key, change.after ? "insert" : "delete");
    if (change.after) event.set("fullDocument"_key, *change.after);
    return event;
  }
  Object changed = changed_fields(*before, *change.after);
  const bool update = is_logged_as_changes(*before, changed, *change.after);
  event.set("operationType"_key, update ? "update" : "replace");
  // A replacement shows the document after it.
  if (update) {
    event.set("updateDescription"_key, make({{"updatedFields"_key, std::move(changed)}}));
  } else {
    event.set("fullDocument"_key, *change.after);
  }
  return event;
}

/// The driver of a lock sends these three for its stream and for nothing else.
bool ChangeStreams::serves(const Object& command) {
  const Key& name = command.fields.at(0).first;
  return name == "aggregate"_key || name == "getMore"_key || name == "killCursors"_key;
}

void ChangeStreams::execute(const Object& command, EventQueue& queue, const Past& past,
                            Reply reply) {
  const std::string& name = command.fields.at(0).first;
  if (name == "getMore") {
    return next(command.fields[0].second.integer(), command.find("maxTimeMS"_key)->integer(), queue,
                std::move(reply));
  }
  const bool opens = name == "aggregate";
  if (opens && lag_ms_ < 0) return reply(error_reply(kUnauthorized, "not authorized"));
  if (opens) return reply(open(*command.find("pipeline"_key)->as<Array>(), past));
  reply(kill(command.find("cursors"_key)->as<Array>()->items));
}

/// In the order in which the adapter writes the stages; another pipeline is refused. An opened
/// stream has no events yet, unless it begins at a time before its opening.
Object ChangeStreams::open(const Array& stages, const Past& past) {
  const auto stage = [&](std::size_t at, const char* name) {
    const Value* argument = stages.items.at(at).as<Object>()->find(name);
    if (argument == nullptr) throw Unsupported("a change stream without " + std::string(name));
    return *argument->as<Object>();
  };
  const Object from = stage(0, "$changeStream");
  Cursor cursor{.match = stage(1, "$match"), .projection = stage(2, "$project")};
  if (const Value* since = from.find("startAtOperationTime"_key)) {
    past(*since->as<Timestamp>(), [&cursor](const Object& event) { tell(cursor, event); });
  }
  last_cursor_ += members_;
  Array news = std::exchange(cursor.news, {});
  cursors_[last_cursor_] = std::move(cursor);
  return batch(last_cursor_, "firstBatch", std::move(news));
}

/// A request that waits for events of one of them is answered that it was killed. By the manual on
/// killCursors the reply lists each by what became of it.
Object ChangeStreams::kill(const std::vector<Value>& ids) {
  Array killed, unknown;
  for (const Value& id : ids) {
    // Out of the map first: when it is answered no cursor must be left that it could ask.
    const auto found = cursors_.extract(id.integer());
    (found.empty() ? unknown : killed).items.push_back(id);
    if (!found.empty() && found.mapped().waiting) {
      found.mapped().waiting(error_reply(kCursorKilled, "operation was interrupted"));
    }
  }
  return make({{"cursorsKilled"_key, std::move(killed)},
               {"cursorsNotFound"_key, std::move(unknown)},
               {"cursorsAlive"_key, Array{}},
               {"cursorsUnknown"_key, Array{}},
               {"ok"_key, 1.0}});
}

void ChangeStreams::next(std::int64_t id, std::int64_t wait_ms, EventQueue& queue, Reply reply) {
  const auto found = cursors_.find(id);
  // Another member has it, or one that died since: the client opens another.
  if (found == cursors_.end()) return reply(error_reply(kCursorNotFound, "cursor not found"));
  Cursor& cursor = found->second;
  cursor.waiting = std::move(reply);
  const auto asked = ++cursor.asked;
  // The manual's maxTimeMS of a getMore: how long it waits for events. An empty batch then is no
  // error, and the cursor stays open. Counted in true time; mongod's own clock would not matter,
  // for it only decides when the client asks again.
  if (!cursor.news.items.empty()) return answer(id, cursor);
  queue.after(wait_ms * kMs, [this, id, asked] {
    const auto late = cursors_.find(id);
    // The cursor may be gone by now, or its next getMore wait: that one has its own time.
    if (late != cursors_.end() && late->second.asked == asked) answer(id, late->second);
  });
}

void ChangeStreams::answer(std::int64_t id, Cursor& cursor) {
  if (!cursor.waiting) return;
  // Cleared before the call: the receiver of an answer may ask again at once.
  const auto waiting = std::exchange(cursor.waiting, nullptr);
  waiting(batch(id, "nextBatch", std::exchange(cursor.news, {})));
}

/// The server filters, so that a provider is notified of its own grants and of no other write.
void ChangeStreams::tell(const Object& event) {
  for (auto& [id, cursor] : cursors_) {
    if (lag_ms_ == 0) {
      tell(cursor, event);
    } else if (matches(cursor.match, event)) {
      queue_->after(lag_ms_ * kMs, [this, id, event] {
        const auto open = cursors_.find(id);
        if (open == cursors_.end()) return;
        tell(open->second, event);
        answer(id, open->second);
      });
    }
  }
}

void ChangeStreams::tell(Cursor& cursor, const Object& event) {
  if (!matches(cursor.match, event)) return;
  cursor.news.items.emplace_back(projected(cursor.projection, event));
}

void ChangeStreams::answer() {
  for (auto& [id, cursor] : cursors_) {
    if (!cursor.news.items.empty()) answer(id, cursor);
  }
}

/// Out of the map first: the receiver of an answer may open another at once.
void ChangeStreams::end(const Object& error) {
  const auto cursors = std::exchange(cursors_, {});
  for (const auto& [id, cursor] : cursors) {
    if (cursor.waiting) cursor.waiting(error);
  }
}

}  // namespace leasehold::sim::simulated

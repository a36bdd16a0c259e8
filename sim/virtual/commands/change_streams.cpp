#include "sim/virtual/commands/change_streams.hpp"

#include <utility>

#include "sim/virtual/commands/stream_events.hpp"

namespace leasehold::sim::simulated {
namespace {

constexpr int kCursorNotFound = 43, kCursorKilled = 237;

/// As far as the adapter reads it: resume tokens and the events' other fields are left out.
/// By the manual a cursor is answered by {cursor: {id, firstBatch or nextBatch}}.
Object batch(std::int64_t id, const char* name, Array news) {
  Object cursor;
  cursor.set("id"_key, id);
  cursor.set(name, std::move(news));
  Object reply;
  reply.set("cursor"_key, cursor);
  reply.set("ok"_key, 1.0);
  return reply;
}

}  // namespace

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
  if (name == "aggregate") return reply(open(*command.find("pipeline"_key)->as<Array>(), past));
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
  Object done;
  done.set("cursorsKilled"_key, std::move(killed));
  done.set("cursorsNotFound"_key, std::move(unknown));
  done.set("cursorsAlive"_key, Array{});
  done.set("cursorsUnknown"_key, Array{});
  done.set("ok"_key, 1.0);
  return done;
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
  for (auto& [number, cursor] : cursors_) tell(cursor, event);
}

void ChangeStreams::tell(Cursor& cursor, const Object& event) {
  if (!event_matches(cursor.match, event)) return;
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

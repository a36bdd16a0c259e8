#pragma once

#include <functional>
#include <map>
#include <string>

#include "sim/virtual/commands/collection.hpp"
#include "sim/virtual/event_queue.hpp"

namespace leasehold::sim::simulated {

/// What a change stream reports of a write that turned `before` into `change.after`: a deletion, an
/// insertion, or an update, with its changes or, if that is shorter in the oplog, all of it.
[[nodiscard]] Object stream_event(const Change& change, const Document& before, Timestamp at);

/// One member's open cursors of change streams, on one collection: each reports the writes that it
/// asked for once a majority has them. A primary opens them; they outlive its office.
///
/// No position is kept to resume from: a client that loses its cursor opens another and has missed
/// what came between, unless it says from when on. A stream only brings attempts forward, so that
/// costs time and no safety.
class ChangeStreams {
 public:
  // Called at once, or later from the queue, from `answer` or from `end`; exactly once for each
  // command unless the member dies with it.
  using Reply = std::function<void(const Object&)>;
  /// Tells this of each write from then on that a majority has.
  using Past = std::function<void(Timestamp since, const std::function<void(const Object&)>& tell)>;

  /// `member`: of so many. No cursor has the number of another member's, which would serve it.
  void number_as(int member, int members) {
    last_cursor_ = member + 1 - members;
    members_ = members;
  }

  /// From then on events are reported this much later, or with less than 0 no stream is opened.
  void lag(EventQueue& queue, std::int64_t ms) {
    queue_ = &queue;
    lag_ms_ = ms;
  }

  [[nodiscard]] static bool serves(const Object& command);

  /// An `aggregate` with $changeStream, a `getMore` that waits for events, or a `killCursors`.
  /// REQUIRES: this outlives the queue's events.
  void execute(const Object& command, EventQueue& queue, const Past& past, Reply reply);

  [[nodiscard]] bool any() const { return !cursors_.empty(); }
  /// Only collects, because all events of one commit go out as one batch, by `answer`.
  /// REQUIRES: a majority has it. A write that can be rolled back was never reported.
  void tell(const Object& event);
  /// Answers waiting requests for which there are events.
  void answer();
  /// The member dies or rolls back: waiting requests are answered so, and no cursor is left.
  void end(const Object& error);

 private:
  // INVARIANT: one getMore at a time waits for a cursor; its connection carries one command.
  struct Cursor {
    Object match, projection;
    Array news;
    Reply waiting;            ///< of the getMore under way; empty: none
    std::uint64_t asked = 0;  ///< names the getMore under way
  };
  Object open(const Array& stages, const Past& past);
  void next(std::int64_t id, std::int64_t wait_ms, EventQueue& queue, Reply reply);
  static void tell(Cursor& cursor, const Object& event);
  static void answer(std::int64_t id, Cursor& cursor);
  Object kill(const std::vector<Value>& ids);

  // By number, above 0 ("no cursor" to a client), so that waiting clients are answered in the order
  // in which they opened. A real one's numbers are random, and no test compares them.
  std::map<std::int64_t, Cursor> cursors_;
  std::int64_t last_cursor_ = 0;
  int members_ = 1;
  EventQueue* queue_ = nullptr;
  std::int64_t lag_ms_ = 0;
};

}  // namespace leasehold::sim::simulated

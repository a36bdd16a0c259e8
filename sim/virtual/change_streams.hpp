#pragma once

#include <functional>
#include <map>
#include <string>

#include "sim/virtual/event_queue.hpp"
#include "sim/virtual/value.hpp"

namespace leasehold::sim::simulated {

/// The cursors of change streams that one member has open, on one collection: each hears of
/// deletions once a majority has them. Opened by a primary; they outlive its office.
class ChangeStreams {
 public:
  using Reply = std::function<void(const Object&)>;

  [[nodiscard]] static bool serves(const Object& command);

  /// An `aggregate` with $changeStream, a `getMore` that waits for news, or a `killCursors`.
  void execute(const Object& command, EventQueue& queue, Reply reply);

  void tell(const std::string& deleted, Timestamp at);
  /// Answers those who wait and have news.
  void answer();
  /// The member dies or rolls back: those who wait hear this, and no cursor is left.
  void end(const Object& error);

 private:
  struct Cursor {
    Array news;
    Reply waiting;            ///< of the getMore under way; empty: none
    std::uint64_t asked = 0;  ///< which it is
  };
  void next(std::int64_t id, std::int64_t wait_ms, EventQueue& queue, Reply reply);
  static void answer(std::int64_t id, Cursor& cursor);
  Object kill(const std::vector<Value>& ids);

  std::map<std::int64_t, Cursor> cursors_;
  std::int64_t last_cursor_ = 0;
};

}  // namespace leasehold::sim::simulated

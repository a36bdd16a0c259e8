#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "mongo/client/own_session.hpp"

namespace leasehold::mongo {

/// The open cursors of a provider's change streams between two steps, each with the client and the
/// session that opened it.
///
/// Each step has its client exclusively. A step takes the stream out, and puts it back if its
/// cursor lives on; a step that opens one starts a client of its own, which is put here once it has
/// a cursor. So two steps never meet on one client, whichever workers carry them: a step that was
/// given up and still hangs has its stream with it, and another step for that cursor finds none
/// meanwhile and leaves the client alone. A step that was given up drops its stream instead of
/// putting it back: its socket was cut, and the server's own time-out of idle cursors ends the
/// cursor.
///
/// Thread safety: all calls from any thread.
class Streams {
 public:
  /// Null: it is not here.
  [[nodiscard]] std::unique_ptr<OwnSession> take(std::int64_t cursor);
  /// REQUIRES: no command runs on it.
  void put(std::int64_t cursor, std::unique_ptr<OwnSession> stream);

 private:
  struct Open {
    std::int64_t cursor;
    std::unique_ptr<OwnSession> stream;
  };
  /// One that is read and one that is about to be closed. A further cursor was forgotten: its
  /// answer came when no caller waited for it any more.
  static constexpr std::size_t kMost = 2;

  std::mutex mutex_;
  std::vector<Open> open_;  ///< the oldest first; protected by mutex_
};

}  // namespace leasehold::mongo

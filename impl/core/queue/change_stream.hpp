#pragma once

#include <cstdint>

#include "core/pending_commands.hpp"

namespace leasehold::core {

/// The change stream that tells the calls that stand in a queue that a lock was passed to them
/// (MongoDB manual, "Change Streams"). Whatever it says or leaves out, a call that waits makes an
/// attempt at least each longest pause of its strategy.
///
///     off -> opening -> open -> closing -> off or opening
///               |        |
///               +--------+-> pausing (after a failure) -> opening
///               +--------+-> refused (no permission, for good)
///
/// INVARIANT: at most one command of it is under way that was not abandoned. A close and the open
/// after it must not run side by side, on two threads of a driver and one connection.
class ChangeStream {
 public:
  [[nodiscard]] bool is_open() const { return phase_ == Phase::open; }

  /// A call stands in a queue, of this provider's half of the owners: the stream is opened if it is
  /// off, read if it is open and idle, and stays wanted for a while.
  void listen(std::uint64_t provider, SendingStep step);

  /// What a reply was: nothing to act on, the first of an opened stream (a call may have missed a
  /// grant before it), or news. `listened`: whether a call waits that acts on news.
  enum class Heard { nothing, opened, news };
  Heard answered(CommandId command, const Reply& reply, bool listened, SendingStep step);
  /// After news: closes the stream if no call has listened for a while; otherwise reads on, at once
  /// if a call awaits news.
  void read_on(bool listened, bool awaited, SendingStep step);

  /// Its timer fired.
  void due(SendingStep step);

  /// The provider ends: the cursor is closed, now or when the step under way is answered.
  void end(SendingStep step);

  bool operator==(const ChangeStream&) const = default;

 private:
  enum class Phase { off, opening, open, pausing, closing, refused };

  void open(SendingStep step);
  void close(SendingStep step);
  void send(StreamCommand::Step what, SendingStep step);
  void failed(const Reply& reply, bool listened, Step step);
  void closed(bool listened, SendingStep step);
  void pause(Phase phase, Duration pause, Step step);
  bool is_wanted(bool listened, LocalInstant now);

  Phase phase_ = Phase::off;
  std::uint64_t provider_ = 0;  ///< it reports grants to owners with this first half
  std::int64_t cursor_ = 0;     ///< open, closing: at the server; 0: none
  CommandId command_ = 0;       ///< the step under way, or 0
  LocalInstant wanted_until_;
  LocalInstant next_at_;  ///< pausing, open: when the next step is due, with none under way
  int failures_ = 0;      ///< in a row
};

}  // namespace leasehold::core

#pragma once

#include <cstdint>
#include <optional>

#include "core/pending_commands.hpp"

namespace leasehold::core {

/// The change stream that notifies queued calls that a lock was passed to them
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
  /// Whether each grant to a call that has listened is reported: it is open, or being opened from
  /// the place that that call had.
  [[nodiscard]] bool reports() const {
    return phase_ == Phase::open || (phase_ == Phase::opening && !gap_);
  }

  /// The place in the oplog from which on all is reported; none yet while it is being opened after
  /// a gap.
  [[nodiscard]] FencingToken since() const { return since_; }

  /// A call is queued, of this provider's half of the owners, as an attempt has shown at
  /// that place in the oplog: the stream is opened from there if it is off, read by this step if it
  /// is open and idle, and stays wanted for a while.
  void listen(std::uint64_t provider, FencingToken since, StreamCommand::Step by, SendingStep step);

  /// What a reply was: nothing to act on, events, or a gap: a grant may be missing in what was
  /// reported. `listened`: whether a call waits that acts on events.
  enum class Heard { nothing, gap, news };
  Heard answered(CommandId command, const Reply& reply, bool listened, SendingStep step);
  /// After such a reply: closes the stream if no call has listened for a while; reads on if a call
  /// awaits events, when it has stayed `unread` for so long; after a while if one listens, and else
  /// not before the next one does. Does nothing if it is not open.
  void read_on(bool listened, std::optional<Duration> unread, SendingStep step);

  /// Its timer fired.
  void due(bool listened, SendingStep step);

  /// The provider ends: the cursor is closed, now or when the step under way is answered.
  void end(SendingStep step);

 private:
  enum class Phase { off, opening, open, pausing, closing, refused };

  void open(FencingToken since, SendingStep step);
  void close(SendingStep step);
  void send(StreamCommand::Step what, SendingStep step, FencingToken since = {});
  void failed(const Reply& reply, bool listened, Step step);
  void closed(bool listened, SendingStep step);
  void pause(Phase phase, Duration pause, Step step);
  void idle(bool listened, Step step);
  bool is_wanted(bool listened, LocalInstant now);

  Phase phase_ = Phase::off;
  std::uint64_t provider_ = 0;  ///< it reports grants to owners with this first half
  std::int64_t cursor_ = 0;     ///< open, closing: at the server; 0: none
  CommandId command_ = 0;       ///< the step under way, or 0
  bool gap_ = false;            ///< opening: what came before it is not reported
  FencingToken since_;
  LocalInstant wanted_until_;
  LocalInstant next_at_;  ///< pausing, open: when the next step is due, with none under way
  int failures_ = 0;      ///< in a row
};

}  // namespace leasehold::core

#pragma once

#include "core/acquire/acquire_call.hpp"
#include "core/held/held_lock.hpp"

namespace leasehold::core {

/// How a call won: by which command, sent when, that left which document at which time. It decides
/// from when the lease counts, which token the grant has, and whether it can be used at all. It
/// does not know queues, timers or other calls.
///
/// INVARIANT: the document is that of the very write that won, and `at` the operation time of that
/// write: the evidence of one execution, put together from no two replies.
struct Win {
  Granted::By by;
  CommandId command;      ///< passed on: the step of the stream that reported it
  LocalInstant sent;      ///< from when the lease counts, whenever the reply came
  LockDocument document;  ///< as that write left it
  FencingToken at;        ///< the grant's token
  bool observed = false;  ///< an attempt that knew that the holder was dead

  /// Whether its token is above what the document has stored, a lower bound of the holder's before.
  /// It is on one replica set; it is not after a restore from another one, say (DESIGN.md, "The
  /// fencing token is the operation time of the write").
  [[nodiscard]] bool token_rises() const { return at.value() > document.fencing_token; }
};

/// The lock that the call holds by that, with its deadline: the earlier of the lease's end and of
/// `max_holding`, both on the holder's own clock. Already over, if the win became known too late.
[[nodiscard]] HeldLock held_lock(const AcquireCall& call, const Win& win);

}  // namespace leasehold::core

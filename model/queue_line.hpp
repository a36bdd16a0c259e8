#pragma once

#include <vector>

#include "model/finding.hpp"

namespace leasehold::model {

/// An entry in a queue, from joining to leaving.
struct Stand {
  Index joined = kNone, left = kNone;
  std::int64_t passes = 0;   ///< how often the queue had given the lock to a waiter before
  std::int64_t entries = 0;  ///< how many had joined by then
};

/// What each write of a lock's document may do to its queue, certain whatever fails: the queue is
/// one document, and its versions are in the oplog.
///
/// - Who joins stands last, and the queue gives the lock to the first: all who joined before leave
///   by that write, and the entry that is served was still good.
/// - No write takes out another's entry that is still good by the date of the write, unless that
///   one had asked to leave. Nor does a process delete a document with somebody in its queue that
///   has seen that queue in the last five seconds.
/// - It is passed on in the second of the server's clock in which it was given, or is offered: the
///   turn of the calls that poll.
///
/// Only processes are asked of which somebody stood in a queue: a release from before there were
/// queues overwrites them. Returns all who ever stood there.
[[nodiscard]] std::vector<Stand> check_queue_line(const Digest& d, Finding& f, Id name);

/// "lock 'l': p0", the process of who joined or left there.
[[nodiscard]] std::string whose(const Digest& d, Index place);

}  // namespace leasehold::model

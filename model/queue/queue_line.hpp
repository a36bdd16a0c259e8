#pragma once

#include <vector>

#include "model/verdict/finding.hpp"

namespace leasehold::model {

/// An entry in a queue, from joining to leaving.
struct Stand {
  Index joined = kNone, left = kNone;
  std::int64_t passes = 0;   ///< how often the queue had given the lock before
  std::int64_t entries = 0;  ///< entries that had joined by then
};

/// What each write of a lock's document may do to its queue. This is certain whatever fails: the
/// queue is one document, and its versions are in the oplog.
///
/// - An entry that joins is last, and the queue gives the lock to the first entry: all earlier
///   entries leave by that write, and the served entry is still valid.
/// - No write removes another owner's entry that is valid by the date of the write, unless that
///   owner had asked to leave. A process that has seen the queue in the last five seconds does not
///   delete a document with an entry in its queue.
/// - The lock is passed on in the second of the server's clock in which it was given. Later it is
///   offered, which is the turn of the calls that poll: always if it was given less than 250
///   ms ago, else if the owner that is next ends in a hexadecimal digit below 4.
///
/// Only processes with an entry in this queue are checked, because versions of the lock from before
/// the queue overwrite it. Returns all entries that ever were there.
[[nodiscard]] std::vector<Stand> check_queue_line(const Digest& d, Finding& f, Id name);

/// When a reply showed the call that joined there its place; kNever: none did.
[[nodiscard]] std::int64_t told_at(const Digest& d, Index joined);

/// "lock 'l': p0", the process of the entry that joined or left there.
[[nodiscard]] std::string whose(const Digest& d, Index place);

}  // namespace leasehold::model

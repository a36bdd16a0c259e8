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

/// When a reply showed the call that joined there its place; kNever: none did.
[[nodiscard]] std::int64_t told_at(const Digest& d, Index joined);

/// "lock 'l': p0", the process of the entry that joined or left there.
[[nodiscard]] std::string whose(const Digest& d, Index place);

/// What G7 promises of events. Not checked where servers may be slow, as real ones are.
///
/// - A call that gets the lock from the queue while its process reads its stream has the lock, or
///   asks for it, within two round trips of the release's answer if nothing is disturbed. It does
///   not wait for its next renewal.
/// - An ended call gives back a lock that it is granted when the event of the grant arrives, even
///   if something is disturbed. The event is the first answered step of its stream that covers the
///   grant.
/// - A stream that was answered is read on at once, while a call is queued and knows that.
///
/// A round trip is the longest that a command of this process took, undisturbed. A stream was open
/// for certain if a step follows an answer at once, and a call was queued when that step and the
/// one before it were sent.
void check_queue_news(const Digest& d, Finding& f);

/// A call that ends while it is queued asks to leave, at once.
void check_left(const Digest& d, Finding& f, const Stand& stand);

/// What G7 promises the calls in a lock's queue, by the oplog of its document. A call that joins
///
/// - is passed over by no later call (`Line`);
/// - is notified of its turn if its process reads the change stream (`check_queue_news`);
/// - is served within as many cycles as there are holders until then. A cycle is a holding, as the
///   history shows it, at most the lease of its last write; then the way to the next holder: an
///   operation timeout for the release, and a longest pause and two operation timeouts until the
///   next one knows.
///
/// `waiters` by id of the name. Linear in the events, except for a search in the order of writes.
void check_queue_turns(const Digest& d, Finding& f, const std::vector<Waiters>& waiters);

}  // namespace leasehold::model

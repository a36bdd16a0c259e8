#pragma once

#include "model/queue/queue_line.hpp"

namespace leasehold::model {

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

}  // namespace leasehold::model

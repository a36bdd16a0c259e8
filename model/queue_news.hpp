#pragma once

#include "model/queue_line.hpp"

namespace leasehold::model {

/// What G7 promises of news, where servers are not slow, as real ones may be:
///
/// - Where nothing is disturbed, whose process reads its stream when the queue gives it the lock
///   has the lock, or asks for it, within two round trips of the release's answer. Not only with
///   its next renewal.
/// - An owner whose call has ended gives back what it is granted with the news of that, whatever is
///   disturbed: the first step of its stream that was answered with all up to the grant brought it.
/// - A stream that was answered is read on at once, while a call stands in a queue and knows that.
///
/// A round trip is the longest that a command of this process took, undisturbed. That a stream was
/// open is certain of a step that follows an answer at once, where a call stood in a queue when
/// that step and the one before it were sent.
void check_queue_news(const Digest& d, Finding& f);

/// A call that ends while it stands in the queue asks to leave, at once.
void check_left(const Digest& d, Finding& f, const Stand& stand);

}  // namespace leasehold::model

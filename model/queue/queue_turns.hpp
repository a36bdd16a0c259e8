#pragma once

#include "model/verdict/waiters.hpp"

namespace leasehold::model {

/// What G7 promises the calls in a lock's queue, by the oplog of its document. A call that joins
///
/// - is passed over by no later call (`queue_line.hpp`);
/// - is notified of its turn if its process reads the change stream (`queue_news.hpp`);
/// - is served within as many cycles as there are holders until then. A cycle is a holding, as the
///   history shows it, at most the lease of its last write; then the way to the next holder: an
///   operation timeout for the release, and a longest pause and two operation timeouts until the
///   next one knows.
///
/// `waiters` by id of the name. Linear in the events, except for a search in the order of writes.
void check_queue_turns(const Digest& d, Finding& f, const std::vector<Waiters>& waiters);

}  // namespace leasehold::model

#pragma once

#include "model/verdict/walk.hpp"

/// Checks that every run is one that the rules of a document's versions allow. The oplog says which
/// versions there were, not when each was written. So a set of states is kept for each lock: how
/// many versions there may have been by then. Each event of the history (a command, what its reply
/// says or shows, a grant, a loss, a release, a version that was read) leaves those states in which
/// the document can have done the same after hidden steps. A hidden step writes a version by a
/// command that was sent before, or removes one with a lease that has run out. The set must never
/// become empty.
///
/// The arrows say which step an event was; this check says whether there is one at all.
namespace leasehold::model {

/// One pass over the events. Counts: `hidden_steps`, `old_primaries` (replies that show what was
/// over before their command was sent), and `largest_set`. Not for the published locks and not for
/// histories that are not whole.
[[nodiscard]] Finding check_refinement(const Digest& d);
/// The same, as part of a walk. The digest must outlive it.
[[nodiscard]] std::unique_ptr<Inquiry<Finding>> refinement_inquiry(const Digest& d);

}  // namespace leasehold::model

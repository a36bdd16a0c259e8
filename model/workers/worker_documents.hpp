#pragma once

#include <map>
#include <string>
#include <vector>

#include "model/workers/worker_checkers.hpp"

/// The oplog of a third-party lock, beside the answers of its worker. Only certainty counts: a
/// document is a call's if no other call can have written it.
namespace leasehold::model {

/// A lock's document under one owner, and the change that ended that.
struct HeldDocument {
  Index first = kNone, last = kNone;  ///< writes with this owner
  Index next = kNone;                 ///< another owner's write, or the deletion; kNone: none
  bool next_gone = false;
  bool next_fresh = false;  ///< its owner was not seen before
  Index next_put = kNone;  ///< the next write of another owner, also after a deletion
  /// The call that was granted the lock by the first write. Null: not certain.
  const WorkerCall* call = nullptr;
};

/// The documents of each lock, in the order of the oplog.
using HeldDocuments = std::map<std::string, std::vector<HeldDocument>>;

/// Each grant comes with a write of an owner that was not seen before. If only one write is left
/// for a call, it is that call's. An owner that is written again for another holding has no call.
[[nodiscard]] HeldDocuments worker_documents(const Digest& d, const WorkerCalls& calls);

/// Whether this write may be the winning one of this call, as far as the times tell.
[[nodiscard]] bool may_have_written(const Digest& d, const WorkerCall& call, const Event& put);

/// G1: no other document takes the place of a holder's before its lease is over.
[[nodiscard]] Finding check_document_leases(const Digest& d, const WorkerCalls& calls,
                                            const HeldDocuments& documents);
/// The rest of G4: the tokens rise in the order of the writes.
void check_document_tokens(const HeldDocuments& documents, Finding& f);
/// G6: no release, extension or clean-up of another ends a holder's document.
[[nodiscard]] Finding check_document_owners(const Digest& d, const WorkerCalls& calls,
                                            const HeldDocuments& documents);
/// G8: a dead holder's document expires no later than the lock promises to pass on.
[[nodiscard]] Finding check_document_ends(const Digest& d, const Promises& promises,
                                          const HeldDocuments& documents);

}  // namespace leasehold::model

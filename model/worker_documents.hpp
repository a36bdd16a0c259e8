#pragma once

#include <map>
#include <string>
#include <vector>

#include "model/worker_checkers.hpp"

/// The oplog of a lock that is not ours, beside what its worker said. Only what is certain counts:
/// a document is a call's if no other can have written it.
namespace leasehold::model {

/// A lock's document under one owner, and the change that ended that.
struct HeldDocument {
  Index first = kNone, last = kNone;  ///< writes with this owner
  Index next = kNone;                 ///< another's write, or its end; kNone: none
  bool next_gone = false;
  bool next_fresh = false;  ///< its owner was not seen before
  Index next_put = kNone;  ///< the next write of another owner, whatever came between
  /// Whose it is: this call was granted the lock by its first write. Null: not for certain.
  const WorkerCall* call = nullptr;
};

/// Of each lock, in the order of the oplog.
using HeldDocuments = std::map<std::string, std::vector<HeldDocument>>;

/// Each grant comes with a write of an owner that was not seen before. Where that leaves one write
/// for a call, it is that call's. Owners that are written again for another holding are nobody's.
[[nodiscard]] HeldDocuments worker_documents(const Digest& d, const WorkerCalls& calls);

/// Whether this write may be the winning one of this call, as far as the times tell.
[[nodiscard]] bool may_have_written(const Digest& d, const WorkerCall& call, const Event& put);

/// G1: nobody's document takes the place of a holder's before its lease is over.
[[nodiscard]] Finding check_document_leases(const Digest& d, const WorkerCalls& calls,
                                            const HeldDocuments& documents);
/// The rest of G4: the tokens rise in the order of the writes.
void check_document_tokens(const HeldDocuments& documents, Finding& f);
/// G6: no release, extension or clean-up of another ends a holder's document.
[[nodiscard]] Finding check_document_owners(const Digest& d, const WorkerCalls& calls,
                                            const HeldDocuments& documents);
/// G8: the date of a dead holder's document is no later than it promises to pass the lock on.
[[nodiscard]] Finding check_document_ends(const Digest& d, const Promises& promises,
                                          const HeldDocuments& documents);

}  // namespace leasehold::model

#pragma once

#include <map>
#include <string>
#include <vector>

#include "model/verdict/finding.hpp"
#include "model/workers/promises.hpp"

/// The guarantees of a lock that is known only by the answers of its worker. Each answer has an
/// earliest time (`sent_ns`) and a latest one (`at_ns`, its arrival). A check takes the one that
/// favours the lock.
namespace leasehold::model {

/// One acquire call of a worker.
struct WorkerCall {
  const std::string* process = nullptr;
  const SessionDigest* session = nullptr;
  const Event* ask = nullptr;
  const Event* granted = nullptr;  ///< null: the worker reported no grant
  [[nodiscard]] std::int64_t token() const { return granted->token; }
  /// Whether it certainly got the lock after the other had it: the call began only then.
  [[nodiscard]] bool after(const WorkerCall& other) const {
    return other.granted != nullptr && ask->at_ns > other.granted->at_ns;
  }
};

/// By the name of the lock, in the order of asking.
using WorkerCalls = std::map<std::string, std::vector<WorkerCall>>;
[[nodiscard]] WorkerCalls worker_calls(const Digest& d);

/// Adds what a grant says to the answers of `held()`: its user has the lock from the grant on, and
/// relies on it for the time that it was given, unless it ends before.
void believe_grants(Digest& d);

/// The rest of G2: no call is granted a lock while another certainly holds it.
void check_grants_exclusive(const WorkerCalls& calls, Finding& f);
/// G3, by the resource that the laboratory wrote to with the lock's tokens.
[[nodiscard]] Finding check_worker_fence(const Digest& d, const WorkerCalls& calls);
/// G4: if a call began after the grant of another, its grant has the higher token.
[[nodiscard]] Finding check_worker_tokens(const WorkerCalls& calls);
/// G5: a holder that has not released is notified of its loss by the time another has the lock.
[[nodiscard]] Finding check_worker_losses(const Digest& d, const WorkerCalls& calls);
/// G7: an acquire returns by its timeout; a lock that no call can have any more goes to a waiter.
[[nodiscard]] Finding check_worker_waits(const Digest& d, const Promises& promises,
                                         const WorkerCalls& calls);

}  // namespace leasehold::model

#pragma once

#include <vector>

#include "model/verdict/finding.hpp"
#include "model/workers/promises.hpp"

namespace leasehold::model {

/// The digest of a worker's history, for the guarantees. Each answer has an earliest time,
/// `sent_ns`, and a latest one, its arrival: a check takes the one that favours the lock.
///
/// A holder has the lock from its grant on, and for the time that it was given. A document is a
/// call's if no other call can have written it: then its writes have a lockId, that of the grant.
///
/// Both have to outlive it.
[[nodiscard]] Digest worker_digest(const History& history, const Promises& promises);

/// By id of the lock's name: its calls, in the order of asking.
using WorkerCalls = std::vector<std::vector<const SessionDigest*>>;
[[nodiscard]] WorkerCalls worker_calls(const Digest& d);

/// Finds the first grant of all calls for one name that began after a time.
class LaterGrants {
 public:
  /// REQUIRES: the calls outlive it.
  LaterGrants(const Digest& d, const WorkerCalls::value_type& calls);
  /// kNone: there is none.
  [[nodiscard]] Index first_after(std::int64_t at_ns) const;

 private:
  const WorkerCalls::value_type& calls_;
  std::vector<Index> first_;  ///< of each call and all later ones
};

/// G7 of a worker's lock: each call ends `on_time`, and gets a lock that no other call can have.
void check_waits(const Digest& d, Finding& f,
                 void (*on_time)(const Digest&, Finding&, const SessionDigest&));

}  // namespace leasehold::model

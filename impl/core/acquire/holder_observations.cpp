#include "core/acquire/holder_observations.hpp"

#include "core/document/lock_id.hpp"

namespace leasehold::core {
namespace {
/// After so many leases without a look another process has surely taken or renewed the lock.
constexpr int kDropAfterLeases = 10;
}

/// The first sight counts, not the last: the lease of that execution cannot end later than one
/// lease after it was first seen.
void HolderObservations::see(const std::string& name, const std::string& lock_id,
                             LocalInstant now) {
  const auto parts = parse_lock_id(lock_id);
  // The lockId of our form is gone; the lease of the holder that is there now is unknown.
  if (!parts) {
    observations_.erase(name);
    return;
  }
  const auto* const before = observations_.find(name);
  const bool same = before != nullptr && before->lock_id == lock_id;
  const auto first_seen = same ? before->first_seen : now;
  observations_.keep(name, {lock_id, std::chrono::milliseconds(parts->lease_ms), first_seen, now});
}

/// The drift is of the call that asks: calls for one name may have different options.
std::optional<LocalInstant> HolderObservations::presumed_dead_at(const std::string& name,
                                                                 double max_drift) const {
  const auto* const found = observations_.find(name);
  if (found == nullptr) return std::nullopt;
  return sight_matures(found->first_seen, found->lease, max_drift);
}

/// The server compares it with the document inside the write: a holder that has extended since the
/// last look keeps its lock.
std::optional<std::string> HolderObservations::presumed_dead(const std::string& name,
                                                             LocalInstant now,
                                                             double max_drift) const {
  const auto at = presumed_dead_at(name, max_drift);
  if (!at || now < *at) return std::nullopt;
  const auto& sight = *observations_.find(name);
  // Long unconfirmed: it was surely renewed or taken since, and the server would refuse.
  if (now - sight.last_seen > kDropAfterLeases * sight.lease) return std::nullopt;
  return sight.lock_id;
}

}  // namespace leasehold::core

#pragma once

#include <optional>
#include <string>

#include "core/bounded_map.hpp"
#include "core/limits.hpp"
#include "core/time.hpp"

namespace leasehold::core {

/// What a provider has seen of other holders: for each name the last lockId and when its first
/// reply was received. A lockId names one execution of one command, so one that has stood for its
/// whole lease proves that its holder is dead, whatever any server's clock says.
///
/// Only this machine's clock counts, and only from the receipt of a reply: how long the reply was
/// on its way can make a holder seem to live longer, never shorter. The same idea is in Amazon's
/// DynamoDB Lock Client (REFERENCES.md).
///
/// INVARIANT: at most kMaxSights names; a sight not confirmed for 10 of its leases is not used.
class HolderObservations {
 public:
  /// A reply received now showed `lock_id` as the holder of `name`. A value of another form than
  /// ours makes it forget the name, because the lease of that holder is unknown.
  void see(const std::string& name, const std::string& lock_id, LocalInstant now);

  /// When the lockId last seen for `name` proves its holder dead.
  [[nodiscard]] std::optional<LocalInstant> presumed_dead_at(const std::string& name,
                                                             double max_drift) const;

  /// The lockId to compare with in an attempt sent now, if its holder is proved dead.
  [[nodiscard]] std::optional<std::string> presumed_dead(const std::string& name, LocalInstant now,
                                                         double max_drift) const;

 private:
  struct HolderObservation {
    std::string lock_id;
    Duration lease;
    LocalInstant first_seen;
    LocalInstant last_seen;
  };
  BoundedMap<std::string, HolderObservation, kMaxSights> observations_;
};

}  // namespace leasehold::core

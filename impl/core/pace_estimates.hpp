#pragma once

#include <leasehold/waiting.hpp>
#include <map>
#include <optional>
#include <string>

#include "core/time.hpp"

namespace leasehold::core {

/// The pace of each name that a provider contended for, on behalf of strategies that learn.
///
/// INVARIANT: at most kMaxRhythms names; the one not used for longest makes room.
class PaceEstimates {
 public:
  [[nodiscard]] std::optional<Duration> pace(const std::string& name) const;
  /// `seen` is what an attempt learned that won or was refused.
  void attempted(const std::string& name, const WaitingStrategy& strategy, const AttemptSeen& seen,
                 bool won, LocalInstant now);

  bool operator==(const PaceEstimates&) const = default;

 private:
  struct PaceEstimate {
    Duration pace;
    LocalInstant last_used;
    bool operator==(const PaceEstimate&) const = default;
  };
  std::map<std::string, PaceEstimate> paces_;
};

}  // namespace leasehold::core

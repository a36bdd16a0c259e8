#include "core/pace_estimates.hpp"

#include <algorithm>

#include "core/limits.hpp"

namespace leasehold::core {

std::optional<Duration> PaceEstimates::pace(const std::string& name) const {
  const auto found = paces_.find(name);
  if (found == paces_.end()) return std::nullopt;
  return found->second.pace;
}

void PaceEstimates::attempted(const std::string& name, const WaitingStrategy& strategy,
                              const AttemptSeen& seen, bool won, LocalInstant now) {
  const auto next = strategy.next_pace(seen, won);
  if (!next) return;
  if (!paces_.contains(name) && paces_.size() >= kMaxRhythms) {
    paces_.erase(std::min_element(paces_.begin(), paces_.end(), [](const auto& a, const auto& b) {
      return a.second.last_used < b.second.last_used;
    }));
  }
  paces_[name] = {*next, now};
}

}  // namespace leasehold::core

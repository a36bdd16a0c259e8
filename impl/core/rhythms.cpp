#include "core/rhythms.hpp"

#include <algorithm>

#include "core/limits.hpp"

namespace leasehold::core {

Duration Rhythms::pace(const std::string& name, const WaitingStrategy& strategy) const {
  const auto found = rhythms_.find(name);
  return found == rhythms_.end() ? *strategy.initial_pace() : found->second.pace;
}

void Rhythms::attempted(const std::string& name, const WaitingStrategy& strategy, Duration waited,
                        bool won, LocalInstant now) {
  const auto next = strategy.next_pace(pace(name, strategy), waited, won);
  if (!rhythms_.contains(name) && rhythms_.size() >= kMaxRhythms) {
    rhythms_.erase(std::min_element(
        rhythms_.begin(), rhythms_.end(),
        [](const auto& a, const auto& b) { return a.second.last_used < b.second.last_used; }));
  }
  rhythms_[name] = {next, now};
}

}  // namespace leasehold::core

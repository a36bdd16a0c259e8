#include "core/rhythms.hpp"

#include <algorithm>

#include "core/limits.hpp"

namespace leasehold::core {

std::optional<Duration> Rhythms::pace(const std::string& name) const {
  const auto found = rhythms_.find(name);
  if (found == rhythms_.end()) return std::nullopt;
  return found->second.pace;
}

void Rhythms::attempted(const std::string& name, const WaitingStrategy& strategy,
                        const AttemptSeen& seen, bool won, LocalInstant now) {
  const auto next = strategy.next_pace(seen, won);
  if (!next) return;
  if (!rhythms_.contains(name) && rhythms_.size() >= kMaxRhythms) {
    rhythms_.erase(std::min_element(
        rhythms_.begin(), rhythms_.end(),
        [](const auto& a, const auto& b) { return a.second.last_used < b.second.last_used; }));
  }
  rhythms_[name] = {*next, now};
}

}  // namespace leasehold::core

#include "core/rhythms.hpp"

#include <algorithm>

#include "core/limits.hpp"

namespace leasehold::core {

std::optional<Duration> Rhythms::pace(const std::string& name) const {
  const auto found = rhythms_.find(name);
  if (found == rhythms_.end()) return std::nullopt;
  return found->second.pace;
}

void Rhythms::attempted(const std::string& name, const WaitingStrategy& strategy, Duration waited,
                        bool won, LocalInstant now) {
  const auto known = pace(name);
  const auto next = strategy.next_pace(known, waited, won);
  if (!next) return;
  if (!known && rhythms_.size() >= kMaxRhythms) {
    rhythms_.erase(std::min_element(
        rhythms_.begin(), rhythms_.end(),
        [](const auto& a, const auto& b) { return a.second.last_used < b.second.last_used; }));
  }
  rhythms_[name] = {*next, now};
}

}  // namespace leasehold::core

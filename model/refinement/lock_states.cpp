#include "model/refinement/lock_states.hpp"

namespace leasehold::model {

std::int64_t LockStates::grow(const VersionRules& rules, Moment now) {
  std::int64_t steps = 0;
  for (std::size_t i = 0; i < all_.size() && all_[i].version < line_.size(); ++i) {
    const Version next = all_[i].version + 1;
    const Way way = rules.way(line_, next, now, all_[i].spent);
    if (way.why_not != nullptr) continue;
    auto spent = all_[i].spent;
    if (way.spends != kNone) spent.push_back(way.spends);
    if (i + 1 == all_.size()) {
      too_many_ |= all_.size() == kMost;
      if (too_many_) return steps;
      ++steps;
      all_.push_back({next, std::move(spent)});
    } else if (spent.size() < all_[i + 1].spent.size()) {
      all_[i + 1].spent = std::move(spent);
    }
  }
  return steps;
}

void LockStates::keep_from(Version v) {
  if (v > lowest()) all_.erase(all_.begin(), all_.begin() + (v - lowest()));
}

}  // namespace leasehold::model

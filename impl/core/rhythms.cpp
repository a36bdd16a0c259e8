#include "core/rhythms.hpp"

#include <algorithm>

#include "core/limits.hpp"

namespace leasehold::core {
namespace {
constexpr int kWeight = 8;  ///< a new wait counts for an eighth
}

void Rhythms::won(const std::string& name, Duration waited, LocalInstant now) {
  const auto found = rhythms_.find(name);
  if (found != rhythms_.end()) {
    found->second.typical += (waited - found->second.typical) / kWeight;
    found->second.last_won = now;
    return;
  }
  if (rhythms_.size() >= kMaxRhythms) {
    rhythms_.erase(std::min_element(
        rhythms_.begin(), rhythms_.end(),
        [](const auto& a, const auto& b) { return a.second.last_won < b.second.last_won; }));
  }
  rhythms_[name] = {waited, now};
}

std::optional<Duration> Rhythms::typical_wait(const std::string& name) const {
  const auto found = rhythms_.find(name);
  if (found == rhythms_.end()) return std::nullopt;
  return found->second.typical;
}

}  // namespace leasehold::core

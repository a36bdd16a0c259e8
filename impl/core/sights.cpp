#include "core/sights.hpp"

#include <algorithm>

#include "core/limits.hpp"
#include "core/lock_id.hpp"

namespace leasehold::core {
namespace {
constexpr int kDropAfterLeases = 10;
}

void Sights::see(const std::string& name, const std::string& lock_id, LocalInstant now) {
  const auto parts = parse_lock_id(lock_id);
  if (!parts) {
    sights_.erase(name);
    return;
  }
  const auto found = sights_.find(name);
  if (found != sights_.end() && found->second.lock_id == lock_id) {
    found->second.last_seen = now;
    return;
  }
  if (found == sights_.end()) make_room(now);
  sights_[name] = {lock_id, std::chrono::milliseconds(parts->lease_ms), now, now};
}

void Sights::make_room(LocalInstant now) {
  if (sights_.size() < kMaxSights) return;
  std::erase_if(sights_, [now](const auto& entry) {
    return now - entry.second.last_seen > kDropAfterLeases * entry.second.lease;
  });
  if (sights_.size() < kMaxSights) return;
  sights_.erase(std::min_element(sights_.begin(), sights_.end(), [](const auto& a, const auto& b) {
    return a.second.last_seen < b.second.last_seen;
  }));
}

std::optional<LocalInstant> Sights::matures_at(const std::string& name, double max_drift) const {
  const auto found = sights_.find(name);
  if (found == sights_.end()) return std::nullopt;
  return sight_matures(found->second.first_seen, found->second.lease, max_drift);
}

std::optional<std::string> Sights::matured(const std::string& name, LocalInstant now,
                                           double max_drift) const {
  const auto at = matures_at(name, max_drift);
  if (!at || now < *at) return std::nullopt;
  const auto& sight = sights_.at(name);
  if (now - sight.last_seen > kDropAfterLeases * sight.lease) return std::nullopt;
  return sight.lock_id;
}

}  // namespace leasehold::core

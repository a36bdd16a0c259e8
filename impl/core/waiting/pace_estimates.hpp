#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <string>

#include "core/limits.hpp"
#include "core/time.hpp"

namespace leasehold::core {

/// The pace of each name that a provider contended for, on behalf of strategies that learn.
///
/// INVARIANT: at most kMaxPaces names; the one not used for longest makes room.
class PaceEstimates {
 public:
  /// None: no call that learns has had an answer for this name yet, or it made room.
  [[nodiscard]] std::optional<Duration> pace(const std::string& name) const {
    const auto found = paces_.find(name);
    return found == paces_.end() ? std::nullopt : std::optional(found->second.pace);
  }

  /// What an attempt made of the pace of its name; none: nothing.
  void keep(const std::string& name, const std::optional<Duration>& next, LocalInstant now) {
    if (!next) return;  // a strategy that does not learn takes no room from those that do
    if (!paces_.contains(name) && paces_.size() >= kMaxPaces) {
      paces_.erase(std::min_element(paces_.begin(), paces_.end(), [](const auto& a, const auto& b) {
        return a.second.last_used < b.second.last_used;
      }));
    }
    paces_[name] = {*next, now};
  }

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

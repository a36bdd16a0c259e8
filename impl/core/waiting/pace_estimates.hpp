#pragma once

#include <optional>
#include <string>

#include "core/bounded_map.hpp"
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
    const auto* const found = paces_.find(name);
    return found == nullptr ? std::nullopt : std::optional(*found);
  }

  /// What an attempt made of the pace of its name; none: nothing.
  void keep(const std::string& name, const std::optional<Duration>& next) {
    if (next) paces_.keep(name, *next);  // a strategy that does not learn takes no room
  }

 private:
  BoundedMap<std::string, Duration, kMaxPaces> paces_;
};

}  // namespace leasehold::core

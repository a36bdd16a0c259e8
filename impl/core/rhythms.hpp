#pragma once

#include <map>
#include <optional>
#include <string>

#include "core/time.hpp"

namespace leasehold::core {

/// What a provider has learned about the names that it contended for: how long a wait usually is,
/// as a moving average over the last few. Strategies that learn look at it.
///
/// INVARIANT: at most kMaxRhythms names; the one not used for longest makes room.
class Rhythms {
 public:
  void won(const std::string& name, Duration waited, LocalInstant now);
  [[nodiscard]] std::optional<Duration> typical_wait(const std::string& name) const;

  bool operator==(const Rhythms&) const = default;

 private:
  struct Rhythm {
    Duration typical;
    LocalInstant last_won;
    bool operator==(const Rhythm&) const = default;
  };
  std::map<std::string, Rhythm> rhythms_;
};

}  // namespace leasehold::core

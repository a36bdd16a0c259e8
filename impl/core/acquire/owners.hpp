#pragma once

#include <optional>

#include "core/step.hpp"

namespace leasehold::core {

/// Draws the owners of a provider's calls, one for each call: so two calls of one process never
/// take each other's document for their own.
///
/// INVARIANT: the owners of calls that queue begin alike, and no two are the same but by chance of
/// the entropy, 1 in 2^64.
class Owners {
 public:
  /// With `queues`, the first half of the owner is this provider's, the same for all of these: by
  /// it a change stream finds, at the server, the writes that name one of them (DESIGN.md, "The
  /// queue between processes").
  Owner draw(bool queues, Step step) {
    if (!queues) return fresh_owner(step);
    if (!provider_) provider_ = step.entropy.draw();
    return {*provider_, step.entropy.draw()};
  }

 private:
  std::optional<std::uint64_t> provider_;  ///< none: no call has queued yet
};

}  // namespace leasehold::core

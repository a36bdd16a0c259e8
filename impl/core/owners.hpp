#pragma once

#include <optional>

#include "core/step.hpp"

namespace leasehold::core {

/// Draws the owners of a provider's calls.
class Owners {
 public:
  /// One whose first half is this provider's, the same for all of these: by it a change stream
  /// finds, at the server, the writes that name one of them.
  Owner of_provider(Step step) {
    if (!provider_) provider_ = step.entropy.draw();
    return {*provider_, step.entropy.draw()};
  }

  /// None: there was no such owner yet.
  [[nodiscard]] std::optional<std::uint64_t> provider() const { return provider_; }

  bool operator==(const Owners&) const = default;

 private:
  std::optional<std::uint64_t> provider_;
};

}  // namespace leasehold::core

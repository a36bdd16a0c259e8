#pragma once

#include <cstdint>

namespace leasehold::core {

/// Where the core's randomness comes from: the operating system in production, a seed in
/// simulation.
class Entropy {
 public:
  virtual ~Entropy() = default;
  /// Uniform over all 64-bit values. How many are drawn, and in which order, is part of what a seed
  /// stands for: a simulated run repeats only if each step draws as often as it did.
  virtual std::uint64_t draw() = 0;
};

}  // namespace leasehold::core

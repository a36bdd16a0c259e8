#pragma once

#include <cstdint>

namespace leasehold::core {

/// Where the core's randomness comes from: the operating system in production, a seed in
/// simulation, a counter in exploration.
class Entropy {
 public:
  virtual ~Entropy() = default;
  virtual std::uint64_t draw() = 0;
};

}  // namespace leasehold::core

#pragma once

#include <array>
#include <atomic>
#include <span>
#include <string>

#include "sim/faults/suspension.hpp"
#include "sim/live/system/mapped_file.hpp"

namespace leasehold::sim::live {

/// When a simulated process's machine was suspended. The harness writes it into a small file that
/// both map, while the process is stopped; the process's clock leaves these times out.
class SuspendedTimes {
 public:
  /// Opens the file, or makes it. Throws std::runtime_error.
  explicit SuspendedTimes(const std::string& file) : block_("file", file) {}

  /// REQUIRES: the process is stopped. Throws std::runtime_error when there is no room for more.
  void add(const Suspension& one);
  [[nodiscard]] std::span<const Suspension> all() const;

 private:
  struct Block {
    std::atomic<std::size_t> count;
    std::array<Suspension, 64> spans;
  };
  MappedFile<Block> block_;  ///< zeros: no suspension
};

}  // namespace leasehold::sim::live

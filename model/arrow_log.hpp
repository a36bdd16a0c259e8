#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

/// Which arrows of the published diagrams an exploration has taken.
namespace leasehold::model::arrow {

using Set = std::array<std::uint64_t, 2>;  ///< bit n: the nth arrow of all tables, in their order

/// All that were taken so far; none is taken back. It is written by all threads of an exploration,
/// and read when they have ended: an arrow that is never taken is one that the model lacks.
class Log {
 public:
  void took(const Set& arrows) {
    for (std::size_t i = 0; i < arrows.size(); ++i) {
      // Nearly always it is there already, and a word that is only read stays with all threads.
      if ((arrows[i] & ~taken_[i].load(std::memory_order_relaxed)) == 0) continue;
      taken_[i].fetch_or(arrows[i], std::memory_order_relaxed);
    }
  }
  /// By their names, in the order of the tables.
  [[nodiscard]] std::vector<std::string> names() const;

 private:
  std::array<std::atomic<std::uint64_t>, std::tuple_size_v<Set>> taken_{};
};

}  // namespace leasehold::model::arrow

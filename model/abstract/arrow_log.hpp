#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

/// The arrows of the published diagrams that an exploration has taken.
namespace leasehold::model::arrow {

using Set = std::array<std::uint64_t, 2>;  ///< bit n: the nth arrow of all tables, in their order

/// All arrows taken so far. An arrow that is never taken is one that the model lacks.
class Log {
 public:
  void took(const Set& arrows) {
    for (std::size_t i = 0; i < arrows.size(); ++i) taken_[i] |= arrows[i];
  }
  /// By their names, in the order of the tables.
  [[nodiscard]] std::vector<std::string> names() const;

 private:
  Set taken_{};
};

}  // namespace leasehold::model::arrow

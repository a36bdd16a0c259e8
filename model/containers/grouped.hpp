#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace leasehold::model {

/// Values by the number that they belong to, in the order of their addition: one block of memory,
/// whatever the number of groups. First all are added, then they are looked up.
template <typename Value>
class Grouped {
 public:
  void add(std::uint32_t group, Value value) { added_.emplace_back(group, std::move(value)); }

  /// After the last addition.
  void arrange(std::size_t groups) {
    begins_.assign(groups + 1, 0);
    for (const auto& [group, value] : added_) ++begins_[group + 1];
    for (std::size_t i = 0; i < groups; ++i) begins_[i + 1] += begins_[i];
    values_.resize(added_.size());
    auto next = begins_;
    for (auto& [group, value] : added_) values_[next[group]++] = std::move(value);
    added_ = {};
  }

  [[nodiscard]] std::span<const Value> of(std::uint32_t group) const {
    return {values_.data() + begins_[group], values_.data() + begins_[group + 1]};
  }
  [[nodiscard]] std::vector<Value>& values() { return values_; }
  [[nodiscard]] const std::vector<Value>& values() const { return values_; }

 private:
  std::vector<std::pair<std::uint32_t, Value>> added_;
  std::vector<std::uint32_t> begins_;  ///< by group, and the end of the last
  std::vector<Value> values_;
};

}  // namespace leasehold::model

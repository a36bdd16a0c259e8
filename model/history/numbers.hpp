#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "model/history/facts.hpp"

namespace leasehold::model {

/// Gives each number of each process an id, by its first appearance.
class Numbers {
 public:
  Id of(Id process, std::int64_t number) {
    if (process >= ids_.size()) ids_.resize(process + 1);
    const auto [known, is_new] = ids_[process].try_emplace(number, static_cast<Id>(all_.size()));
    if (is_new) all_.push_back({process, number});
    return known->second;
  }
  [[nodiscard]] const std::vector<Numbered>& all() const { return all_; }

 private:
  std::vector<std::unordered_map<std::int64_t, Id>> ids_;  ///< by process
  std::vector<Numbered> all_;
};

}  // namespace leasehold::model

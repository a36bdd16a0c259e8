#pragma once

#include <cstdint>
#include <limits>
#include <unordered_map>
#include <vector>

#include "model/history/facts.hpp"

namespace leasehold::model {

/// Gives each number of each process an id, by its first appearance. Most count from one.
class Numbers {
 public:
  Id of(Id process, std::int64_t number) {
    if (process >= by_process_.size()) by_process_.resize(process + 1);
    Process& p = by_process_[process];
    const auto place = static_cast<std::uint64_t>(number);
    if (place < p.dense.size() && p.dense[place] != kNew) return p.dense[place];
    return number_of(p, process, number);
  }
  [[nodiscard]] const std::vector<Numbered>& all() const { return all_; }

 private:
  static constexpr Id kNew = std::numeric_limits<Id>::max();
  struct Process {
    std::vector<Id> dense;  ///< by number
    std::unordered_map<std::int64_t, Id> sparse;
    std::size_t known = 0;
  };

  Id number_of(Process& p, Id process, std::int64_t number) {
    const auto place = static_cast<std::uint64_t>(number);
    const auto id = static_cast<Id>(all_.size());
    const auto old = p.sparse.find(number);
    if (old != p.sparse.end()) return old->second;
    all_.push_back({process, number});
    const std::size_t room = 2 * ++p.known + kSlack;
    if (place >= room) return p.sparse[number] = id;
    if (place >= p.dense.size()) p.dense.resize(room, kNew);
    return p.dense[place] = id;
  }

  static constexpr std::size_t kSlack = 64;
  std::vector<Process> by_process_;
  std::vector<Numbered> all_;
};

}  // namespace leasehold::model

#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace leasehold::model {

/// A number for each of some pairs of ids, of which the second is never 0.
class IdPairs {
 public:
  /// False, and nothing is changed, if the pair has one.
  bool insert(std::uint32_t first, std::uint32_t second, std::uint32_t number) {
    if (taken_ * 2 >= slots_.size()) grow();
    Slot& slot = slots_[place(key(first, second))];
    if (slot.key != 0) return false;
    slot = {key(first, second), number};
    ++taken_;
    return true;
  }
  /// Null: none.
  [[nodiscard]] const std::uint32_t* find(std::uint32_t first, std::uint32_t second) const {
    const Slot& slot = slots_[place(key(first, second))];
    return slot.key == 0 ? nullptr : &slot.number;
  }

 private:
  struct Slot {
    std::uint64_t key = 0;
    std::uint32_t number = 0;
  };

  static std::uint64_t key(std::uint32_t first, std::uint32_t second) {
    return std::uint64_t{first} << 32 | second;
  }
  /// Where it is, or belongs.
  [[nodiscard]] std::size_t place(std::uint64_t key) const {
    constexpr std::uint64_t kMix = 0x9e3779b97f4a7c15;
    const std::size_t mask = slots_.size() - 1;
    std::size_t i = (key * kMix >> 32) & mask;
    while (slots_[i].key != 0 && slots_[i].key != key) i = (i + 1) & mask;
    return i;
  }
  void grow() {
    const auto old = std::exchange(slots_, std::vector<Slot>(slots_.size() * 4));
    for (const Slot& slot : old) {
      if (slot.key != 0) slots_[place(slot.key)] = slot;
    }
  }

  std::vector<Slot> slots_ = std::vector<Slot>(64);  ///< a power of two
  std::size_t taken_ = 0;                            ///< at most half
};

}  // namespace leasehold::model

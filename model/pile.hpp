#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace leasehold::model {

/// A vector of what is used again and again: `add` is inlined, where a vector's push_back is a call
/// each time, and what was cleared is not made anew. An exploration adds to such for each step.
template <typename T>
class Pile {
 public:
  /// A place at the end, with whatever was there before.
  T& add() {
    if (size_ == room_.size()) [[unlikely]] room_.resize(std::max<std::size_t>(2 * size_, 64));
    return room_[size_++];
  }
  void clear() { size_ = 0; }
  void remove_first(std::size_t count) {
    std::copy(begin() + count, end(), room_.data());
    size_ -= count;
  }
  template <typename Predicate>
  void remove_if(Predicate is_unwanted) {
    T* const first = room_.data();
    size_ = static_cast<std::size_t>(std::remove_if(first, first + size_, is_unwanted) - first);
  }

  [[nodiscard]] std::size_t size() const { return size_; }
  const T& operator[](std::size_t i) const { return room_[i]; }
  const T* begin() const { return room_.data(); }
  const T* end() const { return begin() + size_; }

 private:
  std::vector<T> room_;
  std::size_t size_ = 0;
};

}  // namespace leasehold::model

#pragma once

#include <cstdint>
#include <initializer_list>
#include <random>

namespace leasehold::model {

/// What is drawn for a generated history: the same of the same seed.
class Draws {
 public:
  explicit Draws(std::uint32_t seed) : random_(seed) {}

  int from(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }
  bool one_in(int n) { return from(1, n) == 1; }
  template <typename T>
  T any_of(std::initializer_list<T> all) {
    return *(all.begin() + from(0, static_cast<int>(all.size()) - 1));
  }

 private:
  std::mt19937 random_;
};

}  // namespace leasehold::model

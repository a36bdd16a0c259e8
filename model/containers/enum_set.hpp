#pragma once

#include <bit>
#include <cstdint>
#include <initializer_list>

namespace leasehold::model {

/// A set of values of an enumeration that has at most 64, as bits. A loop gets them in their order.
template <typename Enum>
class EnumSet {
 public:
  constexpr EnumSet() = default;
  constexpr EnumSet(std::initializer_list<Enum> all) {
    for (const Enum value : all) insert(value);
  }
  constexpr void insert(Enum value) { bits_ |= bit(value); }
  [[nodiscard]] constexpr bool contains(Enum value) const { return (bits_ & bit(value)) != 0; }
  [[nodiscard]] constexpr bool empty() const { return bits_ == 0; }
  /// What is in this set and not in the other.
  [[nodiscard]] constexpr EnumSet without(EnumSet other) const {
    other.bits_ = bits_ & ~other.bits_;
    return other;
  }
  bool operator==(const EnumSet&) const = default;

  class Iterator {
   public:
    constexpr explicit Iterator(std::uint64_t left) : left_(left) {}
    constexpr Enum operator*() const { return static_cast<Enum>(std::countr_zero(left_)); }
    constexpr Iterator& operator++() {
      left_ &= left_ - 1;
      return *this;
    }
    bool operator==(const Iterator&) const = default;

   private:
    std::uint64_t left_;
  };
  [[nodiscard]] constexpr Iterator begin() const { return Iterator(bits_); }
  [[nodiscard]] constexpr Iterator end() const { return Iterator(0); }

 private:
  static constexpr std::uint64_t bit(Enum value) {
    return std::uint64_t{1} << static_cast<unsigned>(value);
  }
  std::uint64_t bits_ = 0;
};

}  // namespace leasehold::model

#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include "model/huge_array.hpp"

/// Where Explorer keeps the states that it has reached.
namespace leasehold::model {

template <std::size_t Words>
using PackedState = std::array<std::uint64_t, Words>;

template <std::size_t Words>
std::uint64_t hash_of(const PackedState<Words>& state) {
  std::uint64_t h = 0x9E3779B97F4A7C15u;
  for (const std::uint64_t word : state) {
    h ^= word;
    h *= 0xFF51AFD7ED558CCDu;
    h ^= h >> 32;
  }
  return h * 0xC4CEB9FE1A85EC53u;
}

/// Those states whose hash says that they belong here, in the order of their discovery. A state is
/// compared whole. Not thread-safe: shards are what makes threads safe from each other.
template <std::size_t Words>
class StateShard {
 public:
  using State = PackedState<Words>;
  using Parent = std::uint32_t;
  /// States of one word are in the table itself: one place in memory to look at, not two.
  static constexpr bool kInTable = Words == 1;

  /// `slots`: of the table, a power of two.
  explicit StateShard(std::size_t slots) : slots_(slots), table_(slots) {}

  [[nodiscard]] std::uint64_t size() const { return states_.size(); }
  [[nodiscard]] const State& state(std::uint64_t i) const { return states_[i]; }
  [[nodiscard]] Parent parent(std::uint64_t i) const { return parents_[i]; }
  [[nodiscard]] std::uint64_t bytes() const {
    return states_.bytes() + parents_.bytes() + slots_ * sizeof(Slot);
  }

  /// What a search for this hash reads first, and then: to be fetched some states ahead of its use.
  /// (GCC 12 drops the call of a function that does nothing but fetch.)
  [[nodiscard]] const void* slot_for(std::uint64_t hash) const { return &table_[place(hash)]; }
  [[nodiscard]] const void* state_for(std::uint64_t hash) const
    requires(!kInTable)
  {
    const std::size_t at = first_like(place(hash), hash);
    return table_[at] == kEmpty ? slot_for(hash) : &states_[index(table_[at])];
  }

  /// False if the state is known.
  bool insert(const State& state, std::uint64_t hash, Parent parent) {
    std::size_t at = first_like(place(hash), hash);
    while (table_[at] != kEmpty) {
      if (is(table_[at], state)) return false;
      at = first_like(next(at), hash);
    }
    if constexpr (kInTable) {
      if (key(state) == kEmpty && std::exchange(has_empty_key_, true)) return false;
    }
    if (!kInTable && states_.size() == kMaxStates) throw std::length_error("too many states");
    table_[at] = slot_of(state, hash, states_.size());
    states_.push_back(state);
    parents_.push_back(parent);
    if (is_full()) grow();
    return true;
  }

  /// REQUIRES: it is here.
  [[nodiscard]] std::uint64_t find(const State& state, std::uint64_t hash) const
    requires(!kInTable)
  {
    std::size_t at = first_like(place(hash), hash);
    while (!is(table_[at], state)) at = first_like(next(at), hash);
    return index(table_[at]);
  }

 private:
  using Slot = std::conditional_t<kInTable, std::uint64_t, std::uint32_t>;
  static constexpr Slot kEmpty = 0;
  /// Beside its index a slot has a few bits of the hash, so that a search seldom looks at a state
  /// which is not the one: those of a chain are far from each other in memory.
  static constexpr int kIndexBits = 27;
  static constexpr std::uint64_t kMaxStates = (std::uint64_t{1} << kIndexBits) - 1;

  /// One above the word, so that a state of zeros is not an empty slot. That of ones then is, and
  /// is remembered apart.
  static std::uint64_t key(const State& state) { return state[0] + 1; }

  [[nodiscard]] bool is(Slot slot, const State& state) const {
    if constexpr (kInTable) {
      return slot == key(state);
    } else {  // without a call, which costs more than the comparison
      const State& known = states_[index(slot)];
      std::uint64_t differs = 0;
      for (std::size_t i = 0; i < Words; ++i) differs |= known[i] ^ state[i];
      return differs == 0;
    }
  }
  static Slot slot_of(const State& state, std::uint64_t hash, std::uint64_t index) {
    if constexpr (kInTable) return key(state);
    return static_cast<Slot>(hash_bits(hash) | (index + 1));
  }
  static std::uint64_t index(Slot slot) { return (slot & kMaxStates) - 1; }
  /// Neither those that tell the shard nor those that tell the place.
  static Slot hash_bits(std::uint64_t hash) {
    return static_cast<Slot>(hash >> 3) << kIndexBits;
  }
  [[nodiscard]] std::size_t next(std::size_t at) const { return (at + 1) & (slots_ - 1); }
  /// From here on, the first slot that is empty or may be of this hash.
  [[nodiscard]] std::size_t first_like(std::size_t at, std::uint64_t hash) const {
    if constexpr (!kInTable) {
      const Slot bits = hash_bits(hash);
      while (table_[at] != kEmpty && (table_[at] ^ bits) > kMaxStates) at = next(at);
    }
    return at;
  }
  [[nodiscard]] std::size_t place(std::uint64_t hash) const {
    return static_cast<std::size_t>(hash >> (64 - std::countr_zero(slots_)));
  }
  /// A longer search costs little within a cache line, and much where each step is to a state.
  [[nodiscard]] bool is_full() const {
    return kInTable ? states_.size() * 4 > slots_ * 3 : states_.size() * 2 > slots_;
  }

  void grow() {
    slots_ *= 2;
    table_ = HugeArray<Slot>(slots_);
    constexpr std::uint64_t kAhead = 32;
    for (std::uint64_t i = 0; i < states_.size(); ++i) {
      if (i + kAhead < states_.size()) __builtin_prefetch(slot_for(hash_of(states_[i + kAhead])));
      const auto hash = hash_of(states_[i]);
      std::size_t at = place(hash);
      while (table_[at] != kEmpty) at = next(at);
      table_[at] = slot_of(states_[i], hash, i);
    }
  }

  std::size_t slots_;
  HugeArray<Slot> table_;  ///< open addressing
  Chunked<State> states_;
  Chunked<Parent> parents_;
  bool has_empty_key_ = false;
};

}  // namespace leasehold::model

#pragma once

#include <cstdint>
#include <string_view>

#include "core/entropy.hpp"

namespace leasehold::sim {

/// FNV-1a of 64 bits: std::hash may differ from one standard library to the next.
inline constexpr std::uint64_t kFirstHash = 0xcbf29ce484222325;
[[nodiscard]] constexpr std::uint64_t hash_of(std::string_view text, std::uint64_t before) {
  for (const char c : text) before = (before ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return before;
}

/// SplitMix64: the random numbers of simulated processes and of virtual runs. They are the same on
/// every machine, which the distributions of the standard library do not promise.
///
/// A part that draws often (a process, its machine, its network) has a generator of its own, seeded
/// by one draw of its parent's, so that one more draw there shifts no numbers of others.
///
/// INVARIANT: the state advances once for each draw and depends on nothing else. The constants and
/// the number of draws are part of what a seed means: to change either changes every generated run,
/// and the hash that a test pins.
class Random final : public core::Entropy {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t draw() override {
    std::uint64_t z = state_ += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
  }

  /// Both ends included. The remainder favours low numbers by span / 2^64, which no run is long
  /// enough to notice. It takes one draw, because a rejecting method would take a varying number;
  /// none if there is nothing to choose.
  std::int64_t between(std::int64_t low, std::int64_t high) {
    if (high <= low) return low;
    const auto span = static_cast<std::uint64_t>(high - low) + 1;
    return low + static_cast<std::int64_t>(draw() % span);
  }
  bool chance(std::int64_t percent) { return between(1, 100) <= percent; }

 private:
  std::uint64_t state_;
};

}  // namespace leasehold::sim

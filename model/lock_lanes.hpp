#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>

#include "model/lock_world.hpp"

/// Sixteen worlds side by side, one in each lane: what makes a world canonical is done to all of
/// them at once, by the vector instructions that every processor has, and without a branch that the
/// processor would guess wrongly. It is most of what an exploration does. Internal to lock_world.
///
/// A condition is a lane of ones where it is true, of zeros where it is not.
namespace leasehold::model::lock_world {

using Lanes [[gnu::vector_size(kLanes)]] = signed char;
using Worlds = WorldOf<Lanes>;
using Clients = ClientOf<Lanes>;
using Messages = MessageOf<Lanes>;

/// The same in every lane.
inline Lanes all(int value) { return Lanes{} + static_cast<signed char>(value); }

inline Lanes is(Lanes x, int value) { return x == all(value); }
inline Lanes is_none(Lanes x) { return x == Lanes{}; }
inline Lanes is_some(Lanes x) { return x != Lanes{}; }
inline void set(Lanes& x, Lanes where, int value) { x = where ? all(value) : x; }
/// REQUIRES: no bit leaves its byte. There is no shift of bytes, only of words.
inline Lanes shifted_up(Lanes x, int bits) {
  using Words [[gnu::vector_size(kLanes)]] = std::uint16_t;
  return reinterpret_cast<Lanes>(reinterpret_cast<Words>(x) << bits);
}
inline Lanes shifted_down(Lanes x, int bits) {
  using Words [[gnu::vector_size(kLanes)]] = std::uint16_t;
  return reinterpret_cast<Lanes>(reinterpret_cast<Words>(x) >> bits);
}
inline Lanes greater(Lanes a, Lanes b) { return a > b ? a : b; }

/// Whether it is an owner of this client.
inline Lanes of_client(Lanes owner, int client) {
  return (owner > all(client * kGenerations)) & (owner <= all((client + 1) * kGenerations));
}

/// Calls f with all lanes that a part of the worlds consists of.
template <typename Part, typename F>
void each_lane(Part& part, F f) {
  auto* lanes = reinterpret_cast<Lanes*>(&part);
  for (std::size_t i = 0; i * sizeof(Lanes) < sizeof(part); ++i) f(lanes[i]);
}
/// Of all that a part of the worlds consists of nothing is left there.
template <typename Part>
void clear(Part& part, Lanes where) {
  each_lane(part, [where](Lanes& x) { x &= ~where; });
}

/// And those of another like it.
template <typename Part, typename F>
void each_lane_of(Part& part, Part& other, F f) {
  auto* others = reinterpret_cast<Lanes*>(&other);
  each_lane(part, [&](Lanes& x) { f(x, *others++); });
}
/// They change places there.
template <typename Part>
void exchange(Part& a, Part& b, Lanes where) {
  each_lane_of(a, b, [where](Lanes& x, Lanes& y) {
    const Lanes differs = (x ^ y) & where;
    x ^= differs, y ^= differs;
  });
}

using Square = std::array<Lanes, kLanes>;

/// Rows become columns. Each round brings one bit of the row's number to the column's.
inline Square transposed(Square rows) {
#pragma GCC unroll 4
  for (int round = 0; round < 4; ++round) {
    Square next;
#pragma GCC unroll 8
    for (std::size_t i = 0; i < kLanes / 2; ++i) {
      const Lanes a = rows[i], b = rows[i + kLanes / 2];
      next[2 * i] = __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22,
                                            7, 23);
      next[2 * i + 1] = __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29,
                                                14, 30, 15, 31);
    }
    rows = next;
  }
  return rows;
}

static_assert(sizeof(World) % kLanes == 0 && sizeof(Worlds) == sizeof(World) * kLanes);

template <typename S>
void put_side_by_side(const Several<const World*>& worlds, const S&, Worlds& to) {
  constexpr std::size_t kUsed = offsetof(World, client) + S::clients * sizeof(Client);
  auto* columns = reinterpret_cast<Lanes*>(&to);
  for (std::size_t at = 0; at < kUsed; at += kLanes) {
    Square rows;
#pragma GCC unroll 16
    for (std::size_t i = 0; i < kLanes; ++i) {
      std::memcpy(&rows[i], reinterpret_cast<const char*>(worlds[i]) + at, kLanes);
    }
    rows = transposed(rows);
#pragma GCC unroll 16
    for (std::size_t i = 0; i < kLanes; ++i) columns[at + i] = rows[i];
  }
}

/// The world in this lane.
inline World world_in(const Worlds& worlds, std::size_t lane) {
  World world;
  const auto* columns = reinterpret_cast<const Lanes*>(&worlds);
  auto* bytes = reinterpret_cast<Byte*>(&world);
  for (std::size_t i = 0; i < sizeof(World); ++i) bytes[i] = static_cast<Byte>(columns[i][lane]);
  return world;
}

/// What makes no difference goes; what is left is numbered anew.
void tidy(Worlds& worlds, const Scope& scope);
/// And the clients are put in order.
void make_canonical(Worlds& worlds, const Scope& scope);

}  // namespace leasehold::model::lock_world

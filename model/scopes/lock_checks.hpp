#pragma once

#include <string_view>
#include <vector>

#include "model/abstract/lock_world.hpp"

/// The checks of each world of the abstract lock: whether the guarantees hold in it, and whether a
/// situation occurs without which they would hold vacuously. Pure; steps do not depend on them.
///
/// Half of the guarantees concern single worlds, and are here. The others concern steps (a lease is
/// given away, a token does not rise): a step that breaks one sets `World::violation`.
namespace leasehold::model {

/// The guarantee that this world breaks, or null.
[[nodiscard]] const char* broken_in(const lock_world::World& world, const Scope& scope);

/// Whether the fenced resource, which saw every grant, takes a write of this client.
[[nodiscard]] bool resource_takes(const lock_world::World& world, int client, const Scope& scope);

/// Situations that must occur somewhere: otherwise the guarantees would hold for a lock that does
/// nothing.
[[nodiscard]] const std::vector<std::string_view>& sometimes();
/// The bits of the situations that occur here, in that order.
[[nodiscard]] std::uint64_t reached_in(const lock_world::World& world, const Scope& scope);

}  // namespace leasehold::model

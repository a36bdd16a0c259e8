#pragma once

#include <string_view>
#include <vector>

#include "model/lock_world.hpp"

/// What is asked of each world of the abstract lock: whether a guarantee holds in it, and whether
/// what makes a proof worth something comes about. Pure; nothing here changes what steps do.
///
/// Half of the guarantees are of single worlds, and are here. The others are of steps (a lease is
/// given away, a token does not rise): the step that breaks one leaves it in `World::violation`.
namespace leasehold::model {

/// The guarantee that this world breaks, or null.
[[nodiscard]] const char* broken_in(const lock_world::World& world, const Scope& scope);

/// Whether the fenced resource, which saw every grant, takes a write of this client.
[[nodiscard]] bool resource_takes(const lock_world::World& world, int client, const Scope& scope);

/// What should come about somewhere, or the guarantees would hold of a lock that does nothing.
[[nodiscard]] const std::vector<std::string_view>& sometimes();
/// The bits of those that are true here, in that order.
[[nodiscard]] std::uint64_t reached_in(const lock_world::World& world, const Scope& scope);

}  // namespace leasehold::model

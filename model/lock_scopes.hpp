#pragma once

#include <string_view>
#include <vector>

#include "model/lock_world.hpp"

/// The scopes in which the lock is explored completely, each with what the others leave out.
namespace leasehold::model {

struct NamedScope {
  std::string_view name;
  Scope scope;
  std::uint64_t states;  ///< of the production lock, pinned
};
[[nodiscard]] const std::vector<NamedScope>& standard_scopes();

/// Null for a name that none has.
[[nodiscard]] const NamedScope* scope_named(std::string_view name);

/// Guarantees as bits: "G3 G4", "G3,G4". Zero when a word is not one of G1 to G7.
[[nodiscard]] unsigned guarantees_named(std::string_view names);

}  // namespace leasehold::model

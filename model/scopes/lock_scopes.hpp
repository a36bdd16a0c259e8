#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "model/abstract/lock_world.hpp"

/// The scopes in which the lock is explored completely. Each has something that the others lack.
namespace leasehold::model {

struct NamedScope {
  std::string_view name;
  Scope scope;
  std::uint64_t states;  ///< of the production lock, pinned; 0: not counted
};
[[nodiscard]] const std::vector<NamedScope>& standard_scopes();

/// Scopes that are too large for that: explored up to a limit.
[[nodiscard]] const std::vector<NamedScope>& partial_scopes();

/// A scope of either kind by its name; null: none has this name.
[[nodiscard]] const NamedScope* scope_named(std::string_view name);

/// The verdict of an exploration on each guarantee that it checked, G1 to G7. The first violation
/// ends it and leaves the others unknown. Guarantees that need two clients of ours are unknown in a
/// scope with one.
[[nodiscard]] std::map<Check, Verdict> verdicts(const Scope& scope, const Exploration& found);

}  // namespace leasehold::model

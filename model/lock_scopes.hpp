#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "model/lock_world.hpp"

/// The scopes in which the lock is explored completely, each with what the others leave out.
namespace leasehold::model {

struct NamedScope {
  std::string_view name;
  Scope scope;
  std::uint64_t states;  ///< of the production lock, pinned; 0: not counted
};
[[nodiscard]] const std::vector<NamedScope>& standard_scopes();

/// Scopes too large for that: explored as far as one likes.
[[nodiscard]] const std::vector<NamedScope>& partial_scopes();

/// One of either kind. Null for a name that none has.
[[nodiscard]] const NamedScope* scope_named(std::string_view name);

/// What an exploration says of each guarantee that it looked at, G1 to G7. It ends with the
/// first violation, which leaves the others unknown; so is what takes two clients of ours where
/// there is one.
[[nodiscard]] std::map<Guarantee, Verdict> verdicts(const Scope& scope, const Exploration& found);

}  // namespace leasehold::model

#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "model/spec/explorer.hpp"
#include "model/spec/lock.hpp"

/// What of the abstract lock is explored, and what was found.
namespace leasehold::model {

/// One step of a path, so many ticks after its begin.
struct Taken {
  int tick;
  lock_world::World from;
  LockAction action;
  lock_world::World to;
};

struct LockExploration : Exploration {
  std::vector<Taken> way;          ///< of violated: a shortest counterexample
  std::vector<std::string> story;  ///< the same in words
  Labels labels;                   ///< of all steps
};

/// Visits every world of the scope. Throws std::invalid_argument for one that is too large.
[[nodiscard]] LockExploration explore(const Scope& scope, ExploreOptions options = {});

/// The liveness promises. They apply once faults have stopped: there is no crash, loss or failover
/// any more, no client gives up, and awaited steps take less than a tick.
enum class Promise {
  passes_on,  ///< G7: while a client waits and none holds, a client gets the lock
  cleans_up,  ///< G8: a document that no client stands behind goes, or another's takes its place
};

struct Eventually : LockExploration {
  std::uint64_t pending_states = 0;
  std::uint64_t cycle_states = 0;  ///< of violated: how many states the cycle runs through
};

/// Looks among all reached worlds for a cycle without a fault on which what is promised never
/// comes. Such a cycle counts only if it is fair: each kind of step that is possible all the way
/// round is taken on it. The story leads to the cycle. REQUIRES: not `losses_late`.
[[nodiscard]] Eventually explore(const Scope& scope, Promise promise, ExploreOptions options = {});

struct NamedScope {
  std::string_view name;
  Scope scope;
  std::uint64_t states = 0;  ///< of the production lock, pinned; 0: not counted
};
/// The scopes in which the lock is explored completely. Each has something that the others lack.
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

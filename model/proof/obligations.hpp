#pragma once

#include <string>
#include <vector>

#include "model/proof/theory.hpp"

/// The proof obligations, as scripts for the solver.
namespace leasehold::model::proof {

/// One obligation: its script is unsatisfiable.
struct Obligation {
  std::string name;   ///< claim and step, "stands / TTL"
  std::string words;  ///< the claim
  std::string script;
};

/// The invariant holds initially; every step keeps it and meets its demands; it implies the
/// guarantees. And the lemmas of drift.
[[nodiscard]] std::vector<Obligation> obligations(const Rules& rules);

/// The same for at most 2 owners, 4 commands, 2 observers and 4 versions, without quantifiers. The
/// solver always decides it: satisfiable means that there is a counterexample.
[[nodiscard]] std::vector<Obligation> small_obligations(const Rules& rules);

/// A satisfiable script: the step is possible some steps after the start, or the situation occurs.
/// Without it the obligations would be vacuous.
struct Reachable {
  std::string name;
  std::string script;
};
[[nodiscard]] std::vector<Reachable> reachable(const Rules& rules);

/// A script that is satisfiable if this step leads from a state with `before`, which may use the
/// step's choices, to a state with `after`. Also for few clients.
[[nodiscard]] std::string leads(const Rules& rules, const std::string& step,
                                const std::string& before, const std::string& after);

}  // namespace leasehold::model::proof

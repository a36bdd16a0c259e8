#pragma once

#include <string>
#include <vector>

#include "model/proof/theory.hpp"

/// What must be shown, as scripts for the solver.
namespace leasehold::model::proof {

/// One thing to prove: nothing can make its script true.
struct Obligation {
  std::string name;   ///< claim and step, "stands / TTL"
  std::string words;  ///< the claim
  std::string script;
};

/// That the invariant holds at first, that every step keeps it and meets its demands, that it
/// implies the guarantees, and the lemmas of drift.
[[nodiscard]] std::vector<Obligation> obligations(const Rules& rules);

/// The same, of at most 2 owners, 4 commands, 2 observers and 4 versions, without quantifiers. So
/// the solver always decides it: true means that there is a counterexample.
[[nodiscard]] std::vector<Obligation> small_obligations(const Rules& rules);

/// A script that can be made true: the step is possible some steps after the start, or the
/// situation occurs. So the obligations speak of something.
struct Reachable {
  std::string name;
  std::string script;
};
[[nodiscard]] std::vector<Reachable> reachable(const Rules& rules);

/// A script that can be made true if this step leads from a state of which `before` is so, also of
/// the step's choices, to one of which `after` is. Of few clients too.
[[nodiscard]] std::string leads(const Rules& rules, const std::string& step,
                                const std::string& before, const std::string& after);

}  // namespace leasehold::model::proof

#pragma once

#include <functional>
#include <string>
#include <vector>

#include "model/proof/theory.hpp"
#include "model/verdict/finding.hpp"

/// The proof: its obligations, as scripts for an SMT solver, and what the solver says of them.
namespace leasehold::model::proof {

/// What the solver is asked.
struct Question {
  std::string name;   ///< claim and step, "stands / TTL"
  std::string words;  ///< the claim
  std::string script;
};

/// Each script is unsatisfiable: the invariant holds initially; every step keeps it and meets its
/// demands; it implies the guarantees. And the lemmas of drift.
///
/// `few`: for at most 2 owners, 4 commands, 2 observers and 4 versions, without quantifiers. The
/// solver always decides that: satisfiable means that there is a counterexample.
[[nodiscard]] std::vector<Question> obligations(const Rules& rules, bool few);

/// Each script is satisfiable: the step is possible some steps after the start, or the situation
/// occurs. Without that the obligations would be vacuous.
[[nodiscard]] std::vector<Question> reachable(const Rules& rules);

/// A script that is satisfiable if this step leads from a state with `before`, which may use the
/// step's choices, to a state with `after`. Also for few clients.
[[nodiscard]] std::string leads(const Rules& rules, const std::string& step,
                                const std::string& before, const std::string& after);

enum class Answer { unsatisfiable, satisfiable, unknown };

/// Asks the SMT solver whether the assertions of an SMT-LIB script can all be true. Throws
/// std::runtime_error for a script with an error, and if there is no solver.
[[nodiscard]] Answer ask(const std::string& script, unsigned timeout_ms);

/// Its name and version.
[[nodiscard]] std::string solver_name();

struct Result {
  std::string name, words;
  Verdict verdict = Verdict::unknown;
  double seconds = 0;
};

struct How {
  unsigned timeout_ms = 20'000;  ///< for each question
  std::function<bool()> stop = {};
  std::function<void(const Result&)> progress = {};
};

/// For each obligation: holds for any number of clients; or violated, by a counterexample with few
/// clients; or unknown, if the solver finds neither in time.
[[nodiscard]] std::vector<Result> prove(const Rules& rules, const How& how = {});

/// Holds if the step or situation can be reached.
[[nodiscard]] std::vector<Result> reach(const Rules& rules, const How& how = {});

/// Holds if the predicted obligation has a counterexample.
[[nodiscard]] Result refute(const Ablation& ablation, const How& how = {});

/// The rules with this one changed. Throws std::logic_error for an unknown rule.
[[nodiscard]] Rules weakened(const Ablation& ablation);

}  // namespace leasehold::model::proof

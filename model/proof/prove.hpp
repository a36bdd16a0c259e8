#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "model/verdict/finding.hpp"

/// The lock as a transition system in first-order logic, for any number of owners, commands,
/// versions and observers. Written from the design, not from the lock's code.
///
/// Texts are SMT-LIB. In them `@name` is a part of the state, of that before a step, and `{name}` a
/// rule of the design.
namespace leasehold::model::proof {

/// What the design says, one term per rule, so that a weaker design is one changed term.
using Rules = std::map<std::string, std::string>;
[[nodiscard]] const Rules& rules();

/// A part of the state: a function, and its initial value.
struct Part {
  std::string name;
  std::vector<std::string> arguments;
  std::string result, at_first;
};
[[nodiscard]] const std::vector<Part>& parts();

using Variables = std::vector<std::pair<std::string, std::string>>;  ///< name, sort

/// A formula that must hold for all values of its variables.
struct Claim {
  std::string name;
  std::string words;  ///< what it says
  Variables over;
  std::string text;
};

/// What every reachable state satisfies, and what follows from that.
[[nodiscard]] const std::vector<Claim>& invariants();
[[nodiscard]] const std::vector<Claim>& guarantees();

struct Step {
  std::string name;
  Variables choices;  ///< any values that meet the guard; of functions: "(Owner) Bool"
  std::string guard;  ///< when it is possible
  std::map<std::string, std::string> changes;  ///< new values; arguments are called a and b
  std::vector<Claim> demands;                  ///< what must hold whenever it is taken
  std::vector<std::string> after;  ///< steps by which it becomes possible from the start
  std::string each = "true";       ///< the guard's part about each owner b
};
[[nodiscard]] const std::vector<Step>& steps();

/// What no step changes: the owner of a lockId, the length of a lease, and so on.
[[nodiscard]] const std::string& constants();

/// Real time against the time on a local clock: a lemma of its own.
[[nodiscard]] const std::vector<Claim>& drift_lemmas();

/// A situation that the guarantees concern, the steps that lead there, and the formula of it.
struct Situation {
  std::string name;
  std::vector<std::string> path;
  Claim goal;  ///< true for some values
};
[[nodiscard]] const std::vector<Situation>& situations();

/// A weaker design: one rule changed, and the obligation that is predicted to fail.
struct Ablation {
  std::string name, rule, becomes, refuted_by;
};
[[nodiscard]] const std::vector<Ablation>& ablations();

/// Changes that look like errors and leave every obligation proved.
[[nodiscard]] const std::vector<Ablation>& harmless_changes();

// The proof: its obligations, as scripts for an SMT solver, and what the solver says of them.

/// What the solver is asked.
struct Question {
  std::string name;   ///< claim and step, "stands / TTL"
  std::string words;  ///< the claim
  std::string script;
};

/// Each script is unsatisfiable: the invariant holds initially; every step keeps it and meets its
/// demands; it implies the guarantees. And the lemmas of drift.
///
/// `few`: for at most 3 owners, 4 commands, 2 observers and 4 versions, without quantifiers. The
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

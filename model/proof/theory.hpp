#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

/// The lock as a transition system in first-order logic, for any number of owners, commands,
/// versions and observers. Written from the design, not from the lock's code.
///
/// Texts are SMT-LIB. In them `@name` is a part of the state before a step, `#name` the same after
/// it, and `{name}` a rule of the design.
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
  Variables choices;                           ///< variables with any value that meets the guard
  std::string guard;                           ///< when it is possible
  std::map<std::string, std::string> changes;  ///< new values; arguments are called a and b
  std::vector<Claim> demands;                  ///< what must hold whenever it is taken
  std::vector<std::string> after;  ///< steps by which it becomes possible from the start
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

}  // namespace leasehold::model::proof

#pragma once

#include <cstdint>
#include <map>
#include <string>

/// Runs TLC, the model checker for TLA+, on Leasehold.tla, and reads what it says.
namespace leasehold::model::tla {

/// Names of constants, and what Leasehold.cfg is to say of them instead.
using Constants = std::map<std::string, std::string>;

/// One thing that TLC is asked. The specification may be spoiled: `from`, which it has once, made
/// `to`.
struct Question {
  Constants constants;
  std::string from = {}, to = {};
};

struct Answer {
  bool ended = false;        ///< it said whether the invariants hold
  std::string broken;        ///< the invariant that does not; empty: all hold
  std::uint64_t steps = 0;   ///< of a shortest behaviour that breaks it
  std::uint64_t states = 0;  ///< distinct ones
  std::map<std::string, std::uint64_t> taken;  ///< of each action, how often
  std::string output;
};

/// Whether the jar is where scripts/others puts it.
[[nodiscard]] bool has_tlc();

/// Breadth-first and by one thread, so that a counterexample is a shortest one. Thread-safe.
/// Throws std::runtime_error if the specification has not what is to be changed in it.
[[nodiscard]] Answer ask(const Question& question);

}  // namespace leasehold::model::tla

#pragma once

#include <functional>
#include <string>
#include <vector>

#include "model/proof/obligations.hpp"
#include "model/verdict/finding.hpp"

/// The proof: asks the solver about every obligation.
namespace leasehold::model::proof {

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

/// Holds if the step or situation can be reached: then the obligations are not vacuous.
[[nodiscard]] std::vector<Result> reach(const Rules& rules, const How& how = {});

/// Holds if the predicted obligation has a counterexample.
[[nodiscard]] Result refute(const Ablation& ablation, const How& how = {});

/// The rules with this one changed. Throws std::logic_error for an unknown rule.
[[nodiscard]] Rules weakened(const Ablation& ablation);

}  // namespace leasehold::model::proof

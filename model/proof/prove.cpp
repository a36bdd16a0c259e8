#include "model/proof/prove.hpp"

#include <algorithm>
#include <chrono>
#include <stdexcept>

#include "model/proof/solver.hpp"

namespace leasehold::model::proof {
namespace {

/// Fills in verdict and time.
template <typename Decide>
Result timed(Result result, const How& how, Decide decide) {
  const auto began = std::chrono::high_resolution_clock::now();
  result.verdict = decide();
  const std::chrono::duration<double> took = std::chrono::high_resolution_clock::now() - began;
  result.seconds = took.count();
  if (how.progress) how.progress(result);
  return result;
}

/// Whether the solver finds what the script asks for.
Verdict satisfied(const std::string& script, const How& how) {
  switch (ask(script, how.timeout_ms)) {
    case Answer::satisfiable: return Verdict::holds;
    case Answer::unsatisfiable: return Verdict::violated;
    default: return Verdict::unknown;
  }
}

bool stopped(const How& how) { return how.stop && how.stop(); }

}  // namespace

std::vector<Result> prove(const Rules& rules, const How& how) {
  const auto any = obligations(rules);
  const auto small = small_obligations(rules);
  std::vector<Result> results;
  for (std::size_t i = 0; i < any.size() && !stopped(how); ++i) {
    results.push_back(timed({any[i].name, any[i].words}, how, [&] {
      // The small one first: the solver always decides it, but may not end with quantifiers.
      if (ask(small[i].script, how.timeout_ms) == Answer::satisfiable) return Verdict::violated;
      const bool none = ask(any[i].script, how.timeout_ms) == Answer::unsatisfiable;
      return none ? Verdict::holds : Verdict::unknown;
    }));
  }
  return results;
}

std::vector<Result> reach(const Rules& rules, const How& how) {
  std::vector<Result> results;
  for (const Reachable& wanted : reachable(rules)) {
    if (stopped(how)) break;
    results.push_back(timed({wanted.name, "it can be reached"}, how,
                            [&] { return satisfied(wanted.script, how); }));
  }
  return results;
}

Rules weakened(const Ablation& ablation) {
  Rules changed = rules();
  const auto rule = changed.find(ablation.rule);
  if (rule == changed.end()) throw std::logic_error("no rule '" + ablation.rule + "'");
  rule->second = ablation.becomes;
  return changed;
}

Result refute(const Ablation& ablation, const How& how) {
  const auto all = small_obligations(weakened(ablation));
  const auto named = std::find_if(all.begin(), all.end(),
                                  [&](const auto& o) { return o.name == ablation.refuted_by; });
  if (named == all.end()) throw std::logic_error("no obligation '" + ablation.refuted_by + "'");
  return timed({ablation.name, "refuted by " + ablation.refuted_by}, how,
               [&] { return satisfied(named->script, how); });
}

}  // namespace leasehold::model::proof

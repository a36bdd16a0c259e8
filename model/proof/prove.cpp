#include "model/proof/prove.hpp"

#include <algorithm>
#include <chrono>
#include <memory>
#include <stdexcept>
#ifdef LEASEHOLD_Z3
#include <z3.h>
#endif

namespace leasehold::model::proof {

#ifdef LEASEHOLD_Z3

Answer ask(const std::string& script, unsigned timeout_ms) {
  Z3_config config = Z3_mk_config();
  const std::unique_ptr<_Z3_context, void (*)(Z3_context)> context(Z3_mk_context(config),
                                                                   Z3_del_context);
  Z3_del_config(config);
  Z3_set_error_handler(context.get(), [](Z3_context, Z3_error_code) {});  // else it ends us
  const std::string limited =
      "(set-option :timeout " + std::to_string(timeout_ms) + ")\n" + script + "(check-sat)\n";
  const std::string said = Z3_eval_smtlib2_string(context.get(), limited.c_str());
  if (said == "unsat\n") return Answer::unsatisfiable;
  if (said == "sat\n") return Answer::satisfiable;
  if (said == "unknown\n" || said == "timeout\n") return Answer::unknown;
  throw std::runtime_error("the solver says " + said);
}

std::string solver_name() {
  unsigned major = 0, minor = 0, build = 0, revision = 0;
  Z3_get_version(&major, &minor, &build, &revision);
  return "Z3 " + std::to_string(major) + '.' + std::to_string(minor) + '.' + std::to_string(build);
}

#else

Answer ask(const std::string&, unsigned) {
  throw std::runtime_error(
      "this build has no SMT solver: install libz3-dev, remove build/CMakeCache.txt, build again");
}

std::string solver_name() { return "none"; }

#endif

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
  const auto any = obligations(rules, false), small = obligations(rules, true);
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
  for (const Question& wanted : reachable(rules)) {
    if (stopped(how)) break;
    results.push_back(timed({wanted.name, wanted.words}, how,
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
  const auto all = obligations(weakened(ablation), true);
  const auto named = std::find_if(all.begin(), all.end(),
                                  [&](const auto& o) { return o.name == ablation.refuted_by; });
  if (named == all.end()) throw std::logic_error("no obligation '" + ablation.refuted_by + "'");
  return timed({ablation.name, "refuted by " + ablation.refuted_by}, how,
               [&] { return satisfied(named->script, how); });
}

}  // namespace leasehold::model::proof

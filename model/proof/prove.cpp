#include "model/proof/prove.hpp"

#include <algorithm>
#include <cctype>
#include <chrono>
#include <memory>
#include <stdexcept>
#ifdef LEASEHOLD_Z3
#include <z3.h>
#endif

namespace leasehold::model::proof {
namespace {

using Words = std::map<std::string, std::string>;

bool in_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

/// Replaces whole words; a leading @ is part of a word.
std::string replaced(const std::string& text, const Words& words) {
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    std::size_t end = i;
    if (text[i] == '@') ++end;
    while (end < text.size() && in_word(text[end])) ++end;
    end = std::max(end, i + 1);
    const std::string word = text.substr(i, end - i);
    const auto found = words.find(word);
    out += found == words.end() ? word : found->second;
    i = end;
  }
  return out;
}

/// Inserts the rules, which may name other rules.
std::string with_rules(std::string text, const Rules& rules) {
  for (std::size_t open; (open = text.find('{')) != std::string::npos;) {
    const std::size_t close = text.find('}', open);
    text.replace(open, close - open + 1, rules.at(text.substr(open + 1, close - open - 1)));
  }
  return text;
}

/// The values of each sort for few clients.
const std::map<std::string, std::vector<std::string>> kFew{{"Owner", {"o1", "o2", "o3"}},
                                                           {"Id", {"l1", "l2", "l3", "l4"}},
                                                           {"Observer", {"x1", "x2"}},
                                                           {"Int", {"0", "1", "2", "3", "4"}}};

/// A script that is being written: the state before or after some steps.
class Script {
 public:
  Script(const Rules& rules, bool few) : rules_(rules), few_(few) {
    for (const char* sort : {"Owner", "Id", "Observer"}) {
      if (!few) {
        text_ += std::string("(declare-sort ") + sort + " 0)\n";
        continue;
      }
      text_ += std::string("(declare-datatypes ((") + sort + " 0)) ((";
      for (const auto& value : kFew.at(sort)) text_ += "(" + value + ")";
      text_ += ")))\n";
    }
    text_ += constants();
  }

  /// Any state.
  void declare_state() {
    for (const Part& part : parts()) declare(part);
    if (few_) assume("(< @last 4)");
  }

  /// The state in which nothing has happened.
  void define_start() {
    for (const Part& part : parts()) {
      part.at_first.empty() ? declare(part) : define(part, 0, part.at_first);
    }
    assume_for_all({"lease", "", {{"o", "Owner"}}, "(< 0 (lease o))"});
  }

  void assume(const std::string& text) { text_ += "(assert " + in_state(text) + ")\n"; }

  void assume_for_all(const Claim& claim) { text_ += "(assert " + for_all(claim) + ")\n"; }

  void deny(const Claim& claim) { text_ += "(assert (not " + for_all(claim) + "))\n"; }

  /// The step's choices are left open, and its guard is met.
  void choose(const Step& step) {
    choices_.clear();
    for (const auto& [variable, sort] : step.choices) {
      choices_[variable] = variable + "." + std::to_string(taken_);
      const std::string type = sort[0] == '(' ? sort : "() " + sort;
      text_ += "(declare-fun " + choices_[variable] + " " + type + ")\n";
    }
    assume(step.guard);
    assume_for_all({"each", "", {{"b", "Owner"}}, step.each});
  }

  /// The step is taken.
  void take(const Step& step) {
    ++taken_;
    Words after;
    for (const Part& part : parts()) {
      const auto change = step.changes.find(part.name);
      if (change == step.changes.end()) continue;
      define(part, taken_, in_state(change->second));
      after[part.name] = name(part.name, taken_);
    }
    for (const auto& [part, symbol] : after) symbols_["@" + part] = symbol;
    choices_.clear();
  }

  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  void declare(const Part& part) {
    text_ += "(declare-fun " + name(part.name, 0) + " (";
    for (const auto& sort : part.arguments) text_ += ' ' + sort;
    text_ += ") " + part.result + ")\n";
  }

  std::string name(const std::string& part, int state) {
    const std::string symbol = part + "." + std::to_string(state);
    symbols_.try_emplace("@" + part, symbol);
    return symbol;
  }

  /// Arguments are called a and b.
  void define(const Part& part, int state, const std::string& value) {
    std::string arguments;
    for (std::size_t i = 0; i < part.arguments.size(); ++i) {
      arguments += std::string("(") + static_cast<char>('a' + i) + " " + part.arguments[i] + ")";
    }
    text_ += "(define-fun " + name(part.name, state) + " (" + arguments + ") " + part.result + " " +
             value + ")\n";
  }

  [[nodiscard]] std::string in_state(const std::string& text) const {
    return replaced(replaced(with_rules(text, rules_), choices_), symbols_);
  }

  [[nodiscard]] std::string for_all(const Claim& claim) const {
    const std::string text = in_state(claim.text);
    if (claim.over.empty()) return text;
    if (few_ && claim.over.front().second != "Real") return expanded(text, claim, 0);
    std::string variables;
    for (const auto& [variable, sort] : claim.over) {
      variables += "(" + variable + " " + sort + ")";
    }
    return "(forall (" + variables + ") " + text + ")";
  }

  /// Once for each value of each variable.
  [[nodiscard]] std::string expanded(const std::string& text, const Claim& claim,
                                     std::size_t from) const {
    if (from == claim.over.size()) return text;
    const auto& [variable, sort] = claim.over[from];
    std::string all = "(and";
    for (const auto& value : kFew.at(sort)) {
      all += " " + expanded(replaced(text, {{variable, value}}), claim, from + 1);
    }
    return all + ")";
  }

  const Rules& rules_;
  const bool few_;
  Words symbols_, choices_;
  int taken_ = 0;
  std::string text_;
};

void assume_invariants(Script& script) {
  for (const Claim& claim : invariants()) script.assume_for_all(claim);
}

const Step& step_named(const std::string& name) {
  for (const Step& step : steps()) {
    if (step.name == name) return step;
  }
  throw std::logic_error("no step '" + name + "'");
}

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

std::vector<Question> obligations(const Rules& rules, bool few) {
  std::vector<Question> all;
  const auto add = [&](const std::string& name, const Claim& claim, const Script& script) {
    all.push_back({name, claim.words, script.text()});
  };
  for (const Claim& claim : invariants()) {
    Script script(rules, few);
    script.define_start();
    script.deny(claim);
    add(claim.name + " / at first", claim, script);
  }
  for (const Step& step : steps()) {
    Script before(rules, few);
    before.declare_state();
    assume_invariants(before);
    before.choose(step);
    for (const Claim& demand : step.demands) {
      Script script = before;
      script.deny(demand);
      add(demand.name + " / " + step.name, demand, script);
    }
    before.take(step);
    for (const Claim& claim : invariants()) {
      Script script = before;
      script.deny(claim);
      add(claim.name + " / " + step.name, claim, script);
    }
  }
  for (const Claim& claim : guarantees()) {
    Script script(rules, few);
    script.declare_state();
    assume_invariants(script);
    script.deny(claim);
    add(claim.name, claim, script);
  }
  for (const Claim& lemma : drift_lemmas()) {
    Script script(rules, few);
    script.deny(lemma);
    add(lemma.name, lemma, script);
  }
  return all;
}

std::string leads(const Rules& rules, const std::string& step, const std::string& before,
                  const std::string& after) {
  Script script(rules, true);
  script.declare_state();
  script.choose(step_named(step));
  script.assume(before);
  script.take(step_named(step));
  script.assume(after);
  return script.text();
}

std::vector<Question> reachable(const Rules& rules) {
  std::vector<Question> all;
  const auto add = [&](const std::string& name, const std::vector<std::string>& path,
                       const Claim& goal) {
    Script script(rules, true);
    script.define_start();
    for (const auto& taken : path) {
      script.choose(step_named(taken));
      script.take(step_named(taken));
    }
    Claim never = goal;
    never.text = "(not " + goal.text + ")";
    script.deny(never);
    all.push_back({name, "it can be reached", script.text()});
  };
  for (const Step& step : steps()) {
    auto path = step.after;
    path.push_back(step.name);
    add("step: " + step.name, path, {"", "", {}, "true"});
  }
  for (const Situation& s : situations()) add("situation: " + s.name, s.path, s.goal);
  return all;
}

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

std::vector<Result> prove(const Rules& rules, const How& how) {
  const auto any = obligations(rules, false), small = obligations(rules, true);
  std::vector<Result> results;
  for (std::size_t i = 0; i < any.size() && !stopped(how); ++i) {
    results.push_back(timed({any[i].name, any[i].words}, how, [&] {
      const auto proved = [&](auto ms) { return ask(any[i].script, ms) == Answer::unsatisfiable; };
      if (proved(how.timeout_ms / 10)) return Verdict::holds;
      // The solver may not end with quantifiers. It always decides the small one, but takes longer.
      if (ask(small[i].script, how.timeout_ms) == Answer::satisfiable) return Verdict::violated;
      return proved(how.timeout_ms) ? Verdict::holds : Verdict::unknown;
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
  const auto named = std::ranges::find(all, ablation.refuted_by, &Question::name);
  if (named == all.end()) throw std::logic_error("no obligation '" + ablation.refuted_by + "'");
  return timed({ablation.name, "refuted by " + ablation.refuted_by}, how,
               [&] { return satisfied(named->script, how); });
}

}  // namespace leasehold::model::proof

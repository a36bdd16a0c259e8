#include "model/proof/prove.hpp"

#include <cctype>
#include <stdexcept>

namespace leasehold::model::proof {
namespace {

using Words = std::map<std::string, std::string>;

bool in_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

/// Replaces whole words; a leading @ or # is part of a word.
std::string replaced(const std::string& text, const Words& words) {
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    std::size_t end = i;
    if (text[i] == '@' || text[i] == '#') ++end;
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
const std::map<std::string, std::vector<std::string>> kFew{{"Owner", {"o1", "o2"}},
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
      text_ += "(declare-const " + choices_[variable] + " " + sort + ")\n";
    }
    assume(step.guard);
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

}  // namespace leasehold::model::proof

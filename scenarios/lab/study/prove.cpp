#include "model/proof/prove.hpp"

#include <fmt/format.h>

#include "scenarios/lab/lab.hpp"

namespace leasehold::lab {
namespace {

using model::Verdict;
using model::proof::Result;

/// One part of the proof: its claims, and the word for each of them.
struct Part {
  std::string name, shown;
  std::vector<Result> results;
};

void print(const Part& part) {
  std::size_t shown = 0;
  double seconds = 0;
  for (const auto& result : part.results) {
    const bool holds = result.verdict == Verdict::holds;
    const auto otherwise = result.verdict == Verdict::violated ? "FAILS" : "unknown";
    fmt::print("  {:>6.3f} s  {:<8} {}{}\n", result.seconds, holds ? part.shown : otherwise,
               result.name, holds && part.name != "weaker designs" ? "" : ": " + result.words);
    shown += holds ? 1 : 0;
    seconds += result.seconds;
  }
  fmt::print("{}: {} of {} {}, {:.1f} s\n", part.name, shown, part.results.size(), part.shown,
             seconds);
  std::fflush(stdout);
}

const model::proof::Ablation* change_named(const std::string& name) {
  for (const auto* all : {&model::proof::ablations(), &model::proof::harmless_changes()}) {
    for (const auto& change : *all) {
      if (change.name == name) return &change;
    }
  }
  return nullptr;
}

std::vector<Part> run(const model::proof::Rules& rules, bool weakened, std::uint64_t seconds) {
  std::size_t done = 0;
  StatusLine line;
  model::proof::How how;
  how.timeout_ms = static_cast<unsigned>(seconds * 1000);
  how.stop = interrupted;
  how.progress = [&](const Result& result) {
    line.show(fmt::format("{} questions answered; last: {}", ++done, result.name));
  };
  std::vector<Part> parts;
  const auto add = [&](Part part) {
    line.end();
    print(part);
    parts.push_back(std::move(part));
  };
  if (!weakened) add({"steps and situations", "reached", model::proof::reach(rules, how)});
  add({"obligations, for any number of clients", "proved", model::proof::prove(rules, how)});
  if (weakened) return parts;
  Part ablations{"weaker designs", "refuted", {}};
  for (const auto& ablation : model::proof::ablations()) {
    if (!interrupted()) ablations.results.push_back(model::proof::refute(ablation, how));
  }
  add(std::move(ablations));
  return parts;
}

Conclusion conclusion_of(const std::string& design, const std::vector<Part>& parts) {
  Conclusion c{.command = "prove",
               .facts = {{"solver", model::proof::solver_name()},
                         {"design", design.empty() ? "leasehold" : design},
                         {"verdict", ""},
                         {"parts", nullptr}}};
  for (const auto& part : parts) {
    for (const auto& result : part.results) {
      c.facts["parts"][part.name].push_back({{"name", result.name},
                                             {"statement", result.words},
                                             {"verdict", to_string(result.verdict)},
                                             {"seconds", result.seconds}});
      c.add({result.name + ": " + result.words, result.verdict}, result.seconds);
    }
  }
  if (interrupted() && c.verdict == Verdict::holds) c.verdict = Verdict::unknown;
  return c;
}

}  // namespace

int prove(const std::vector<std::string>& words) {
  std::string design;
  Outputs outputs;
  std::int64_t seconds = 20;
  po::options_description options(
      "Proves the safety of the lock for any number of clients, by induction, with an SMT solver: "
      "G1 to G4 and G6. Options");
  options.add_options()("design", po::value(&design)->value_name("NAME"),
                        "a weaker design instead, to see what fails; --list names them")(
      "list", "steps, invariants, guarantees, weaker designs")(
      "timeout", in_range("timeout", seconds, 1, 3600)->default_value(seconds),
      "seconds for each question");
  outputs.add_to(options);
  const auto given = parse("prove [OPTIONS]", options, words);
  if (given.contains("list")) {
    fmt::print("steps:\n");
    for (const auto& step : model::proof::steps()) fmt::print("  {}\n", step.name);
    const auto list = [](const char* what, const auto& claims) {
      fmt::print("{}:\n", what);
      for (const auto& claim : claims) fmt::print("  {:<10} {}\n", claim.name, claim.words);
    };
    list("invariants, which every step keeps", model::proof::invariants());
    list("guarantees, which follow", model::proof::guarantees());
    fmt::print("weaker designs, and the obligation that refutes each:\n");
    for (const auto& a : model::proof::ablations()) {
      fmt::print("  {:<46} {}\n", a.name, a.refuted_by);
    }
    fmt::print("changes that look as wrong and leave all proved:\n");
    for (const auto& a : model::proof::harmless_changes()) fmt::print("  {}\n", a.name);
    return kHolds;
  }
  const auto* change = change_named(design);
  if (!design.empty() && change == nullptr) {
    refuse("--design", design, "prove --list names them");
  }
  catch_interruptions();
  fmt::print("solver: {}\n", model::proof::solver_name());
  const auto rules = change == nullptr ? model::proof::rules() : model::proof::weakened(*change);
  const auto parts = run(rules, change != nullptr, static_cast<std::uint64_t>(seconds));
  return conclude(conclusion_of(design, parts), outputs);
}

}  // namespace leasehold::lab

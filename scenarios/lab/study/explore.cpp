#include <fmt/format.h>
#include <fmt/ranges.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "model/spec/diagrams.hpp"
#include "model/spec/exploration.hpp"
#include "properties/campaigns/campaign.hpp"
#include "properties/stories/scenario.hpp"
#include "scenarios/lab/lab.hpp"

namespace leasehold::lab {
namespace {

double thread_seconds() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

/// One exploration: a scope with its rules, and the result.
struct Job {
  std::string name;
  model::Scope scope;
  std::string expected = {};                   ///< the known fault that it is to show; empty: none
  std::optional<model::Promise> promise = {};  ///< liveness; else what always holds
  model::LockExploration found = {};
  double cpu_seconds = 0;
};
using Jobs = std::vector<Job>;

/// Adds its states to those of all.
void run(Job& job, std::uint64_t max_states, std::atomic<std::uint64_t>& all_states) {
  const double began = thread_seconds();
  std::uint64_t counted = 0;
  model::ExploreOptions how;
  how.max_states = max_states;
  how.goes_on = [&](const model::Exploration& now) {
    all_states += now.states - std::exchange(counted, now.states);
    return !interrupted();
  };
  job.found = job.promise ? explore(job.scope, *job.promise, how) : explore(job.scope, how);
  all_states += job.found.states - counted;
  job.cpu_seconds = std::max(thread_seconds() - began, 1e-9);
}

void print(const Job& job) {
  fmt::print("{}: {}\n", job.name, describe(job.scope));
  if (!job.expected.empty()) fmt::print("  known fault: {}\n", job.expected);
  for (const auto& line : job.found.story) fmt::print("    {}\n", line);
  fmt::print("  {} states, {} transitions, depth {}, {:.1f} CPU s: {}{}{}\n",
             job.found.states, job.found.transitions, job.found.depth, job.cpu_seconds,
             to_string(job.found.verdict), job.found.why.empty() ? "" : ": ", job.found.why);
  std::fflush(stdout);
}

/// Runs them on all cores, each to its end, and prints each as it ends.
void run_all(Jobs& jobs, std::uint64_t max_states) {
  std::mutex printing;
  StatusLine line;
  std::atomic<std::uint64_t> states = 0;
  const auto work = [&](std::uint64_t i) {
    run(jobs[i], max_states, states);
    const std::scoped_lock lock(printing);
    line.end();
    print(jobs[i]);
    return true;
  };
  properties::on_all_cores(jobs.size(), work, [&](std::uint64_t ended) {
    const std::scoped_lock lock(printing);
    line.show(fmt::format("{} of {} explorations ended, {:.1f} million states", ended, jobs.size(),
                          static_cast<double>(states) / 1e6));
  });
}

/// A published lock is explored guarantee by guarantee, so that each known fault is shown.
void add_document_lock(Jobs& jobs, model::Lock lock, const model::Scope& scope) {
  const bool tokens = scope.rules.token != model::Rules::Token::none;
  for (const auto guarantee : model::kExplored) {
    using enum model::Check;
    if (guarantee == G5 || (guarantee == G4 && !tokens)) continue;  // not promised
    Job& job = jobs.emplace_back(Job{to_string(guarantee), scope});
    job.scope.guarantees = {guarantee};
    for (const auto& fault : model::known_faults()) {
      if (fault.lock == lock && fault.guarantee == guarantee) job.expected = fault.fault;
    }
  }
}

/// Liveness once faults have stopped, after any faults but failovers.
void add_promises(Jobs& jobs, const model::Rules& rules) {
  model::Scope scope{.failovers = false, .rules = rules};
  using enum model::Promise;
  const auto add = [&](const char* name, model::Promise promise) {
    jobs.push_back({.name = name, .scope = scope, .promise = promise});
  };
  add("G7 eventually: a waiter gets a dead holder's lock", passes_on);
  add("G8 eventually: a dead holder's document disappears", cleans_up);
  if (rules.lock != model::Lock::leasehold) return;
  scope.queue = 1;
  scope.losses = scope.late_starts = false;  // the space would be too large to look for cycles in
  add("G7 eventually: a waiter in the queue gets the lock", passes_on);
}

void print_arrows(const Jobs& jobs) {
  std::set<std::string> taken;
  for (const auto& job : jobs) taken.merge(arrows_of(job.found.labels));
  std::vector<std::string> missing;
  std::size_t all = 0;
  for (const auto* table : model::all_tables()) {
    for (const auto& arrow : table->arrows()) {
      ++all;
      const std::string name = std::string(table->name()) + ": " + arrow.name();
      if (!taken.contains(name)) missing.push_back(name);
    }
  }
  fmt::print("arrows of the diagrams taken: {} of {}{}{}\n", all - missing.size(), all,
             missing.empty() ? "" : "; not: ", fmt::join(missing, "; "));
}

nlohmann::ordered_json to_json(const Job& job) {
  const auto& found = job.found;
  auto verdicts = model::verdicts(job.scope, found);
  if (job.promise) {
    using enum model::Check;
    verdicts = {{*job.promise == model::Promise::passes_on ? G7 : G8, found.verdict}};
  }
  nlohmann::ordered_json guarantees;
  for (const auto& [guarantee, verdict] : verdicts) {
    guarantees[to_string(guarantee)] = to_string(verdict);
  }
  return {{"name", job.name},
          {"scope", describe(job.scope)},
          {"states", found.states},
          {"transitions", found.transitions},
          {"depth", found.depth},
          {"states_per_cpu_second", static_cast<double>(found.states) / job.cpu_seconds},
          {"verdict", to_string(found.verdict)},
          {"why", found.why},
          {"guarantees", guarantees},
          {"known_fault", job.expected},
          {"story", found.story}};
}

struct ExploreCommand {
  std::string lock_name = "leasehold", variant = "none", scope_name;
  std::string stories;
  Outputs outputs;
  std::uint64_t max_states = model::ExploreOptions().max_states;
  model::Lock lock = model::Lock::leasehold;
  const model::Variant* wrong = nullptr;

  /// The rules of the lock, with the chosen error.
  [[nodiscard]] model::Rules rules() const {
    auto rules = model::rules_of(lock);
    if (wrong != nullptr) wrong->change(rules);
    return rules;
  }
};

po::options_description options_for(ExploreCommand& a) {
  po::options_description options(
      "Explores a lock in small scopes, breadth-first, with all faults. Options");
  options.add_options()("lock", po::value(&a.lock_name)->default_value(a.lock_name),
                        "--list names them")(
      "variant", po::value(&a.variant)->default_value(a.variant),
      "an error of the production lock, or none; --list names them")(
      "list", "locks, scopes, and variants with the guarantees that they must break")(
      "scope", po::value(&a.scope_name), "one of the scopes; default all the standard ones")(
      "max-states",
      in_range("max-states", a.max_states, 1, 1'000'000'000)->default_value(a.max_states),
      "limit per scope; beyond it the verdict is unknown; a million takes 130 MB")(
      "stories", to_folder("stories", a.stories),
      "write each counterexample as a .scn, for scenario run and simulate");
  a.outputs.add_to(options, nullptr, "result");
  return options;
}

Jobs jobs_for(const ExploreCommand& a) {
  const bool ours = a.lock == model::Lock::leasehold;
  auto scopes = model::standard_scopes();
  if (!ours) scopes = {*model::scope_named("two-clients")};
  if (!a.scope_name.empty()) scopes = {*model::scope_named(a.scope_name)};
  Jobs jobs;
  for (auto& [name, scope, states] : scopes) {
    scope.rules = a.rules();
    if (ours) {
      jobs.push_back({std::string(name), scope});
    } else {
      add_document_lock(jobs, a.lock, scope);
    }
  }
  if (a.scope_name.empty()) add_promises(jobs, a.rules());
  return jobs;
}

/// A lock with a variant's error has no name, so its story is leasehold's, which survives it.
void write_stories(const ExploreCommand& a, const Jobs& jobs) {
  std::filesystem::create_directories(a.stories);
  const bool wrong = a.wrong != nullptr;
  const auto& name = wrong ? a.variant : a.lock_name;
  for (const auto& job : jobs) {
    if (job.found.way.empty() || job.promise) continue;
    const auto& found = job.found;
    const auto file = fmt::format("{}/{}-{}.scn", a.stories, name, job.name);
    std::ofstream out(file);
    out << fmt::format("# A counterexample of {}{}: {}.\n"
                       "# The abstract lock's steps, by ticks of {} ms:\n",
                       wrong ? "the variant " : "", name, found.why, properties::kTick_ms);
    for (const auto& line : found.story) out << "#   " << line << '\n';
    out << fmt::format("# locks: {}\n", a.lock_name);
    if (!wrong) out << fmt::format("# reproduces: {}\n", found.why.substr(0, 2));
    out << to_scn(properties::counterexample_plan(job.scope, found.way, a.lock_name));
    fmt::print("written: {}\n", file);
  }
}

}  // namespace

int explore(const std::vector<std::string>& words) {
  ExploreCommand a;
  const auto given = parse("explore [OPTIONS]", options_for(a), words);
  if (given.contains("list")) {
    fmt::print("locks:\n");
    for (const auto lock : model::all_locks()) fmt::print("  {}\n", model::name_of(lock));
    const auto list = [](const char* what, const auto& scopes) {
      fmt::print("{}:\n", what);
      for (const auto& s : scopes) fmt::print("  {:<15} {}\n", s.name, describe(s.scope));
    };
    list("scopes", model::standard_scopes());
    list("scopes too large to be explored completely", model::partial_scopes());
    fmt::print("variants, and the guarantees of which one must break:\n");
    for (const auto& v : model::variants()) {
      fmt::print("  {:<46} {}\n", v.name, to_string(v.breaks));
    }
    fmt::print("changes that look as wrong and break nothing:\n");
    for (const auto& v : model::harmless_variants())
      fmt::print("  {:<46} {}\n", v.name, v.why_harmless);
    return kHolds;
  }
  constexpr const char* kListed = "explore --list names them";
  const auto lock = model::lock_named(a.lock_name);
  if (!lock) refuse("--lock", a.lock_name, kListed);
  a.lock = *lock;
  a.wrong = model::variant_named(a.variant);
  if (a.variant != "none" && a.wrong == nullptr) refuse("--variant", a.variant, kListed);
  if (a.wrong != nullptr && a.lock != model::Lock::leasehold) {
    refuse("--variant", a.variant, "only leasehold has variants");
  }
  const bool known = a.scope_name.empty() || model::scope_named(a.scope_name) != nullptr;
  if (!known) refuse("--scope", a.scope_name, kListed);
  catch_interruptions();
  Jobs jobs = jobs_for(a);
  run_all(jobs, a.max_states);
  print_arrows(jobs);
  Conclusion c{.command = "explore",
               .facts = {{"lock", a.lock_name}, {"variant", a.variant}, {"verdict", ""}}};
  for (const auto& job : jobs) {
    c.facts["explorations"].push_back(to_json(job));
    c.add({fmt::format("{}: {}", job.name, describe(job.scope)), job.found.verdict, job.found.why},
          job.cpu_seconds);
  }
  const int code = conclude(c, a.outputs);
  if (!a.stories.empty()) write_stories(a, jobs);
  return code;
}

int diagram(const std::vector<std::string>& words) {
  std::string name;
  po::options_description options("Prints the diagrams in Mermaid. Options");
  options.add_options()("table", po::value(&name), "lifecycle, document or flowchart; default all");
  parse("diagram [TABLE] [OPTIONS]", options, words,
        po::positional_options_description().add("table", 1));
  bool found = name.empty();
  for (const auto* table : model::all_tables()) {
    if (!name.empty() && table->name() != name) continue;
    found = true;
    fmt::print("{}", model::to_mermaid(*table));
  }
  if (!found) refuse("table", name, "it must be lifecycle, document or flowchart");
  return kHolds;
}

}  // namespace leasehold::lab

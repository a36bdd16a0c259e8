#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include "properties/explored_paths.hpp"
#include "scenarios/lab/interruption.hpp"
#include "scenarios/lab/lab.hpp"
#include "scenarios/lab/report.hpp"
#include "sim/explored/core_system.hpp"

namespace leasehold::lab {
namespace {

using sim::explored::CoreSystem;

void print(const sim::explored::NamedCoreScope& scope, const model::Exploration& found) {
  fmt::print("{}: {}\n", scope.name, describe(scope.scope));
  for (const auto& line : found.story) fmt::print("    {}\n", line);
  fmt::print("  {} states, {} transitions, depth {}: {}{}{}\n", found.states, found.transitions,
             found.depth, to_string(found.verdict), found.why.empty() ? "" : ": ", found.why);
  for (std::size_t i = 0; i < CoreSystem::seen_events().size(); ++i) {
    if ((scope.sights & ~found.reached) >> i & 1)
      fmt::print("  never seen: {}\n", CoreSystem::seen_events()[i]);
  }
  std::fflush(stdout);
}

/// What the checkers of runs say of its paths.
void print(const properties::ExploredPaths& paths) {
  for (const auto& line : paths.story) fmt::print("    {}\n", line);
  std::vector<std::string> tested;
  for (const auto& f : paths.findings) {
    if (f.never_tested()) continue;
    tested.push_back(fmt::format("{} {}", to_string(f.guarantee), f.checked));
  }
  fmt::print("  {} of {} paths as runs: {}{}{} ({})\n", paths.checked, paths.all,
             to_string(paths.verdict), paths.why.empty() ? "" : ": ", paths.why,
             fmt::join(tested, ", "));
  std::fflush(stdout);
}

bool go_on(std::uint64_t paths) {
  constexpr std::uint64_t kPulse = 1'024;
  if (paths % kPulse == 0 && isatty(STDERR_FILENO) == 1) {
    fmt::print(stderr, "\r\x1b[K{} paths\r", paths);
  }
  return !interrupted();
}

/// The states of one scope, and then its paths.
struct Explored {
  model::Exploration found;  ///< with the verdict on the paths, where that is worse
  std::uint64_t paths = 0;   ///< that were checked: 0 where a state broke something
};
Explored explore(const sim::explored::NamedCoreScope& scope, const model::ExploreOptions& how,
                 std::uint64_t paths) {
  const CoreSystem system(scope.scope);
  model::Explorer<CoreSystem> explorer(system, how);
  Explored out{explorer.run()};
  print(scope, out.found);
  if (paths == 0 || out.found.verdict == model::Verdict::violated) return out;
  const auto checked = properties::check_paths(system, explorer, paths, go_on);
  print(checked);
  out.paths = checked.checked;
  if (checked.verdict == model::Verdict::holds) return out;
  out.found.verdict = checked.verdict;
  out.found.why = checked.why;
  out.found.story = checked.story;
  return out;
}

}  // namespace

void list_core_scopes() {
  fmt::print("scopes of --core:\n");
  for (const auto& s : sim::explored::core_scopes()) {
    fmt::print("  {:<15} {}\n", s.name, describe(s.scope));
  }
}

int explore_core(const model::ExploreOptions& how, std::uint64_t paths,
                 const std::string& scope_name, const std::string& json_file,
                 const std::string& junit_file) {
  auto overall = model::Verdict::holds;
  nlohmann::ordered_json json;
  std::vector<JunitCase> cases;
  for (const auto& scope : sim::explored::core_scopes()) {
    if (!scope_name.empty() && scope.name != scope_name) continue;
    const auto [found, checked] = explore(scope, how, paths);
    json["explorations"].push_back({{"name", scope.name},
                                    {"scope", describe(scope.scope)},
                                    {"states", found.states},
                                    {"transitions", found.transitions},
                                    {"depth", found.depth},
                                    {"paths_checked", checked},
                                    {"verdict", to_string(found.verdict)},
                                    {"why", found.why},
                                    {"story", found.story}});
    cases.push_back(
        {fmt::format("{}: {}", scope.name, describe(scope.scope)), found.verdict, found.why});
    if (found.verdict == model::Verdict::holds) continue;
    overall = found.verdict;
    break;  // a violation in the smaller scope says enough
  }
  fmt::print("verdict: {}\n", to_string(overall));
  json["verdict"] = to_string(overall);
  write_json(json_file, json);
  write_junit(junit_file, {"explore-core", 0}, cases);
  return exit_code(overall);
}

}  // namespace leasehold::lab

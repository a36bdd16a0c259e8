#include <fmt/format.h>

#include "scenarios/lab/lab.hpp"
#include "scenarios/lab/report/report.hpp"
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

}  // namespace

void list_core_scopes() {
  fmt::print("scopes of --core:\n");
  for (const auto& s : sim::explored::core_scopes()) {
    fmt::print("  {:<15} {}\n", s.name, describe(s.scope));
  }
}

int explore_core(const model::ExploreOptions& how, const std::string& scope_name,
                 const std::string& json_file, const std::string& junit_file) {
  auto overall = model::Verdict::holds;
  nlohmann::ordered_json json;
  std::vector<JunitCase> cases;
  for (const auto& scope : sim::explored::core_scopes()) {
    if (!scope_name.empty() && scope.name != scope_name) continue;
    const CoreSystem system(scope.scope);
    const auto found = model::Explorer<CoreSystem>(system, how).run();
    print(scope, found);
    json["explorations"].push_back({{"name", scope.name},
                                    {"scope", describe(scope.scope)},
                                    {"states", found.states},
                                    {"transitions", found.transitions},
                                    {"depth", found.depth},
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

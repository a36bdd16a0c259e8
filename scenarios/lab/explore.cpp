#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <ctime>

#include "model/lock_system.hpp"
#include "scenarios/lab/lab.hpp"
#include "scenarios/lab/report.hpp"

namespace leasehold::lab {
namespace {

std::atomic<bool> interrupted = false;

double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

}  // namespace

int explore(const std::vector<std::string>& words) {
  model::Scope scope;
  std::string variant = "none", json_file, junit_file;
  std::uint64_t max_states = 8'000'000;
  po::options_description options(
      "Explores the lock in small scope, breadth-first, all faults on by default. Options");
  options.add_options()("variant", po::value(&variant)->default_value(variant),
                        "an error of the protocol, or none; --list names them")(
      "list", "the errors and the guarantees that they must break")(
      "clients", po::value(&scope.clients), "2 or 3")("messages", po::value(&scope.messages),
                                                      "in flight for each client, 1 or 2")(
      "margin", po::value(&scope.clock_margin), "clock margin in ticks; a lease has 3")(
      "skew", po::value(&scope.skew), "how far the successor's clock is ahead, in ticks")(
      "max-states", po::value(&max_states)->default_value(max_states),
      "then the verdict is unknown")("json", po::value(&json_file)->value_name("FILE"),
                                     "write the result as JSON")(
      "junit", po::value(&junit_file)->value_name("FILE"), "write the result as JUnit XML");
  const auto given = parse("explore [OPTIONS]", options, words);
  if (given.contains("list")) {
    for (const auto& v : model::variants()) fmt::print("{:<42} {}\n", v.name, v.breaks);
    return kHolds;
  }
  const auto named = model::variant_named(variant);
  if (!named) throw UsageError("--variant is '" + variant + "': explore --list names them");
  const auto asked = scope;
  scope = model::scope_for(*named);
  if (given.contains("clients")) scope.clients = asked.clients;
  if (given.contains("messages")) scope.messages = asked.messages;
  if (given.contains("margin")) scope.clock_margin = asked.clock_margin;
  if (given.contains("skew")) scope.skew = asked.skew;
  require_range("clients", scope.clients, 2, model::LockSystem::kMaxClients);
  require_range("messages", scope.messages, 1, model::LockSystem::kMaxMessages);
  require_range("margin", scope.clock_margin, 0, 3);
  require_range("skew", scope.skew, 0, 3);
  require_range("max-states", static_cast<std::int64_t>(max_states), 1, 1'000'000'000);
  require_writable("json", json_file);
  require_writable("junit", junit_file);
  signal(SIGINT, [](int) { interrupted = true; });

  fmt::print("scope: {}\n", describe(scope));
  const bool terminal = isatty(STDERR_FILENO) == 1;
  const double began = cpu_seconds();
  model::ExploreOptions how;
  how.max_states = max_states;
  how.stop = [] { return interrupted.load(); };
  how.progress = [&](const model::Exploration& now) {
    if (terminal) fmt::print(stderr, "\r\x1b[K{} states, depth {}", now.states, now.depth);
  };
  const model::LockSystem system(scope);
  const auto found = model::Explorer<model::LockSystem>(system, how).run();
  const double seconds = std::max(cpu_seconds() - began, 1e-9);
  if (terminal) fmt::print(stderr, "\r\x1b[K");
  for (const auto& line : found.story) fmt::print("  {}\n", line);
  fmt::print("{} states, {} transitions, depth {}, {:.1f} s, {} MB\nverdict: {}{}{}\n",
             found.states, found.transitions, found.depth, seconds, found.bytes / 1'000'000,
             to_string(found.verdict), found.why.empty() ? "" : ": ", found.why);
  nlohmann::ordered_json json{
      {"scope", describe(scope)},
      {"variant", variant},
      {"states", found.states},
      {"transitions", found.transitions},
      {"depth", found.depth},
      {"states_per_cpu_second", static_cast<double>(found.states) / seconds},
      {"bytes_per_state", found.bytes / std::max<std::uint64_t>(found.states, 1)},
      {"verdict", to_string(found.verdict)},
      {"why", found.why},
      {"story", found.story}};
  write_json(json_file, json);
  model::Finding finding;
  finding.guarantee = "explore";
  finding.statement = describe(scope);
  finding.verdict = found.verdict;
  finding.why = found.why;
  write_junit(junit_file, "explore", seconds, {finding});
  return exit_code(found.verdict);
}

}  // namespace leasehold::lab

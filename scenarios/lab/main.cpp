#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "scenarios/lab/lab.hpp"
#include "sim/live/replica_set.hpp"

namespace leasehold::lab {
namespace {

constexpr cli::Subcommand kSubcommands[] = {
    {"verify", verify, "the property run: drawn plans with faults on a real replica set"},
    {"simulate", simulate, "drawn plans, or one from a file, in the virtual world"},
    {"soak", soak, "one long run with faults: guarantees, memory, descriptors"},
    {"scenario", scenario, "failure stories: listed, shown, run in either world"},
    {"cluster", cluster, "a real replica set to play with"},
    {"matrix", matrix, "which lock keeps which promise under which fault"},
    {"merge", merge, "joins the reports of simulate's shards"},
    {"check", check, "judge a recorded history again"},
    {"explore", explore, "the abstract lock in small scope, or one of its wrong variants"},
    {"diagram", diagram, "the documents' diagrams as the tables hold them, in Mermaid"},
};

constexpr const char* kExitCodes =
    "Exit codes: 0 holds, 1 violated, 2 unknown, 64 usage, 69 no mongod to be had.";

}  // namespace

po::variables_map parse(const std::string& usage, po::options_description options,
                        const std::vector<std::string>& words,
                        const po::positional_options_description& positional) {
  return cli::parse("leasehold-lab " + usage, std::move(options), words, positional);
}

std::string scenario_folder() {
  const char* named = std::getenv("LEASEHOLD_SCENARIOS");
  return named != nullptr ? named : LEASEHOLD_SCENARIOS;
}

sim::Plan read_plan(const std::string& file) {
  std::ifstream in(file);
  if (!in) throw UsageError("plan is '" + file + "': it cannot be read");
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  try {
    return sim::plan_from_scn(text);
  } catch (const std::exception& error) {
    throw UsageError("plan is '" + file + "': " + error.what());
  }
}

void require_range(const std::string& option, std::int64_t value, std::int64_t low,
                   std::int64_t high) {
  if (value >= low && value <= high) return;
  throw UsageError("--" + option + " is " + std::to_string(value) + ": it must be " +
                   std::to_string(low) + " to " + std::to_string(high));
}

void require_writable(const std::string& option, const std::string& file) {
  if (file.empty()) return;
  if (!std::ofstream(file, std::ios::app)) {
    throw UsageError("--" + option + " is '" + file + "': it must be a file that can be written");
  }
}

}  // namespace leasehold::lab

int main(int argc, char** argv) {
  using namespace leasehold::lab;
  signal(SIGPIPE, SIG_IGN);
  try {
    return leasehold::cli::dispatch("leasehold-lab", kSubcommands, kExitCodes,
                                    {argv + 1, argv + argc});
  } catch (const HelpAsked& asked) {
    std::fputs(asked.text.c_str(), stdout);
    return kHolds;
  } catch (const UsageError& error) {
    std::fprintf(stderr, "leasehold-lab: %s\n", error.what());
    return kUsage;
  } catch (const leasehold::sim::live::NoMongod& error) {
    std::fprintf(stderr, "leasehold-lab: %s\n", error.what());
    return kNoMongod;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "leasehold-lab: %s\n", error.what());
    return kUnknown;
  }
}

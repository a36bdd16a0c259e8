#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include "cli/inherited.hpp"
#include "cli/output.hpp"
#include "scenarios/lab/lab.hpp"
#include "sim/live/servers/replica_set.hpp"
#include "sim/plan/lock_registry.hpp"

namespace leasehold::lab {
namespace {

constexpr cli::Subcommand kSubcommands[] = {
    {"verify", verify, "the property run: generated plans with faults on a real replica set"},
    {"simulate", simulate, "generated plans, or one from a file, in the virtual world"},
    {"soak", soak, "one long run with faults: guarantees, memory, descriptors"},
    {"scenario", scenario, "failure stories: lists, shows, or runs them in either world"},
    {"certify", certify, "tries whether servers do what the lock rests on"},
    {"cluster", cluster, "a real replica set for trying things"},
    {"matrix", matrix, "which lock keeps which promise under which fault"},
    {"check", check, "checks a recorded history again"},
    {"export", export_history, "a recorded history's operations, for Porcupine"},
    {"import", import_incident, "checks an oplog and logs of what happened elsewhere"},
    {"explore", explore, "explores the lock in small scopes, or a wrong variant of it"},
    {"prove", prove, "proves the lock's safety for any number of clients, by an SMT solver"},
    {"diagram", diagram, "prints the published diagrams in Mermaid"},
};

constexpr const char* kExitCodes =
    "Exit codes: 0 holds, 1 violated, 2 unknown, 64 usage, 69 no servers: no mongod was found, or "
    "--store cannot run here, 70 harness failure: somebody else killed a process or a member, or "
    "the laboratory itself failed.";

/// A copy that finds no space is said to be an input/output error.
std::string space_left_for(const std::exception& error) {
  const auto* of_file = dynamic_cast<const std::filesystem::filesystem_error*>(&error);
  constexpr std::uintmax_t kFew = 1 << 20;
  if (of_file == nullptr) return {};
  for (const auto& path : {of_file->path1(), of_file->path2()}) {
    std::error_code unknown;
    const auto space = std::filesystem::space(path.parent_path(), unknown);
    if (!unknown && space.available < kFew) {
      return ": no space is left at '" + path.parent_path().string() + "'";
    }
  }
  return {};
}

int run_lab(const std::vector<std::string>& words) {
  try {
    if (words == std::vector<std::string>{"--version"}) {
      throw HelpAsked{"leasehold-lab " LEASEHOLD_VERSION "\n"};
    }
    return cli::dispatch("leasehold-lab", kSubcommands, kExitCodes, words);
  } catch (const HelpAsked& asked) {
    cli::print(asked.text);
    return kHolds;
  }
}

int failed(int code, const std::string& words) {
  std::fprintf(stderr, "leasehold-lab: %s\n", words.c_str());
  return code;
}

}  // namespace

po::variables_map parse(const std::string& usage, po::options_description options,
                        const std::vector<std::string>& words,
                        const po::positional_options_description& positional) {
  auto given = cli::parse("leasehold-lab " + usage, options, words, positional);
  for (const auto& [option, value] : given) {
    const auto semantic = options.find(option, false).semantic();
    const auto* text = boost::any_cast<std::string>(&value.value());
    const bool needs_value = semantic->min_tokens() > 0;  // --list takes none
    if (needs_value && text != nullptr && text->empty() && !value.defaulted()) {
      refuse("--" + option, "", "it must not be empty");
    }
  }
  return given;
}

void refuse(const std::string& what, const std::string& value, const std::string& rule) {
  throw UsageError(what + " is '" + value + "': " + rule);
}

std::string scenario_folder() {
  namespace fs = std::filesystem;
  if (const char* named = std::getenv("LEASEHOLD_SCENARIOS")) return named;
  const auto program = fs::read_symlink("/proc/self/exe");
  const auto installed = (program.parent_path() / LEASEHOLD_TO_SCENARIOS).lexically_normal();
  return fs::is_directory(installed) ? installed.string() : LEASEHOLD_SCENARIOS;
}

std::string read_file(const std::string& what, const std::string& file) {
  std::ifstream in(file);
  const bool is_file = in && !std::filesystem::is_directory(file);
  if (!is_file) refuse(what, file, "it cannot be read, or is no file");
  constexpr std::string_view kMark = "\xEF\xBB\xBF";  // editors of some systems begin with it
  std::string all{std::istreambuf_iterator<char>(in), {}};
  if (all.starts_with(kMark)) all.erase(0, kMark.size());
  return all;
}

sim::Plan read_plan(const std::string& file) {
  return reading("plan is '" + file + "': ",
                 [&] { return sim::plan_from_scn(read_file("plan", file)); });
}

sim::Plan read_live_plan(const std::string& file) {
  constexpr const char* kVirtualOnly = ", which only the virtual world has";
  auto plan = read_plan(file);
  for (const auto& fault : plan.faults) {
    if (fault.on == sim::FaultPlan::Command::none) continue;
    refuse("plan", file, std::string("a fault has on=") + sim::to_string(fault.on) + kVirtualOnly);
  }
  if (sim::lock_under_test(plan.lock).runs_live) return plan;
  refuse("plan", file, "its lock is '" + plan.lock + "'" + kVirtualOnly);
}

void Outputs::add_to(po::options_description& options, const char* page_help,
                     const std::string& what) {
  options.add_options()("json", to_file("json", json), ("write the " + what + " as JSON").c_str())(
      "junit", to_file("junit", junit), ("write the " + what + " as JUnit XML").c_str());
  if (page_help == nullptr) return;
  options.add_options()("report", to_file("report", page), page_help);
}

void require_range(const std::string& option, std::int64_t value, std::int64_t low,
                   std::int64_t high) {
  if (value >= low && value <= high) return;
  throw UsageError("--" + option + " is " + std::to_string(value) + ": it must be " +
                   std::to_string(low) + " to " + std::to_string(high));
}

void require_writable(const std::string& option, const std::string& file) {
  namespace fs = std::filesystem;
  if (file.empty()) return;
  std::error_code error;
  const bool there = fs::exists(file, error);
  const auto place = there ? fs::path(file) : fs::absolute(file).parent_path();
  // It is not made here, because others may wait for it.
  if (fs::is_directory(place, error) != there && access(place.c_str(), W_OK) == 0) return;
  refuse("--" + option, file, "it must be a file that can be written");
}

po::typed_value<std::string>* to_file(const char* option, std::string& file) {
  return po::value(&file)->value_name("FILE")->notifier(
      [option](const std::string& given) { require_writable(option, given); });
}

po::typed_value<std::string>* to_folder(const char* option, std::string& folder) {
  const auto require = [option](const std::string& given) {
    namespace fs = std::filesystem;
    if (given.empty()) return;  // parse() refuses it
    auto nearest = fs::absolute(given);
    while (!nearest.empty() && !fs::exists(nearest)) nearest = nearest.parent_path();
    if (fs::is_directory(nearest) && access(nearest.c_str(), W_OK) == 0) return;
    refuse(std::string("--") + option, given, "it must be a folder that can be written, or made");
  };
  return po::value(&folder)->value_name("FOLDER")->notifier(require);
}

void require_lock(const std::string& lock, bool live) {
  std::string allowed;
  for (const auto& known : sim::locks()) {
    if (live && !known.runs_live) continue;
    if (known.name == lock) return;
    allowed += (allowed.empty() ? "" : ", ") + known.name;
  }
  refuse("--lock", lock, "it must be one of " + allowed);
}

std::vector<sim::Waiting> parse_waitings(const std::string& text) {
  std::vector<sim::Waiting> all;
  std::istringstream words(text);
  for (std::string word; std::getline(words, word, ',');) {
    int w = 0;
    while (w < sim::kWaitings && word != to_string(static_cast<sim::Waiting>(w))) ++w;
    if (w == sim::kWaitings) refuse("--waiting", text, "'" + word + "' is no waiting strategy");
    all.push_back(static_cast<sim::Waiting>(w));
  }
  return all;
}

}  // namespace leasehold::lab

int main(int argc, char** argv) {
  using namespace leasehold::lab;
  leasehold::cli::settle_inherited_state();
  leasehold::cli::put_off_failed_output();
  try {
    const int code = run_lab({argv + 1, argv + argc});
    leasehold::cli::flush_output();
    return code;
  } catch (const UsageError& error) {
    return failed(kUsage, error.what());
  } catch (const leasehold::sim::live::NoServers& error) {
    return failed(kNoServers, error.what());
  } catch (const std::exception& error) {
    return failed(kHarnessFailure, leasehold::cli::words_of(error) + space_left_for(error));
  }
}

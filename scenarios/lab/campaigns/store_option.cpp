#include "scenarios/lab/campaigns/store_option.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <vector>

namespace leasehold::lab {
namespace {

namespace fs = std::filesystem;
using sim::live::StoreScript;
using Kind = sim::FaultPlan::Kind;

bool is_program(const fs::path& path) {
  return fs::is_regular_file(path) && access(path.c_str(), X_OK) == 0;
}

std::string script_of(const std::string& store) {
  const fs::path folder = fs::path(scenario_folder()) / "stores";
  const bool is_name = store.find('/') == std::string::npos;
  const auto path = is_name ? folder / store : fs::absolute(store);
  if (is_program(path)) return path;
  std::vector<std::string> names;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(folder, none)) {
    const auto& at = entry.path();
    if (is_program(at) && !at.has_extension()) names.push_back(at.filename());
  }
  std::sort(names.begin(), names.end());
  names.emplace_back("the path of a script that can be executed");
  throw UsageError(fmt::format("--store is '{}': it must be {}{}", store,
                               names.size() > 1 ? "one of " : "", fmt::join(names, ", ")));
}

std::shared_ptr<StoreScript> opened(const std::string& store) {
  const auto program = script_of(store);
  try {
    return std::make_shared<StoreScript>(program);
  } catch (const std::runtime_error& error) {
    throw UsageError("--store is '" + store + "': " + error.what());
  }
}

void require_a_worker(const StoreOption& option, const WorkerOption& worker,
                      const std::optional<sim::live::ForeignLock>& foreign) {
  const auto is = "--store is '" + option.store + "': ";
  if (!option.own_set.uri.empty()) {
    throw UsageError(is + "--uri names a replica set of MongoDB; leave one of them out");
  }
  if (!foreign) {
    throw UsageError(is + "it needs the lock that stands on it: --worker COMMAND and "
                          "--promises FILE");
  }
  if (foreign->promises.document) {
    throw UsageError("--promises is '" + worker.promises_file +
                     "': 'document' is for MongoDB's oplog; with --store it must not be there");
  }
}

std::vector<std::string> names_of(const std::set<Kind>& kinds) {
  std::vector<std::string> names;
  for (const Kind kind : kinds) names.emplace_back(to_string(kind));
  return names;
}

/// Nothing is left out of what the user chose.
void require_possible(const WantedRuns& runs, const sim::live::TheirSet& set) {
  const auto& about = set.script->about();
  for (const auto& [plan, chosen] : runs.plans(set)) {
    for (const auto& fault : plan.faults) {
      if (chosen.empty() || set.can_have(fault.kind)) continue;
      throw UsageError(fmt::format("{}: fault {} at={} is none that {} can have: {}", chosen,
                                   to_string(fault.kind), fault.at_ms, about.name,
                                   fmt::join(names_of(about.faults), ", ")));
    }
  }
  if (runs.faults_chosen.empty()) return;
  const auto all = sim::fault_kinds(sim::Harm::none);
  for (const auto& group : runs.faults) {
    const bool has = std::any_of(all.begin(), all.end(), [&](Kind kind) {
      return sim::group_of(kind) == group && set.can_have(kind);
    });
    if (has) continue;
    throw UsageError(
        fmt::format("{}: {} can have none of '{}'", runs.faults_chosen, about.name, group));
  }
}

void say_what_is_left_out(const std::set<std::string>& groups, const sim::live::TheirSet& set) {
  std::vector<std::string> names;
  for (const Kind kind : sim::live::scriptable_faults()) {
    const bool wanted = groups.contains(sim::group_of(kind));
    if (wanted && !set.can_have(kind)) names.emplace_back(to_string(kind));
  }
  if (names.empty()) return;
  fmt::print(stderr, "note: left out, for {} cannot have them: {}\n", set.script->about().name,
             fmt::join(names, ", "));
}

}  // namespace

void StoreOption::add_to(po::options_description& options) {
  options.add_options()(
      "store", po::value(&store)->value_name("NAME"),
      "another lock service under the worker's lock: etcd, zookeeper, redis, ..., or a script of "
      "your own, by its path");
  own_set.add_to(options);
}

sim::live::TheirSet StoreOption::prepare(const WantedRuns& runs, const WorkerOption& worker,
                                         std::optional<sim::live::ForeignLock>& foreign) const {
  if (!store.empty()) require_a_worker(*this, worker, foreign);
  auto set = own_set.prepare(runs, foreign);
  if (store.empty()) return set;
  set.script = opened(store);
  const auto& missing = set.script->about().missing;
  if (!missing.empty()) throw sim::live::NoServers(missing);
  require_possible(runs, set);
  say_what_is_left_out(runs.faults, set);
  return set;
}

}  // namespace leasehold::lab

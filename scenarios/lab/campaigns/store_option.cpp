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
  const auto& name = set.script->about().name;
  require_possible(runs, set, name);
  const auto& kinds = sim::live::scriptable_faults();
  say_what_is_left_out(runs.faults, set, name, {kinds.begin(), kinds.end()});
  return set;
}

}  // namespace leasehold::lab

#include "scenarios/lab/lab.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <memory>

#include "sim/live/own_set/user_set.hpp"

namespace leasehold::lab {

namespace {

namespace fs = std::filesystem;
using sim::Power;
using sim::live::ForeignLock;
using sim::live::StoreScript;
using sim::live::TheirSet;
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
  std::ranges::sort(names);
  names.emplace_back("the path of a script that can be executed");
  refuse("--store", store, fmt::format("it must be {}{}", names.size() > 1 ? "one of " : "",
                                       fmt::join(names, ", ")));
}

const std::string kName = "your own set, whose servers are left alone,";

/// Prepares a URI for more options; the added option is what the lock's driver has anyway.
std::string extensible(std::string uri) {
  if (uri.find('?') != std::string::npos) return uri;
  const auto host = uri.find("://");
  const bool path = host != std::string::npos && uri.find('/', host + 3) != std::string::npos;
  return uri + (path ? "?" : "/?") + "retryWrites=false";
}

/// The clock margin of the members for the plans, and for a lock that is not ours.
std::int64_t least_margin(const std::vector<WantedPlan>& plans,
                          const std::optional<ForeignLock>& foreign) {
  std::int64_t least = plans.front().plan.clock_margin_ms;
  for (const auto& one : plans) least = std::min(least, one.plan.clock_margin_ms);
  const auto promised = foreign ? foreign->promises.clock_margin_ms : std::nullopt;
  return std::min(least, promised.value_or(least));
}

std::string names_of(const std::vector<Kind>& kinds) {
  std::vector<std::string> names;
  for (const Kind kind : kinds) names.emplace_back(to_string(kind));
  return fmt::format("{}", fmt::join(names, ", "));
}

/// Throws UsageError for a fault or a group that the user chose, and that these servers, which
/// messages call `name`, cannot have.
void require_possible(const WantedRuns& runs, const TheirSet& set, const std::string& name) {
  auto possible = sim::fault_kinds(sim::Harm::assumption);
  std::erase_if(possible, [&](Kind kind) { return !set.can_have(kind); });
  for (const auto& [plan, chosen] : runs.plans(set)) {
    for (const auto& fault : plan.faults) {
      if (chosen.empty() || set.can_have(fault.kind)) continue;
      throw UsageError(fmt::format("{}: fault {} at={} is none that {} can have: {}", chosen,
                                   to_string(fault.kind), fault.at_ms, name, names_of(possible)));
    }
  }
  if (runs.faults_chosen.empty()) return;
  for (const auto& group : runs.faults) {
    const bool has = std::ranges::any_of(possible, [&](Kind kind) {
      return sim::group_of(kind) == group && sim::harm_of(kind) == sim::Harm::none;
    });
    if (has) continue;
    throw UsageError(fmt::format("{}: {} can have none of '{}', only {}", runs.faults_chosen, name,
                                 group, names_of(possible)));
  }
}

/// On standard error, those of `kinds` that the groups have and these servers cannot have.
void say_what_is_left_out(const std::set<std::string>& groups, const TheirSet& set,
                          const std::string& name, std::vector<Kind> kinds) {
  std::erase_if(kinds, [&](Kind kind) {
    return !groups.contains(sim::group_of(kind)) || set.can_have(kind);
  });
  if (kinds.empty()) return;
  fmt::print(stderr, "note: left out, for {} cannot have them: {}\n", name, names_of(kinds));
}

TheirSet own_set(const SiteOptions& asked, const WantedRuns& runs,
                 std::optional<ForeignLock>& foreign) {
  catch_interruptions();
  TheirSet set{
      .uri = extensible(asked.uri), .power = Power::links, .keep_databases = asked.keep};
  require_possible(runs, set, kName);
  const auto plans = runs.plans(set);
  const bool needs_proxies = std::ranges::any_of(plans, [](const WantedPlan& one) {
    return !std::ranges::all_of(one.plan.faults, sim::hits_process, &sim::FaultPlan::kind);
  });
  const auto obstacle = needs_proxies ? sim::live::why_no_proxies(set.uri) : "";
  if (!obstacle.empty()) throw UsageError(obstacle);
  const auto found = sim::live::look_before_running(set.uri, runs.database,
                                                    least_margin(plans, foreign));
  const auto lines = fmt::format("{}", fmt::join(found.missing, "\nleasehold-lab: "));
  if (found.unreachable) throw sim::live::NoMongod(lines);
  if (!found.missing.empty()) throw UsageError(lines);
  say_what_is_left_out(runs.faults, set, kName, sim::fault_kinds(sim::Harm::none));
  if (!needs_proxies) set.power = Power::processes;
  set.ttl_period_ms = found.ttl_period_ms;
  // It is unknown by which clock a document's date is, and how far other machines' go wrong.
  const bool has_dates = foreign && foreign->promises.document &&
                         !foreign->promises.document->expires.empty();
  if (has_dates) {
    foreign->promises.document->expires.clear();
    fmt::print(stderr, "note: on your own set the dates in document.expires are not compared\n");
  }
  for (const auto& note : found.notes) fmt::print(stderr, "note: {}\n", note);
  return set;
}

TheirSet store_of(const SiteOptions& asked, const WantedRuns& runs,
                  const std::optional<ForeignLock>& foreign) {
  if (!asked.uri.empty()) {
    refuse("--store", asked.store, "--uri names a replica set of MongoDB; leave one of them out");
  }
  if (!foreign) {
    refuse("--store", asked.store,
           "it needs the lock that stands on it: --worker COMMAND and --promises FILE");
  }
  if (foreign->promises.document) {
    refuse("--promises", asked.promises_file,
           "'document' is for MongoDB's oplog; with --store it must not be there");
  }
  const auto program = script_of(asked.store);
  TheirSet set{.script = reading("--store is '" + asked.store + "': ",
                                 [&] { return std::make_shared<StoreScript>(program); })};
  const auto& missing = set.script->about().missing;
  if (!missing.empty()) throw sim::live::NoServers(missing);
  const auto& name = set.script->about().name;
  require_possible(runs, set, name);
  const auto& kinds = sim::live::scriptable_faults();
  say_what_is_left_out(runs.faults, set, name, {kinds.begin(), kinds.end()});
  return set;
}

}  // namespace

model::Promises read_promises(const std::string& file) {
  return reading("--promises is '" + file + "': ",
                 [&] { return model::promises_from_json(read_file("--promises", file)); });
}

void SiteOptions::add_to(po::options_description& options) {
  options.add_options()(
      "worker", po::value(&worker)->value_name("COMMAND"),
      "check the lock of this worker instead, which speaks the lines of WORKERS.md")(
      "promises", po::value(&promises_file)->value_name("FILE"),
      "what that lock promises, as JSON")(
      "store", po::value(&store)->value_name("NAME"),
      "another lock service under the worker's lock: etcd, zookeeper, redis, ..., or a script of "
      "your own, by its path")(
      "uri", po::value(&uri),
      "your replica set instead of a new one: links to its members are cut and slow, by proxies "
      "here; the members themselves are left alone")(
      "keep", po::bool_switch(&keep), "with --uri: do not drop the databases");
}

std::optional<ForeignLock> SiteOptions::lock(const po::variables_map& given) const {
  if (given.contains("worker") != given.contains("promises")) {
    throw UsageError("--worker COMMAND and --promises FILE go together: one of them is missing");
  }
  if (!given.contains("worker")) return std::nullopt;
  if (worker.empty()) refuse("--worker", "", "it must be a command");
  return ForeignLock{worker, read_promises(promises_file)};
}

TheirSet SiteOptions::prepare(const WantedRuns& runs, std::optional<ForeignLock>& foreign) const {
  if (!store.empty()) return store_of(*this, runs, foreign);
  return uri.empty() ? TheirSet() : own_set(*this, runs, foreign);
}

}  // namespace leasehold::lab

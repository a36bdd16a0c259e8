#include "scenarios/lab/campaigns/own_set.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "scenarios/lab/interruption.hpp"
#include "sim/live/own_set/preflight.hpp"
#include "sim/live/system/uri.hpp"

namespace leasehold::lab {
namespace {

using sim::Power;
using sim::live::ForeignLock;
using sim::live::TheirSet;
using Kind = sim::FaultPlan::Kind;

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

bool hits_links(const std::vector<WantedPlan>& plans) {
  return std::any_of(plans.begin(), plans.end(), [](const WantedPlan& one) {
    return std::any_of(one.plan.faults.begin(), one.plan.faults.end(),
                       [](const auto& fault) { return !sim::hits_process(fault.kind); });
  });
}

/// It is unknown by which clock a document's date is, and how far those of other machines go wrong.
void compare_no_dates(std::optional<ForeignLock>& foreign) {
  if (!foreign || !foreign->promises.document) return;
  auto& expires = foreign->promises.document->expires;
  if (expires.empty()) return;
  expires.clear();
  fmt::print(stderr, "note: on your own set the dates in document.expires are not compared\n");
}

std::string names_of(const std::vector<Kind>& kinds) {
  std::vector<std::string> names;
  for (const Kind kind : kinds) names.emplace_back(to_string(kind));
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

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
    const bool has = std::any_of(possible.begin(), possible.end(), [&](Kind kind) {
      return sim::group_of(kind) == group && sim::harm_of(kind) == sim::Harm::none;
    });
    if (has) continue;
    throw UsageError(fmt::format("{}: {} can have none of '{}', only {}", runs.faults_chosen, name,
                                 group, names_of(possible)));
  }
}

void say_what_is_left_out(const std::set<std::string>& groups, const TheirSet& set,
                          const std::string& name, std::vector<Kind> kinds) {
  std::erase_if(kinds, [&](Kind kind) {
    return !groups.contains(sim::group_of(kind)) || set.can_have(kind);
  });
  if (kinds.empty()) return;
  fmt::print(stderr, "note: left out, for {} cannot have them: {}\n", name, names_of(kinds));
}

void OwnSetOption::add_to(po::options_description& options) {
  options.add_options()(
      "uri", po::value(&uri),
      "your replica set instead of a new one: links to its members are cut and slow, by proxies "
      "here; the members themselves are left alone")(
      "keep", po::bool_switch(&keep), "with --uri: do not drop the databases");
}

TheirSet OwnSetOption::prepare(const WantedRuns& runs,
                               std::optional<ForeignLock>& foreign) const {
  if (uri.empty()) return {};
  catch_interruptions();
  TheirSet set{.uri = extensible(uri), .power = Power::links, .keep_databases = keep};
  require_possible(runs, set, kName);
  const auto plans = runs.plans(set);
  const bool needs_proxies = hits_links(plans);
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
  compare_no_dates(foreign);
  for (const auto& note : found.notes) fmt::print(stderr, "note: {}\n", note);
  return set;
}

}  // namespace leasehold::lab

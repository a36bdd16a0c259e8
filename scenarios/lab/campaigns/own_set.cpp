#include "scenarios/lab/campaigns/own_set.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "scenarios/lab/interruption.hpp"
#include "sim/live/own_set/preflight.hpp"
#include "sim/live/system/uri.hpp"

namespace leasehold::lab {
namespace {

using sim::Power;
using sim::live::ForeignLock;
using sim::live::TheirSet;
using Kind = sim::FaultPlan::Kind;

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

std::set<Kind> kinds_in(const std::vector<WantedPlan>& plans) {
  std::set<Kind> kinds;
  for (const auto& one : plans) {
    for (const auto& fault : one.plan.faults) kinds.insert(fault.kind);
  }
  return kinds;
}

/// The rights that such a fault lacks on a set with this power.
std::string what_is_missing(Kind kind, Power power) {
  const auto needed = sim::power_of(kind);
  if (needed == Power::members) return "a replica set of the laboratory's own: leave out --uri";
  if (power < Power::servers) return "--allow-server-faults";
  return "servers that were started with --setParameter enableTestCommands=1";
}

/// Nothing is left out of a plan that the user chose: a fault without its power is an error.
void require_power(const std::vector<WantedPlan>& plans, Power power) {
  for (const auto& [plan, chosen] : plans) {
    for (const auto& fault : plan.faults) {
      if (chosen.empty() || sim::power_of(fault.kind) <= power) continue;
      throw UsageError(fmt::format("{}: fault {} at={} needs {}", chosen, to_string(fault.kind),
                                   fault.at_ms, what_is_missing(fault.kind, power)));
    }
  }
}

void say_what_is_left_out(const std::set<std::string>& groups, Power power) {
  std::map<std::string, std::vector<std::string>> by_reason;
  for (const Kind kind : sim::fault_kinds(sim::Harm::none)) {
    const bool asked = groups.contains(sim::group_of(kind));
    if (!asked || sim::power_of(kind) <= power) continue;
    by_reason[what_is_missing(kind, power)].emplace_back(to_string(kind));
  }
  for (const auto& [reason, kinds] : by_reason) {
    fmt::print(stderr, "note: left out, for they need {}: {}\n", reason, fmt::join(kinds, ", "));
  }
}

/// It is unknown by which clock a document's date is, and how far those of other machines go wrong.
void compare_no_dates(std::optional<ForeignLock>& foreign) {
  if (!foreign || !foreign->promises.document) return;
  auto& expires = foreign->promises.document->expires;
  if (expires.empty()) return;
  expires.clear();
  fmt::print(stderr, "note: on your own set the dates in document.expires are not compared\n");
}

}  // namespace

void OwnSetOption::add_to(po::options_description& options) {
  options.add_options()(
      "uri", po::value(&uri),
      "your replica set instead of a new one: links to its members are cut and slow, by proxies "
      "here; the members themselves are left alone")(
      "allow-server-faults", po::bool_switch(&allow_server_faults),
      "with --uri: also step up and down, switch the TTL monitor off, set fail points")(
      "keep", po::bool_switch(&keep), "with --uri: do not drop the databases");
}

TheirSet OwnSetOption::prepare(const WantedRuns& runs,
                               std::optional<ForeignLock>& foreign) const {
  if (uri.empty()) {
    if (!allow_server_faults) return {};
    throw UsageError("--allow-server-faults: it is for a set that --uri names");
  }
  catch_interruptions();
  TheirSet set{.uri = extensible(uri), .keep_databases = keep};
  set.power = allow_server_faults ? Power::fail_points : Power::locks;
  const auto plans = runs.plans(set);
  require_power(plans, set.power);
  const auto kinds = kinds_in(plans);
  const bool needs_proxies =
      !std::all_of(kinds.begin(), kinds.end(), [](Kind kind) { return sim::hits_process(kind); });
  const auto obstacle = needs_proxies ? sim::live::why_no_proxies(set.uri) : "";
  if (!obstacle.empty()) throw UsageError(obstacle);
  const auto found = sim::live::look_before_running(set.uri, runs.database,
                                                    least_margin(plans, foreign), kinds);
  const auto lines = fmt::format("{}", fmt::join(found.missing, "\nleasehold-lab: "));
  if (found.unreachable) throw sim::live::NoMongod(lines);
  if (!found.missing.empty()) throw UsageError(lines);
  if (allow_server_faults && !found.test_commands) set.power = Power::servers;
  require_power(plans, set.power);
  say_what_is_left_out(runs.faults, set.power);
  if (!needs_proxies) set.power = Power::processes;
  set.ttl_period_ms = found.ttl_period_ms;
  compare_no_dates(foreign);
  for (const auto& note : found.notes) fmt::print(stderr, "note: {}\n", note);
  return set;
}

}  // namespace leasehold::lab

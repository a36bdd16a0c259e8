#include "scenarios/lab/own_set.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "scenarios/lab/lab.hpp"
#include "sim/live/preflight.hpp"
#include "sim/live/uri.hpp"

namespace leasehold::lab {
namespace {

using properties::VerifyCase;
using properties::VerifyOptions;
using sim::Power;
using Kind = sim::FaultPlan::Kind;

/// So that more options can follow it; the one added is what the lock's driver has anyway.
std::string extensible(std::string uri) {
  if (uri.find('?') != std::string::npos) return uri;
  const auto host = uri.find("://");
  const bool path = host != std::string::npos && uri.find('/', host + 3) != std::string::npos;
  return uri + (path ? "?" : "/?") + "retryWrites=false";
}

std::int64_t least_margin(const std::vector<VerifyCase>& cases) {
  std::int64_t least = cases.front().plan.clock_margin_ms;
  for (const auto& one : cases) least = std::min(least, one.plan.clock_margin_ms);
  return least;
}

std::set<Kind> kinds_in(const std::vector<VerifyCase>& cases) {
  std::set<Kind> kinds;
  for (const auto& one : cases) {
    for (const auto& fault : one.plan.faults) kinds.insert(fault.kind);
  }
  return kinds;
}

/// What such a fault lacks on a set with this power over it.
std::string what_is_missing(Kind kind, Power power) {
  const auto needed = sim::power_of(kind);
  if (needed == Power::members) return "a replica set of the laboratory's own: leave out --uri";
  if (power < Power::servers) return "--allow-server-faults";
  return "servers that were started with --setParameter enableTestCommands=1";
}

/// Of a plan that somebody chose nothing is left out.
void require_power(const VerifyOptions& v) {
  if (!v.plan) return;
  for (const auto& fault : v.plan->faults) {
    if (sim::power_of(fault.kind) <= v.power) continue;
    throw UsageError(fmt::format("--plan is '{}': fault {} at={} needs {}", v.plan_file,
                                 to_string(fault.kind), fault.at_ms,
                                 what_is_missing(fault.kind, v.power)));
  }
}

void say_what_is_left_out(const VerifyOptions& v) {
  if (v.plan) return;
  std::map<std::string, std::vector<std::string>> by_reason;
  for (const Kind kind : sim::fault_kinds(sim::Harm::none)) {
    const bool asked = v.faults.contains(sim::group_of(kind));
    if (!asked || sim::power_of(kind) <= v.power) continue;
    by_reason[what_is_missing(kind, v.power)].emplace_back(to_string(kind));
  }
  for (const auto& [reason, kinds] : by_reason) {
    fmt::print(stderr, "note: left out, for they need {}: {}\n", reason, fmt::join(kinds, ", "));
  }
}

/// By whose clock a document's date is, and how far those of other machines go wrong, nobody knows.
void compare_no_dates(VerifyOptions& v) {
  if (!v.foreign || !v.foreign->promises.document) return;
  auto& expires = v.foreign->promises.document->expires;
  if (expires.empty()) return;
  expires.clear();
  fmt::print(stderr, "note: on your own set the dates in document.expires are not compared\n");
}

}  // namespace

void prepare_own_set(VerifyOptions& v, bool allow_server_faults) {
  v.uri = extensible(v.uri);
  v.power = allow_server_faults ? Power::fail_points : Power::locks;
  require_power(v);
  const auto cases = cases_of(v);
  const auto kinds = kinds_in(cases);
  const bool needs_proxies =
      !std::all_of(kinds.begin(), kinds.end(), [](Kind kind) { return sim::hits_process(kind); });
  const auto obstacle = needs_proxies ? sim::live::why_no_proxies(v.uri) : "";
  if (!obstacle.empty()) throw UsageError(obstacle);
  const auto found = sim::live::look_before_running(
      v.uri, "leasehold_verify_" + std::to_string(v.seed), least_margin(cases), kinds);
  const auto lines = fmt::format("{}", fmt::join(found.missing, "\nleasehold-lab: "));
  if (found.unreachable) throw sim::live::NoMongod(lines);
  if (!found.missing.empty()) throw UsageError(lines);
  if (allow_server_faults && !found.test_commands) v.power = Power::servers;
  require_power(v);
  say_what_is_left_out(v);
  if (!needs_proxies) v.power = Power::processes;
  v.ttl_period_ms = found.ttl_period_ms;
  compare_no_dates(v);
  for (const auto& note : found.notes) fmt::print(stderr, "note: {}\n", note);
}

}  // namespace leasehold::lab

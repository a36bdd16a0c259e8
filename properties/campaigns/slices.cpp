#include "properties/campaigns/verify.hpp"

#include <algorithm>
#include <cctype>
#include <utility>

#include "sim/virtual/cluster.hpp"

namespace leasehold::properties {
namespace {

using model::Finding;
using model::History;
using model::Kind;
using model::kMs;
using sim::FaultPlan;
using sim::Plan;
using Places = std::set<std::int64_t>;

constexpr std::int64_t kSliceBefore_ms = 1'000;     ///< of a violation's first event
constexpr std::int64_t kSliceLateness_ms = 1'500;   ///< of a fault, with the start of the processes
constexpr std::int64_t kFirstFault_ms = 500;   ///< in a slice: the processes contend by then
constexpr std::int64_t kLeastFaulty_ms = 6'000;  ///< so that chance has some time

bool is_of_the_plan(const std::string& process) {
  return process.size() > 1 && process.front() == 'p' &&
         std::isdigit(static_cast<unsigned char>(process[1])) != 0;
}

/// What a fault hit, and when.
struct Hit {
  std::string fault, victim;
  std::int64_t at_ns = 0;
};

std::vector<Hit> hits_of(const History& history) {
  std::vector<Hit> hits;
  for (const auto& e : history) {
    if (e.kind == Kind::fault && !e.ends) hits.push_back({e.fault, e.victim, e.at_ns});
    if (e.kind == Kind::crash) hits.push_back({"crash", e.process, e.at_ns});
    const char* stopped = e.suspended ? "suspend" : "pause";
    if (e.kind == Kind::pause) hits.push_back({stopped, e.process, e.at_ns});
  }
  return hits;
}

/// The places of the processes that a finding's events name.
void add_places(const History& history, const Finding& finding, Places& places) {
  for (const auto i : finding.events) {
    const auto& process = history.at(i).process;
    if (is_of_the_plan(process)) places.insert(sim::simulated::place_of(process));
  }
}

class Slicer {
 public:
  Slicer(const Plan& plan, const History& history, const Finding& finding)
      : plan_(plan), hits_(hits_of(history)), began_ns_(history.front().at_ns) {
    const auto ms_of = [&](auto i) { return (history.at(i).at_ns - began_ns_) / kMs; };
    from_ms_ = ms_of(std::ranges::min(finding.events, {}, ms_of)) - kSliceBefore_ms;
    to_ms_ = ms_of(std::ranges::max(finding.events, {}, ms_of));
  }

  [[nodiscard]] Plan slice(const Places& places, bool with_faults) const {
    Plan slice = plan_;
    slice.locks = 1;
    slice.processes.clear();
    slice.faults.clear();
    std::vector<std::int64_t> now(plan_.processes.size(), -1);  // the place that was i
    for (const auto i : places) {
      const auto was = static_cast<std::size_t>(i);
      now[was] = static_cast<std::int64_t>(slice.processes.size());
      slice.processes.push_back(plan_.processes.at(was));
    }
    for (FaultPlan fault : plan_.faults) {
      if (!with_faults || !took_part(fault, places)) continue;
      if (fault.process >= 0) fault.process = now.at(static_cast<std::size_t>(fault.process));
      slice.faults.push_back(fault);
    }
    shorten(slice);
    return slice;
  }

 private:
  [[nodiscard]] bool took_part(const FaultPlan& fault, const Places& places) const {
    if (fault.at_ms > to_ms_ || fault.at_ms + fault.for_ms < from_ms_) return false;
    if (fault.process >= 0 && !places.contains(fault.process)) return false;
    const auto due_ns = began_ns_ + fault.at_ms * kMs;
    return std::ranges::any_of(hits_, [&](const Hit& hit) {
      const bool its = hit.fault == to_string(fault.kind) && hit.at_ns >= due_ns &&
                       hit.at_ns <= due_ns + kSliceLateness_ms * kMs;
      return its && (!is_of_the_plan(hit.victim) ||
                     places.contains(sim::simulated::place_of(hit.victim)));
    });
  }

  /// Its first fault comes soon, and after the last one there is time for what follows from it.
  static void shorten(Plan& slice) {
    std::int64_t first_ms = slice.faulty_ms, over_ms = 0;
    for (const auto& fault : slice.faults) first_ms = std::min(first_ms, fault.at_ms);
    const auto earlier_ms = std::max<std::int64_t>(first_ms - kFirstFault_ms, 0);
    for (auto& fault : slice.faults) {
      fault.at_ms -= earlier_ms;
      over_ms = std::max(over_ms, fault.at_ms + fault.for_ms);
    }
    std::int64_t longest_ms = 0;
    for (const auto& p : slice.processes) longest_ms = std::max(longest_ms, p.expiry_ms);
    const auto enough_ms = std::max(over_ms + 2 * longest_ms, kLeastFaulty_ms);
    slice.faulty_ms = std::min(slice.faulty_ms, enough_ms);
  }

  const Plan& plan_;
  const std::vector<Hit> hits_;
  const std::int64_t began_ns_;
  std::int64_t from_ms_, to_ms_;  ///< of the violation, in the plan's time
};

}  // namespace

std::vector<Plan> slices(const Plan& plan, const History& history,
                         const std::vector<Finding>& findings, model::Check check) {
  const auto found = std::ranges::find(findings, check, &Finding::check);
  if (found == findings.end() || found->events.empty() || is_scripted(plan)) return {};
  Places its, of_all, all;
  add_places(history, *found, its);
  if (its.empty()) return {};
  for (const Finding& f : findings) {
    if (f.verdict == model::Verdict::violated) add_places(history, f, of_all);
  }
  for (std::size_t i = 0; i < plan.processes.size(); ++i) all.insert(static_cast<std::int64_t>(i));
  const Slicer slicer(plan, history, *found);
  std::vector<Plan> slices;
  for (Plan slice : {slicer.slice(its, false), slicer.slice(its, true),
                     slicer.slice(of_all, true), slicer.slice(all, true)}) {
    const bool known = std::ranges::find(slices, slice) != slices.end();
    if (slice == plan || known || !unsound(slice).empty()) continue;
    slices.push_back(std::move(slice));
  }
  return slices;
}

}  // namespace leasehold::properties

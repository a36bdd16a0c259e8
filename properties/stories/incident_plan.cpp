#include <algorithm>
#include <map>

#include "model/workers/worker_digest.hpp"
#include "properties/stories/incident.hpp"

namespace leasehold::properties {
namespace {

using model::Event;
using model::kMs;
using model::kNone;
using model::SessionDigest;
using model::Span;
using model::Tenure;
using FaultKind = sim::FaultPlan::Kind;

constexpr std::int64_t kSettled_ms = 100;  ///< before the first step
constexpr std::int64_t kGranted_ms = 500;  ///< allowance of a time-out for a later grant here
constexpr std::int64_t kAround_leases = 3;  ///< of a violation that a story tells
constexpr std::int64_t kLate_ms = 20;

class Storyteller {
 public:
  Storyteller(const Incident& incident, const std::vector<model::Finding>& findings,
              const IncidentOptions& options)
      : error_ns_(options.clock_error_ms * kMs),
        d_(model::worker_digest(incident.history, incident.promises)) {
    choose(findings);
  }

  sim::Plan tell(const std::string& lock) {
    sim::Plan plan{.seed = 1, .lock = lock};
    for (const auto& call : told_) add(plan, *call);
    plan.locks = std::max<int>(1, static_cast<int>(names_.size()));
    for (const auto& all : d_.tenures) {
      for (const Tenure& t : all) add_stop(plan, t);
    }
    add_deaths(plan);
    add_late_releases(plan);
    for (const auto& one : plan.steps) plan.faulty_ms = std::max(plan.faulty_ms, one.at_ms + 1'000);
    std::ranges::stable_sort(plan.steps, {}, &sim::StepPlan::at_ms);
    std::ranges::stable_sort(plan.faults, {}, &sim::FaultPlan::at_ms);
    plan.clock_margin_ms = margin_ms();
    return plan;
  }

 private:
  /// From the request until the lock was given back, the call ended or its process died.
  [[nodiscard]] Span span_of(const SessionDigest& call) const {
    Span span{call.asked.at_ns, d_.finished_ns};
    for (const auto end : {call.released, call.ended, d_.process_of[call.process]->crash}) {
      if (end != kNone) span.to = std::min(span.to, d_.at(end).at_ns);
    }
    return span;
  }

  /// Chooses the calls around the first violation.
  void choose(const std::vector<model::Finding>& findings) {
    const auto violated = [](const auto& f) {
      return f.verdict == model::Verdict::violated && !f.events.empty();
    };
    // The violation of a release comes before its consequences.
    auto found = std::ranges::find_if(findings, [&](const auto& f) {
      return violated(f) && f.check == model::Check::G6;
    });
    if (found == findings.end()) found = std::ranges::find_if(findings, violated);
    for (const auto& all : model::worker_calls(d_)) {
      told_.insert(told_.end(), all.begin(), all.end());
    }
    if (found != findings.end()) {
      Span around{d_.finished_ns, 0};
      for (const auto i : found->events) {
        around.from = std::min(around.from, d_.at(i).at_ns);
        around.to = std::max(around.to, d_.at(i).at_ns);
      }
      harm_ns_ = d_.at(found->events.back()).at_ns - error_ns_;
      const auto name = d_.fact(found->events.back()).name;
      std::erase_if(told_, [&](const SessionDigest* call) {
        const auto lease_ns = kAround_leases * call->asked->expiry_ms * kMs;
        const Span wide{around.from - lease_ns, around.to + lease_ns};
        return call->asked.name != name || !span_of(*call).meets(wide);
      });
    }
    std::ranges::stable_sort(told_, {}, [](const auto* call) { return call->asked.at_ns; });
    if (!told_.empty()) zero_ns_ = told_.front()->asked.at_ns - kSettled_ms * kMs;
  }

  [[nodiscard]] std::int64_t at_ms(std::int64_t ns) const { return (ns - zero_ns_) / kMs; }

  /// The stamp before it was moved apart.
  [[nodiscard]] std::int64_t logged_ms(const Event& e, bool moved_later) const {
    return at_ms(e.at_ns + (moved_later ? -2 : 0) * error_ns_);
  }

  std::int64_t place_of(sim::Plan& plan, const SessionDigest& call) {
    const auto [found, added] =
        places_.try_emplace(call.process, static_cast<std::int64_t>(plan.processes.size()));
    if (added) {
      plan.processes.push_back({.expiry_ms = call.asked->expiry_ms + 2 * error_ns_ / kMs,
                                .wait_min_ms = 10,
                                .wait_max_ms = 40,
                                .scripted = true});
    }
    return found->second;
  }

  void add(sim::Plan& plan, const SessionDigest& call) {
    const auto place = place_of(plan, call);
    const auto span = span_of(call);
    auto& callers = busy_[place];
    auto free = std::ranges::find_if(callers, [&](auto until) { return until <= span.from; });
    if (free == callers.end()) free = callers.insert(callers.end(), 0);
    *free = span.to;
    auto& process = plan.processes[static_cast<std::size_t>(place)];
    process.callers = std::max(process.callers, static_cast<int>(callers.size()));
    const auto name = names_.try_emplace(call.asked.name, names_.size()).first->second;
    sim::StepPlan step{.action = sim::StepPlan::Action::acquire,
                       .at_ms = at_ms(call.asked.at_ns),
                       .process = place,
                       .caller = free - callers.begin(),
                       .lock = static_cast<std::int64_t>(name)};
    step.acquire_timeout_ms = timeout_ms(call);
    plan.steps.push_back(step);
    if (call.release == kNone) return;
    step.action = sim::StepPlan::Action::release;
    step.at_ms = at_ms(d_.at(call.release).at_ns);
    step.acquire_timeout_ms = 0;
    plan.steps.push_back(step);
  }

  [[nodiscard]] std::int64_t timeout_ms(const SessionDigest& call) const {
    const bool granted = call.granted != kNone;
    const auto end = granted ? call.granted : call.ended;
    if (end == kNone) return kGranted_ms;
    if (!granted && d_.at(end).outcome == "refused") return 0;  // one attempt
    const auto took = logged_ms(d_.at(end), true) - at_ms(call.asked.at_ns);
    return std::max<std::int64_t>(took, 0) + (granted ? kGranted_ms : 0);
  }

  /// A holder that had to extend its lock, and did not for a whole lease, was stopped or cut off
  /// until it did something again.
  void add_stop(sim::Plan& plan, const Tenure& t) {
    const auto holder = model::writer_of(d_, t.last_put);
    if (!holder || std::ranges::count(told_, holder->session) == 0) return;
    const auto& s = *holder->session;
    if (d_.process_of[s.process]->crash != kNone) return;
    const auto from = logged_ms(d_.at(t.last_put), true);
    const auto given_up =
        at_ms(s.release != kNone ? d_.at(s.release).at_ns : d_.finished_ns);
    const auto ended = t.next == kNone ? given_up : logged_ms(d_.at(t.next), true);
    if (std::min(given_up, ended) - from <= s.asked->expiry_ms) return;
    const auto first = first_sign(s.process, from, given_up);
    plan.faults.push_back({.kind = first < given_up ? FaultKind::cut_link : FaultKind::pause,
                           .at_ms = from + kLate_ms,
                           .for_ms = std::max<std::int64_t>(given_up - from - 2 * kLate_ms, 1),
                           .process = places_.at(s.process)});
  }

  /// When it wrote the first line of its log between the two.
  [[nodiscard]] std::int64_t first_sign(model::Id process, std::int64_t from,
                                        std::int64_t to) const {
    for (const model::Fact& e : d_.facts.all) {
      if (e.process != process || e.kind == model::Kind::granted) continue;
      const bool later = e.kind != model::Kind::ask && e.kind != model::Kind::release;
      const auto at = logged_ms(*e.event, later);
      if (at > from + kLate_ms && at < to - kLate_ms) return at;
    }
    return to;
  }

  void add_deaths(sim::Plan& plan) const {
    for (const auto& [process, place] : places_) {
      const auto crash = d_.process_of[process]->crash;
      if (crash == kNone) continue;
      const auto at_ms = std::max<std::int64_t>(logged_ms(d_.at(crash), true), 0);
      plan.faults.push_back({.kind = FaultKind::crash, .at_ms = at_ms, .process = place});
    }
  }

  /// An unanswered release may have been on its way until the harm was done.
  void add_late_releases(sim::Plan& plan) const {
    for (const SessionDigest* call : told_) {
      const SessionDigest& s = *call;
      if (s.released == kNone || d_.at(s.released).outcome != "unknown") continue;
      const auto released = at_ms(d_.at(s.release).at_ns);
      const auto late = harm_ns_ == 0 ? 0 : at_ms(harm_ns_) - released;
      if (late <= 0) continue;
      plan.faults.push_back({.kind = FaultKind::late_requests,
                             .at_ms = std::max<std::int64_t>(released - kLate_ms, 0),
                             .for_ms = 2 * kLate_ms,
                             .amount = late,
                             .process = places_.at(s.process)});
    }
  }

  /// By how much a document outlasts its lease.
  [[nodiscard]] std::int64_t margin_ms() const {
    std::int64_t least = model::kNever;
    for (const auto& all : d_.tenures) {
      for (const Tenure& t : all) {
        const auto holder = model::writer_of(d_, t.last_put);
        const Event& e = d_.at(t.last_put);
        if (!holder || e.expires_at_ms == 0 || e.wall_ms == 0) continue;
        if (std::ranges::count(told_, holder->session) == 0) continue;
        least = std::min(least, e.expires_at_ms - e.wall_ms - holder->ask()->expiry_ms);
      }
    }
    constexpr std::int64_t kUsual = 1'000, kMost = 60'000;
    return least == model::kNever ? kUsual : std::clamp<std::int64_t>(least, 0, kMost);
  }

  const std::int64_t error_ns_;
  const model::Digest d_;
  std::vector<const SessionDigest*> told_;
  std::int64_t zero_ns_ = 0;
  std::int64_t harm_ns_ = 0;  ///< of the first violation
  std::map<model::Id, std::int64_t> places_;
  std::map<model::Id, std::size_t> names_;
  std::map<std::int64_t, std::vector<std::int64_t>> busy_;  ///< by place: until when each caller is
};

}  // namespace

sim::Plan incident_plan(const Incident& incident, const std::vector<model::Finding>& findings,
                        const IncidentOptions& options, const std::string& lock) {
  return Storyteller(incident, findings, options).tell(lock);
}

}  // namespace leasehold::properties

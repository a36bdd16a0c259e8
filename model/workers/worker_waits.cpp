#include <algorithm>

#include "model/workers/worker_checkers.hpp"

namespace leasehold::model {
namespace {

/// When a call may have had a lock, as far as other calls can tell.
struct Stay {
  const WorkerCall* call = nullptr;
  std::int64_t from = kNever;     ///< kNever: it certainly never had the lock
  std::int64_t to = kNever;       ///< when it gave the lock back, ended or died, ...
  std::int64_t lease_ns = 0;      ///< ... and how long the lock may then stay taken; 0: given back
  std::int64_t next_ns = kNever;  ///< when a call that began after that had it
  bool died_holding = false;
};

/// How long servers took for other commands: from the sending of writes to the resource and of
/// releases to their answers.
std::vector<Span> commands_of(const Digest& d) {
  std::vector<Span> all;
  for (const Index i : d.writes) all.push_back({d.at(i).sent_ns, d.at(i).at_ns});
  for (const SessionDigest& s : d.sessions) {
    if (s.release == kNone || s.released == kNone) continue;
    all.push_back({d.at(s.release).at_ns, d.at(s.released).at_ns});
  }
  return all;
}

/// All calls for one name.
class Waits {
 public:
  Waits(const Digest& d, const Promises& promises, const std::vector<WorkerCall>& calls,
        const std::vector<Span>& commands)
      : d_(d), promises_(promises), calls_(calls), commands_(commands) {
    for (const WorkerCall& call : calls_) stays_.push_back(stay_of(call));
    set_next();
  }

  void check(Finding& f) const {
    for (const WorkerCall& call : calls_) {
      check_on_time(f, call);
      if (!promises_.passes_on_leases) continue;
      if (promises_.waits == Promises::Waits::none) {
        check_attempt(f, call);
      } else if (!call.ask->single_attempt) {
        check_waiter(f, call);
      }
    }
  }

 private:
  [[nodiscard]] Index answer_of(const WorkerCall& call) const {
    return call.granted != nullptr ? call.session->granted : call.session->ended;
  }
  /// From the call to its answer, or to the end.
  [[nodiscard]] Span asking(const WorkerCall& call) const {
    const Index answer = answer_of(call);
    const Index crash = d_.processes.at(*call.process).crash;
    auto end = d_.finished_ns;
    for (const Index i : {answer, answer == kNone ? crash : kNone}) {
      if (i != kNone) end = std::min(end, d_.at(i).at_ns);
    }
    return {call.ask->at_ns, end};
  }
  /// Whether answers in this span came on time, and nothing happened that they do not say.
  [[nodiscard]] bool clean(const WorkerCall& call, Span span) const {
    return d_.disturbed(call.session->process, span) == nullptr &&
           d_.ran_throughout(call.session->process, span);
  }

  [[nodiscard]] Stay stay_of(const WorkerCall& call) const {
    Stay stay{.call = &call};
    const Span asked = asking(call);
    const Index answer = answer_of(call);
    const bool said = answer != kNone && clean(call, asked);
    stay.from = said ? asked.to - d_.allowed.lateness_ns : asked.from;
    if (call.granted != nullptr) {
      end_holding(stay);
    } else if (answer != kNone) {
      // A call that timed out or failed may have got the lock a moment too late.
      if (said && d_.at(answer).outcome == "refused") stay.from = kNever;
      leave_behind(stay, asked.to);
    } else if (d_.processes.at(*call.process).crash != kNone) {
      leave_behind(stay, asked.to);
    }
    return stay;
  }

  void end_holding(Stay& stay) const {
    const SessionDigest& s = *stay.call->session;
    const Index crash = d_.processes.at(*stay.call->process).crash;
    if (s.released != kNone) {
      stay.to = d_.at(s.released).at_ns;
      if (d_.at(s.released).outcome == "unknown") leave_behind(stay, stay.to);
    } else if (crash != kNone) {
      stay.died_holding = s.release == kNone;
      leave_behind(stay, d_.at(crash).at_ns);
    }
  }

  /// How much longer than a lease it may last: the margin that its author promises for differing
  /// clocks, and how far faults put those of two primaries apart. None: they were put apart by more
  /// than that, or by an unknown amount.
  [[nodiscard]] std::optional<std::int64_t> margins_ms(const WorkerCall& call) const {
    const auto promised = promises_.clock_margin_ms.value_or(0);
    if (d_.clocks_moved.all().empty()) return promised;
    const auto apart = call.ask->clock_margin_ms;
    return apart > 0 && apart <= promised ? std::optional(promised + apart) : std::nullopt;
  }

  /// A command that was on its way when links or servers were disturbed may be executed until the
  /// end of that fault.
  void leave_behind(Stay& stay, std::int64_t end) const {
    const Span* fault = nullptr;
    const auto meets = [&] {
      const Span asked{stay.call->ask->at_ns, end + 1};
      fault = d_.disturbed(stay.call->session->process, asked);
      return end < kNever && fault != nullptr && fault->to > end;
    };
    while (meets()) end = fault->to;
    const auto margins = margins_ms(*stay.call);
    stay.to = margins && promises_.passes_on_leases ? end : kNever;
    const auto leases = promises_.passes_on_leases.value_or(0);
    stay.lease_ns =
        margins.value_or(0) * kMs +
        static_cast<std::int64_t>(leases * static_cast<double>(stay.call->ask->expiry_ms * kMs));
  }

  void set_next() {
    // For each call, from the last: the earliest grant of it and all later calls.
    std::vector<std::int64_t> soonest(calls_.size() + 1, kNever);
    for (std::size_t i = calls_.size(); i-- > 0;) {
      const auto granted = calls_[i].granted == nullptr ? kNever : calls_[i].granted->at_ns;
      soonest[i] = std::min(soonest[i + 1], granted);
    }
    for (Stay& stay : stays_) {
      const auto after =
          std::partition_point(calls_.begin(), calls_.end(),
                               [&](const WorkerCall& call) { return call.ask->at_ns <= stay.to; });
      stay.next_ns = soonest[static_cast<std::size_t>(after - calls_.begin())];
    }
  }

  /// Until when it may keep the lock from a call that waits since `waits_from`: a waiting call may
  /// count the lease of a dead holder from the begin of its own wait.
  [[nodiscard]] std::int64_t keeps_until(const Stay& stay, std::int64_t waits_from) const {
    if (stay.to == kNever || stay.lease_ns == 0) return stay.to;
    return std::min(std::max(stay.to, waits_from) + stay.lease_ns, stay.next_ns);
  }

  /// When this call waited and no other call can have had the lock; and the stay before that.
  struct Gap {
    Span span;
    const Stay* before = nullptr;
  };
  [[nodiscard]] std::vector<Gap> gaps(const WorkerCall& call) const {
    const Span asked = asking(call);
    std::vector<std::pair<Span, const Stay*>> taken;
    for (const Stay& stay : stays_) {
      if (stay.call->ask->at_ns > asked.to) break;
      if (stay.call == &call || stay.from == kNever) continue;
      const Span span{stay.from, keeps_until(stay, asked.from)};
      if (span.to > asked.from && span.from < asked.to) taken.emplace_back(span, &stay);
    }
    std::sort(taken.begin(), taken.end(),
              [](const auto& a, const auto& b) { return a.first.from < b.first.from; });
    std::vector<Gap> out;
    Gap gap{{asked.from, asked.to}, nullptr};
    for (const auto& [span, stay] : taken) {
      if (span.from > gap.span.from) out.push_back({{gap.span.from, span.from}, gap.before});
      if (span.to <= gap.span.from) continue;
      gap = {{span.to, asked.to}, stay};
    }
    if (gap.span.from < asked.to) out.push_back(gap);
    return out;
  }

  void check_on_time(Finding& f, const WorkerCall& call) const {
    if (call.ask->single_attempt) return;
    const auto latest = call.ask->give_up_ns + promises_.answers_within_ms * kMs;
    const Index answer = answer_of(call);
    const auto happened = answer == kNone ? kNever : d_.at(answer).at_ns;
    if (answer == kNone && d_.finished_ns <= latest) return;
    const Id process = call.session->process;
    check_bound(d_, f,
                {call.ask->give_up_ns, latest, happened, d_.process_of[process]->alive_until,
                 d_.delays(process, Needs::process)},
                [&] {
                  return caller(call) + " ended " +
                         (answer == kNone
                              ? "never"
                              : ms(happened - call.ask->give_up_ns) + " after its timeout");
                },
                {call.session->ask, answer});
  }

  /// An attempt that came too soon, a pause that ends late, and an attempt that finds the lock
  /// free: each may take as long as the slowest command of other calls meanwhile. kNever: half of
  /// those commands take so long that the attempts of a call with such a lease may all time out.
  [[nodiscard]] std::int64_t latest_in(const Gap& gap, const WorkerCall& call) const {
    constexpr std::int64_t kCommandsOfALease = 8;
    const auto latest = [&](std::int64_t attempt_ns) {
      return gap.span.from + promises_.polls_within_ms * kMs + 3 * attempt_ns;
    };
    const auto usual = latest(d_.allowed.lateness_ns);
    if (gap.span.to <= usual) return usual;
    std::vector<std::int64_t> took;
    for (const Span& command : commands_) {
      if (command.meets(gap.span)) took.push_back(command.to - command.from);
    }
    if (took.empty()) return usual;
    std::sort(took.begin(), took.end());
    const bool slow = took[took.size() / 2] > call.ask->expiry_ms * kMs / kCommandsOfALease;
    return slow ? kNever : std::max(usual, latest(took.back()));
  }

  void check_waiter(Finding& f, const WorkerCall& call) const {
    const Span asked = asking(call);
    for (const Gap& gap : gaps(call)) {
      const auto latest = latest_in(gap, call);
      const bool waits = gap.span.to > latest;
      const bool got_it = gap.span.to == asked.to && call.granted != nullptr;
      if (!waits && !got_it) continue;
      const Span window{gap.span.from, std::min(latest, gap.span.to)};
      if (const Span* fault = d_.disturbed(call.session->process, window)) {
        excuse(f, fault->why);
        continue;
      }
      if (gap.before != nullptr && gap.before->died_holding) ++f.counts["bounded_takeovers"];
      check_bound(d_, f,
                  {gap.span.from, latest, gap.span.to, kNever,
                   d_.delays(call.session->process, Needs::servers)},
                  [&] {
                    return caller(call) + " waited " + ms(gap.span.to - gap.span.from) +
                           " for it while it was free" + left_by(gap.before);
                  },
                  {gap.before == nullptr ? kNone : gap.before->call->session->granted,
                   call.session->ask, answer_of(call)});
    }
  }

  /// A call that does not wait gets a lock that no call has and no other call asks for.
  void check_attempt(Finding& f, const WorkerCall& call) const {
    const Span asked = asking(call);
    const Index answer = answer_of(call);
    if (answer == kNone || d_.at(answer).outcome == "failed" || !clean(call, asked)) return;
    const Span quiet{asked.from - 2 * d_.allowed.lateness_ns, asked.to};
    for (const Stay& stay : stays_) {
      if (stay.call == &call) continue;
      const bool asks = asking(*stay.call).meets(quiet);
      const bool has = stay.from != kNever && Span{stay.from, keeps_until(stay, 0)}.meets(quiet);
      if (asks || has) return;
    }
    ++f.checked;
    if (call.granted != nullptr) return;
    violate(f, caller(call) + " did not get it, although it was free",
            {call.session->ask, answer});
  }

  static std::string caller(const WorkerCall& call) {
    return "lock '" + call.ask->name + "': an acquire of " + *call.process;
  }
  static std::string left_by(const Stay* stay) {
    if (stay == nullptr) return "";
    return ", since " + *stay->call->process +
           (stay->lease_ns == 0 ? " released it" : "'s lease was over");
  }

  const Digest& d_;
  const Promises& promises_;
  const std::vector<WorkerCall>& calls_;
  const std::vector<Span>& commands_;
  std::vector<Stay> stays_;
};

}  // namespace

Finding check_worker_waits(const Digest& d, const Promises& promises, const WorkerCalls& calls) {
  Finding f = finding(Check::G7);
  const auto commands = commands_of(d);
  for (const auto& [name, all] : calls) Waits(d, promises, all, commands).check(f);
  return f;
}

}  // namespace leasehold::model

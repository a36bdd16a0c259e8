#include <algorithm>

#include "model/workers/worker_digest.hpp"

namespace leasehold::model {
namespace {

/// When a call may have had a lock, as far as other calls can tell.
struct Stay {
  const SessionDigest* call = nullptr;
  std::int64_t from = kNever;     ///< kNever: it certainly never had the lock
  std::int64_t to = kNever;       ///< when it gave the lock back, ended or died, ...
  std::int64_t lease_ns = 0;      ///< ... and how long the lock may then stay taken; 0: given back
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
  Waits(const Digest& d, const WorkerCalls::value_type& calls, const std::vector<Span>& commands)
      : d_(d), promises_(*d.promises), calls_(calls), grants_(d, calls), commands_(commands) {
    for (const SessionDigest* call : calls_) stays_.push_back(stay_of(*call));
  }

  template <typename OnTime>
  void check(Finding& f, const OnTime& on_time) const {
    for (const SessionDigest* call : calls_) {
      on_time(d_, f, *call);
      if (!promises_.passes_on_leases) continue;
      if (promises_.waits == Promises::Waits::none) {
        check_attempt(f, *call);
      } else if (!call->asked->single_attempt) {
        check_waiter(f, *call);
      }
    }
  }

 private:
  static Index answer_of(const SessionDigest& call) {
    return call.granted != kNone ? call.granted : call.ended;
  }
  [[nodiscard]] std::int64_t death_of(const SessionDigest& call) const {
    return d_.process_of[call.process]->alive_until;
  }
  /// From the call to its answer, or to the end.
  [[nodiscard]] Span asking(const SessionDigest& call) const {
    const Index end = answer_of(call);
    const auto unanswered = std::min(death_of(call), d_.finished_ns);
    return {call.asked.at_ns, end == kNone ? unanswered : d_.at(end).at_ns};
  }
  /// Whether answers in this span came on time, and nothing happened that they do not say.
  [[nodiscard]] bool clean(const SessionDigest& call, Span span) const {
    return d_.disturbed(call.process, span) == nullptr && d_.ran_throughout(call.process, span);
  }

  [[nodiscard]] Stay stay_of(const SessionDigest& call) const {
    const Span asked = asking(call);
    const Index answer = answer_of(call);
    const bool said = answer != kNone && clean(call, asked);
    const auto died = death_of(call);
    Stay stay{.call = &call, .from = said ? asked.to - d_.allowed.lateness_ns : asked.from};
    if (call.granted == kNone && (answer != kNone || died != kNever)) {
      // A call that timed out or failed may have got the lock a moment too late.
      if (said && d_.at(answer).outcome == "refused") stay.from = kNever;
      leave_behind(stay, asked.to);
    } else if (call.granted != kNone && call.released != kNone) {
      stay.to = d_.at(call.released).at_ns;
      if (d_.at(call.released).outcome == "unknown") leave_behind(stay, stay.to);
    } else if (call.granted != kNone && died != kNever) {
      stay.died_holding = call.release == kNone;
      leave_behind(stay, died);
    }
    return stay;
  }

  /// How much longer than a lease it may last: the margin that its author promises for differing
  /// clocks, and how far faults put those of two primaries apart. None: they were put apart by more
  /// than that, or by an unknown amount.
  [[nodiscard]] std::optional<std::int64_t> margins_ms(const SessionDigest& call) const {
    const auto promised = promises_.clock_margin_ms.value_or(0);
    if (d_.clocks_moved.all().empty()) return promised;
    const auto apart = call.asked->clock_margin_ms;
    return apart > 0 && apart <= promised ? std::optional(promised + apart) : std::nullopt;
  }

  /// A command that was on its way when links or servers were disturbed may be executed until the
  /// end of that fault.
  void leave_behind(Stay& stay, std::int64_t end) const {
    const auto& call = *stay.call;
    const Span* fault = nullptr;
    const auto meets = [&] {
      fault = d_.disturbed(call.process, {call.asked.at_ns, end + 1});
      return end < kNever && fault != nullptr && fault->to > end;
    };
    while (meets()) end = fault->to;
    const auto margins = margins_ms(call);
    const auto leases = promises_.passes_on_leases.value_or(0);
    stay.to = margins && promises_.passes_on_leases ? end : kNever;
    stay.lease_ns = margins.value_or(0) * kMs +
                    static_cast<std::int64_t>(
                        leases * static_cast<double>(call.asked->expiry_ms * kMs));
  }

  /// Until when it may keep the lock from a call that waits since `waits_from`, if no call that
  /// began after it had the lock before: a waiting call may count the lease of a dead holder from
  /// the begin of its own wait.
  [[nodiscard]] std::int64_t keeps_until(const Stay& stay, std::int64_t waits_from) const {
    if (stay.to == kNever || stay.lease_ns == 0) return stay.to;
    const Index next = grants_.first_after(stay.to);
    const auto least = std::max(stay.to, waits_from) + stay.lease_ns;
    return next == kNone ? least : std::min(least, d_.fact(next).at_ns);
  }

  /// When this call waited and no other call can have had the lock; and the stay before that.
  struct Gap {
    Span span;
    const Stay* before = nullptr;
  };
  [[nodiscard]] std::vector<Gap> gaps(const SessionDigest& call) const {
    const Span asked = asking(call);
    std::vector<std::pair<Span, const Stay*>> taken;
    for (const Stay& stay : stays_) {
      if (stay.call->asked.at_ns > asked.to) break;
      if (stay.call == &call || stay.from == kNever) continue;
      const Span span{stay.from, keeps_until(stay, asked.from)};
      if (span.to > asked.from && span.from < asked.to) taken.emplace_back(span, &stay);
    }
    std::sort(taken.begin(), taken.end(),
              [](const auto& a, const auto& b) { return a.first.from < b.first.from; });
    std::vector<Gap> out;
    Gap gap{asked};
    for (const auto& [span, stay] : taken) {
      if (span.from > gap.span.from) out.push_back({{gap.span.from, span.from}, gap.before});
      if (span.to > gap.span.from) gap = {{span.to, asked.to}, stay};
    }
    if (gap.span.from < asked.to) out.push_back(gap);
    return out;
  }

  /// An attempt that came too soon, a pause that ends late, and an attempt that finds the lock
  /// free: each may take as long as the slowest command of other calls meanwhile. kNever: half of
  /// those commands take so long that the attempts of a call with such a lease may all time out.
  [[nodiscard]] std::int64_t latest_in(const Gap& gap, const SessionDigest& call) const {
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
    const bool slow = took[took.size() / 2] > call.asked->expiry_ms * kMs / kCommandsOfALease;
    return slow ? kNever : std::max(usual, latest(took.back()));
  }

  void check_waiter(Finding& f, const SessionDigest& call) const {
    const Span asked = asking(call);
    for (const Gap& gap : gaps(call)) {
      const auto latest = latest_in(gap, call);
      const bool waits = gap.span.to > latest;
      const bool got_it = gap.span.to == asked.to && call.granted != kNone;
      if (!waits && !got_it) continue;
      const Span window{gap.span.from, std::min(latest, gap.span.to)};
      if (const Span* fault = d_.disturbed(call.process, window)) {
        excuse(f, fault->why);
        continue;
      }
      if (gap.before != nullptr && gap.before->died_holding) ++f.counts["bounded_takeovers"];
      check_bound(d_, f,
                  {gap.span.from, latest, gap.span.to, kNever,
                   d_.delays(call.process, Needs::servers)},
                  [&] {
                    return caller(call) + " waited " + ms(gap.span.to - gap.span.from) +
                           " for it while it was free" + left_by(gap.before);
                  },
                  {gap.before == nullptr ? kNone : gap.before->call->granted, call.ask,
                   answer_of(call)});
    }
  }

  /// A call that does not wait gets a lock that no call has and no other call asks for.
  void check_attempt(Finding& f, const SessionDigest& call) const {
    const Span asked = asking(call);
    const Index answer = answer_of(call);
    if (answer == kNone || d_.at(answer).outcome == "failed" || !clean(call, asked)) return;
    const Span quiet{asked.from - 2 * d_.allowed.lateness_ns, asked.to};
    const bool alone = std::none_of(stays_.begin(), stays_.end(), [&](const Stay& stay) {
      const bool has = stay.from != kNever && Span{stay.from, keeps_until(stay, 0)}.meets(quiet);
      return stay.call != &call && (has || asking(*stay.call).meets(quiet));
    });
    if (!alone) return;
    ++f.checked;
    if (call.granted != kNone) return;
    violate(f, caller(call) + " did not get it, although it was free", {call.ask, answer});
  }

  [[nodiscard]] std::string caller(const SessionDigest& call) const {
    return "lock '" + d_.name(call.asked.name) + "': an acquire of " +
           d_.process_name(call.process);
  }
  [[nodiscard]] std::string left_by(const Stay* stay) const {
    if (stay == nullptr) return "";
    return ", since " + d_.process_name(stay->call->process) +
           (stay->lease_ns == 0 ? " released it" : "'s lease was over");
  }

  const Digest& d_;
  const Promises& promises_;
  const WorkerCalls::value_type& calls_;
  const LaterGrants grants_;
  const std::vector<Span>& commands_;
  std::vector<Stay> stays_;
};

}  // namespace

void check_waits(const Digest& d, Finding& f,
                 void (*on_time)(const Digest&, Finding&, const SessionDigest&)) {
  const auto commands = commands_of(d);
  for (const auto& calls : worker_calls(d)) Waits(d, calls, commands).check(f, on_time);
}

}  // namespace leasehold::model

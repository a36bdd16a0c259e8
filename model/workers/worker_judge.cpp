#include "model/workers/worker_judge.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <ranges>
#include <set>
#include <utility>

#include "model/history/from_outside.hpp"

namespace leasehold::model {
namespace {

using Calls = std::vector<const SessionDigest*>;

/// When its user may have ceased to rely on it at the earliest: it released, was notified of its
/// loss, was answered no, or was dead. A loss without a stamp may have been reported at once.
std::int64_t relied_until(const Digest& d, const SessionDigest& s) {
  auto end = std::min({d.at(s.granted).deadline_ns, d.time_of(s.release),
                       d.time_of(d.process_of[s.process]->crash)});
  if (s.notified != kNone) end = std::min(end, d.at(s.notified).sent_ns);
  if (s.answers.denied != kNone) end = std::min(end, d.at(s.answers.denied).first_asked_ns);
  return end;
}

/// Adds what a grant says to the answers of `held()`.
void believe_grant(const Digest& d, SessionDigest& s) {
  s.over_ns = s.answers.first_no_ns;
  if (s.granted == kNone) return;
  const auto from = d.at(s.granted).at_ns;
  const auto until = relied_until(d, s);
  if (s.answers.last_yes_ns >= from || until > from) {
    s.answers.first_yes_ns = std::min(s.answers.first_yes_ns, from);
    s.answers.first = s.granted;
  }
  if (until <= from || until <= s.answers.last_yes_ns) return;
  s.answers.last_yes_ns = until;
  s.answers.last = s.granted;
}

/// From when on no command of the call can be executed any more.
std::int64_t over_by(const Digest& d, const SessionDigest& call) {
  if (call.granted != kNone) return d.at(call.granted).at_ns;
  const Index crash = d.process_of[call.process]->crash;
  const Index end = call.ended != kNone ? call.ended : crash;
  if (end == kNone) return kNever;
  if (call.ended != kNone && d.at(end).outcome == "refused") return d.at(end).at_ns;
  // Commands on their way may arrive until the end of a fault of links or servers.
  const auto late = d.at(end).at_ns + d.allowed.lateness_ns;
  return d.disturbed(call.process, {call.asked.at_ns, late}) != nullptr ? kNever : late;
}

/// Finds the call of the first write of each owner of one name. Each grant comes with such a write.
/// An owner that is written again for another holding has no call.
class Attribution {
 public:
  Attribution(const Digest& d, const Calls& calls, const std::vector<Change>& changes) : d_(d) {
    std::set<Id> seen;
    for (const Change& c : changes) {
      if (c.gone) continue;
      puts_.push_back(c.event);
      if (seen.insert(c.owner).second) firsts_.push_back(c.event);
    }
    for (const SessionDigest* call : calls) {
      if (call->granted != kNone) left_.emplace_back(call, possible(firsts_, *call));
    }
    while (settle()) {
    }
  }

  [[nodiscard]] bool is_first(Index put) const {
    return std::ranges::find(firsts_, put) != firsts_.end();
  }
  /// The call that certainly wrote this, the first write of its owner; null: not certain.
  [[nodiscard]] const SessionDigest* of(Index first) const {
    const auto found = writers_.find(first);
    const bool certain = found != writers_.end() && !doubtful_.contains(d_.fact(first).owner);
    return certain ? found->second : nullptr;
  }

 private:
  /// The puts come in the order in which they were written and read.
  [[nodiscard]] std::vector<Index> possible(const std::vector<Index>& puts,
                                            const SessionDigest& call) const {
    const auto begin = std::ranges::partition_point(
        puts, [&](Index put) { return d_.at(put).at_ns < call.asked.at_ns; });
    const auto end = std::find_if(begin, puts.end(), [&](Index put) {
      return d_.at(put).from_ns > d_.at(call.granted).at_ns;
    });
    return {begin, end};
  }

  /// A call with one write left has that write, and no other call has it. If none is left, perhaps
  /// it had any other write. From the last call on; whether something became certain.
  bool settle() {
    bool settled = false;
    for (auto& [call, left] : std::views::reverse(left_)) {
      if (call == nullptr) continue;
      std::erase_if(left, [this](Index put) { return writers_.contains(put); });
      if (left.size() > 1) continue;
      if (left.empty()) {
        for (const Index put : possible(puts_, *call)) doubtful_.insert(d_.fact(put).owner);
      } else {
        writers_[left.front()] = call;
      }
      call = nullptr;
      settled = true;
    }
    return settled;
  }

  const Digest& d_;
  std::vector<Index> puts_, firsts_;
  /// First writes that may be a call's. Null: it is settled.
  std::vector<std::pair<const SessionDigest*, std::vector<Index>>> left_;
  std::map<Index, const SessionDigest*> writers_;
  std::set<Id> doubtful_;  ///< owners
};

/// Gives the writes of each owner whose call is known a lockId.
void set_writers(Digest& d, const Attribution& calls, std::vector<Change>& changes) {
  Id standing = kNoText;
  Id lock_id = kNoText;
  for (Change& c : changes) {
    if (c.gone || c.owner != standing) lock_id = kNoText;
    const auto* call = c.gone || c.owner == standing ? nullptr : calls.of(c.event);
    standing = c.gone ? kNoText : c.owner;
    if (call != nullptr) {
      lock_id = static_cast<Id>(d.writers.size());
      d.writers.push_back({call->ask, call->granted});
      d.facts.lock_ids.push_back(d.at(c.event).owner);
      d.facts.all[call->granted].lock_id = lock_id;
    }
    if (!c.gone) c.lock_id = d.facts.all[c.event].lock_id = lock_id;
  }
}

/// Whether the holder itself may have given it up by then, as far as its user knows.
bool may_have_given_up(const Digest& d, const SessionDigest& s, const Event& change) {
  const auto by = [&](Index i) { return i != kNone && d.at(i).at_ns <= change.at_ns; };
  const bool told = s.notified != kNone && d.at(s.notified).sent_ns <= change.at_ns;
  const bool denied =
      s.answers.denied != kNone && d.at(s.answers.denied).first_asked_ns <= change.at_ns;
  const Index end = d.process_of[s.process]->crash;
  return by(s.release) || told || denied || (by(end) && d.at(end).kind != Kind::crash);
}

/// The change may be older than the grant, or an attempt that the holder gave up before the grant
/// may have been cleaned up after it: then nothing is decided.
bool is_decided(const Digest& d, const SessionDigest& s, const Event& change) {
  const Span attempts{s.asked.at_ns, d.at(s.granted).at_ns};
  return change.from_ns >= attempts.to && d.disturbed(s.process, attempts) == nullptr &&
         d.ran_throughout(s.process, attempts);
}

void set_end(const Digest& d, const Calls& calls, const Attribution& writers, Tenure& t) {
  const SendDigest& sent = d.writer(t.last_put);
  if (sent.send == kNone || t.next == kNone) return;
  const SessionDigest& holder = d.session_of(d.fact(sent.send));
  const Event& change = d.at(t.next);
  t.decided = is_decided(d, holder, change);
  // A holder with a clock that was moved may extend into the past.
  const bool own = t.next_gone && d.fact(t.next).owner == t.owner && !d.dates_hold;
  t.given_up = own || d.disks_lost || may_have_given_up(d, holder, change);
  t.acquired = !t.next_gone && (writers.is_first(t.next) ||
                                std::ranges::any_of(calls, [&](const auto* call) {
                                  return call != &holder && call->asked.at_ns <= change.at_ns &&
                                         over_by(d, *call) >= change.from_ns;
                                }));
}

/// Finds the first grant of all calls for one name that began after a time and exclude another.
class LaterGrants {
 public:
  /// REQUIRES: the calls outlive it.
  LaterGrants(const Digest& d, const Calls& calls) : calls_(calls) {
    for (const bool reads : {false, true}) {
      auto& first = first_[reads ? 1 : 0];
      first.resize(calls.size() + 1, kNone);
      for (std::size_t i = calls.size(); i-- > 0;) {
        const bool excludes = rules::excludes(reads, calls[i]->asked->shared);
        const Index granted = excludes ? calls[i]->granted : kNone;
        first[i] = d.time_of(granted) < d.time_of(first[i + 1]) ? granted : first[i + 1];
      }
    }
  }
  /// kNone: there is none.
  [[nodiscard]] Index first_after(std::int64_t at_ns, const SessionDigest& excluded) const {
    const auto later = std::ranges::partition_point(
        calls_, [&](const SessionDigest* call) { return call->asked.at_ns <= at_ns; });
    return first_[excluded.asked->shared ? 1 : 0][static_cast<std::size_t>(later - calls_.begin())];
  }

 private:
  const Calls& calls_;
  std::array<std::vector<Index>, 2> first_;  ///< of each call and all later ones; 1: of a reader
};

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
  Waits(const Digest& d, const Calls& calls, const std::vector<Span>& commands)
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
    const Index next = grants_.first_after(stay.to, *stay.call);
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
    std::ranges::sort(taken, {}, [](const auto& one) { return one.first.from; });
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
    std::ranges::sort(took);
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
                  caller(call) + " waited " + ms(gap.span.to - gap.span.from) +
                      " for it while it was free" + left_by(gap.before),
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
    const bool alone = std::ranges::none_of(stays_, [&](const Stay& stay) {
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
  const Calls& calls_;
  const LaterGrants grants_;
  const std::vector<Span>& commands_;
  std::vector<Stay> stays_;
};

Finding check_protocol(const Digest& d) {
  Finding f = finding(Check::protocol);
  for (Index i = 0; i < d.history->size(); ++i) {
    const Event& e = d.at(i);
    if (e.kind == Kind::start) ++f.checked;
    if (e.kind != Kind::protocol) continue;
    const auto why = e.process + ": " + e.message;
    if (e.outcome != kNeverReady) {
      violate(f, why, {i});
    } else {
      f.leave_open(Open::other, why);
    }
  }
  return f;
}

bool is_promised(const Promises& p, Check guarantee) {
  switch (guarantee) {
    case Check::G3:
    case Check::G4: return p.tokens == Promises::Tokens::rising;
    case Check::G5: return p.tells_loss;
    case Check::G7: return p.waits != Promises::Waits::none || p.passes_on_leases;
    case Check::G8: return p.passes_on_leases.has_value();
    default: return true;
  }
}

/// Why it is not checked; empty: it is checked.
std::string why_unchecked(const Promises& p, Check guarantee) {
  const bool unseen = kByDocuments.contains(guarantee) && !p.document;
  if (unseen || guarantee == Check::G9) return "not checked";
  const bool undated = guarantee == Check::G8 && p.document->expires.empty();
  return undated ? "not checked (document.expires is missing)" : "";
}

}  // namespace

Lists<const SessionDigest*> worker_calls(const Digest& d) {
  Lists<const SessionDigest*> calls(d.facts.names.size());
  for (const SessionDigest& s : d.sessions) {
    if (s.ask != kNone) calls[s.asked.name].push_back(&s);
  }
  for (auto& all : calls) {
    std::ranges::stable_sort(all, {}, [](const SessionDigest* one) { return one->asked.at_ns; });
  }
  return calls;
}

Digest worker_digest(const History& history, const Promises& promises) {
  Digest d = digest(history);
  d.promises = &promises;
  d.of_a_document = true;
  d.dates_hold = true;
  for (const Index i : d.faults) {
    if (d.at(i).fault.find("clock") != std::string::npos) d.dates_hold = false;
    if (d.at(i).fault == "lost-data") d.disks_lost = true;
  }
  const auto calls = worker_calls(d);
  for (SessionDigest& s : d.sessions) believe_grant(d, s);
  for (Id name = 0; name < calls.size(); ++name) {
    const LaterGrants grants(d, calls[name]);
    for (const SessionDigest* s : calls[name]) {
      if (s->granted == kNone) continue;
      d.sessions[s->id].taken = grants.first_after(d.fact(s->granted).at_ns, *s);
    }
    if (!promises.document || calls[name].empty()) continue;
    const Attribution writers(d, calls[name], d.truth[name]);
    set_writers(d, writers, d.truth[name]);
    for (Tenure& t : d.tenures[name]) set_end(d, calls[name], writers, t);
  }
  return d;
}

void check_waits(const Digest& d, Finding& f,
                 void (*on_time)(const Digest&, Finding&, const SessionDigest&)) {
  const auto commands = commands_of(d);
  for (const auto& calls : worker_calls(d)) Waits(d, calls, commands).check(f, on_time);
}

std::vector<Finding> judge_worker(const History& history, const Promises& promises) {
  const Digest d = worker_digest(history, promises);
  using Checker = Finding (*)(const Digest&);
  constexpr std::pair<Check, Checker> kCheckers[] = {
      {Check::G1, check_leases},      {Check::G2, check_exclusion},
      {Check::G3, check_fence},       {Check::G4, check_token_order},
      {Check::G5, check_loss_notified}, {Check::G6, check_ownership},
      {Check::G7, check_liveness},    {Check::G8, check_cleanup}};
  std::vector<Finding> findings;
  for (const auto& [check, checker] : kCheckers) {
    if (!is_promised(promises, check) || !why_unchecked(promises, check).empty()) continue;
    Finding f = checker(d);
    if (!d.oplog_read && kByDocuments.contains(check)) {
      f.leave_open(Open::unread, "the server's oplog was not read to its end");
    }
    findings.push_back(std::move(f));
  }
  findings.push_back(check_protocol(d));
  for (Finding& f : findings) {
    if (f.checked == 0) f.leave_open(Open::never_tested, kNeverTested);
  }
  return findings;
}

std::vector<std::string> left_out(const Promises& promises) {
  std::vector<std::string> all;
  for (const Check guarantee : kPromised) {
    const auto why =
        is_promised(promises, guarantee) ? why_unchecked(promises, guarantee) : "not promised";
    if (!why.empty()) all.push_back(std::string(to_string(guarantee)) + " " + why);
  }
  return all;
}

}  // namespace leasehold::model

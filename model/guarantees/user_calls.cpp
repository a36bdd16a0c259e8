#include "model/guarantees/user_calls.hpp"

#include <algorithm>
#include <optional>

namespace leasehold::model {
namespace {

std::string told(const Digest& d, const Fact& ask, std::size_t count) {
  return "a call of " + d.process_name(ask.process) + " for " + std::to_string(count) +
         " locks at once";
}

/// What explains that one of its locks was lost while it waited for others: a delay in the lease
/// before the loss. None: nothing.
std::optional<Excuse> explained_loss(const Digest& d, const UserCall& call,
                                     const std::vector<Index>& asked) {
  const Span waited{call.ask.at_ns, d.fact(call.ended).at_ns};
  const auto lease = call.ask->expiry_ms * kMs + drift_of(call.ask);
  for (const SessionDigest& s : d.sessions) {
    if (s.process != call.ask.process || s.lost == kNone) continue;
    const Fact& lost = d.fact(s.lost);
    const bool its = std::ranges::any_of(asked,
                                         [&](Index i) { return d.fact(i).name == lost.name; });
    if (!its || lost.at_ns < waited.from || lost.at_ns > waited.to) continue;
    const Span before{lost.at_ns - lease, lost.at_ns};
    const Span* delay = d.delays(call.ask.process, Needs::servers).first_in(before);
    if (delay != nullptr) return delay->why;
  }
  return std::nullopt;
}

/// A longest holding may end while it waits. A set may lose its majority without a fault.
void check_served_when_healed(const Digest& d, Finding& f, const UserCall& call,
                              const std::vector<Index>& asked) {
  if (!call.ask->healed || call.ended == kNone) return;
  ++f.counts["healed_all_calls"];
  if (d.fact(call.ended).outcome == Outcome::granted) return;
  const auto count = asked.size();
  if (d.at(call.ended).outcome == "unavailable") {
    if (call.ask->max_holding_ms > 0) return;
    if (const auto why = explained_loss(d, call, asked)) return excuse(f, *why);
  }
  check_not_in_vain(d, f, call, told(d, call.ask, count) + " did not get them");
}

using Grants = std::map<std::tuple<Id, Id, std::int64_t>, const SessionDigest*>;

/// By process, lock and token.
Grants grants_of(const Digest& d) {
  Grants grants;
  for (const SessionDigest& s : d.sessions) {
    if (s.granted == kNone) continue;
    const Fact& granted = d.fact(s.granted);
    grants[{granted.process, granted.name, d.at(s.granted).token}] = &s;
  }
  return grants;
}

/// A lock that was lost while it waited for others is not returned as held.
void check_returned(const Digest& d, Finding& f, const Grants& grants, Index ended) {
  const Fact& end = d.fact(ended);
  if (end.outcome != Outcome::granted) return;
  const auto grant = grants.find({end.process, end.name, d.at(ended).token});
  if (grant == grants.end()) {
    return violate(
        f, subject(d, ended) + " was given it together with others, and was never granted it",
        {ended});
  }
  ++f.checked;
  const SessionDigest& s = *grant->second;
  if (s.lost == kNone) return;
  const Span since{d.fact(s.lost).at_ns, end.at_ns};
  const auto latest = since.from + d.allowed.lateness_ns;
  if (since.to <= latest) return;
  check_bound(d, f,
              {since.from, latest, since.to, kNever, d.delays(end.process, Needs::process)},
              subject(d, ended) + " was given it together with others " +
                  ms(since.to - since.from) + " after it was lost",
              {s.granted, s.lost, ended});
}

/// A call looks at all slots about once a second, by Semaphore's own promise.
constexpr std::int64_t kLookEvery_ms = 1'500;
/// A single attempt, a look and another attempt: what a call does before it queues anywhere.
constexpr std::int64_t kFirstCommands = 3;

/// A call, and the times by which it has to act.
struct Call {
  const PermitCall* events;
  const Fact& ask;
  Span waited;
  std::int64_t looks_within;  ///< a look at all slots and an attempt at one, while it waits
};

std::string told(const Digest& d, const Call& call) {
  return "semaphore '" + d.name(call.ask.name) + "': a call of " +
         d.process_name(call.ask.process);
}

Call call_of(const Digest& d, const PermitCall& events) {
  const Fact& ask = d.asked(events);
  const auto ended = events.ended == kNone ? d.finished_ns : d.fact(events.ended).at_ns;
  // The first commands may have to end before it looks again, and so may an attempt in vain.
  const auto commands = (kFirstCommands + 2) * ask->operation_timeout_ms;
  return {&events, ask, {ask.at_ns, ended}, at_most(d, ask, kLookEvery_ms + commands)};
}

void check_served_when_healed(const Digest& d, Finding& f, const UserCall& call,
                              const Call& permit) {
  if (!call.ask->healed || call.ended == kNone) return;
  ++f.counts["healed_permits"];
  if (d.fact(call.ended).outcome == Outcome::granted) return;
  check_not_in_vain(d, f, call, told(d, permit) + " got no permit");
}

/// When a slot was free, for long.
struct Free : Span {
  Index from_event = kNone, to_event = kNone;
};

std::vector<Free> long_free(const Digest& d, Id slot, std::int64_t least) {
  std::vector<Free> all;
  const auto add = [&](std::int64_t from, Index begins, Index put) {
    const auto to = executed_from(d, put);
    if (to - from > least) all.push_back({{from, to}, begins, put});
  };
  const auto& changes = d.truth[slot];
  add(0, kNone, changes.empty() ? kNone : changes.front().event);
  for (const Tenure& t : d.tenures[slot]) {
    if (t.next_gone) add(d.fact(t.next).at_ns, t.next, t.next_put);
  }
  return all;
}

/// What delays the looks and attempts of this call.
MergedSpans delays_of(const Digest& d, const Call& call, const std::vector<Waiters>& waiters) {
  const Id process = call.ask.process;
  auto all = d.delays(process, Needs::servers).all();
  for (const Id slot : call.events->slots) {
    const auto found = waiters[slot].delays.find(process);
    if (found == waiters[slot].delays.end()) continue;
    all.insert(all.end(), found->second.all().begin(), found->second.all().end());
  }
  return MergedSpans(std::move(all));
}

/// No slot of its semaphore stays free while it waits at another.
void check_free_slots(const Digest& d, Finding& f, const Call& call,
                      const std::vector<Waiters>& waiters,
                      const std::vector<std::vector<Free>>& free) {
  if (call.ask->single_attempt || !d.oplog_read) return;
  const auto until = std::min(call.waited.to, d.process_of[call.ask.process]->alive_until);
  if (call.waited.from + call.looks_within <= until) {
    ++f.checked;
    ++f.counts["permit_waits"];
  }
  const auto delays = delays_of(d, call, waiters);
  const auto check = [&](const Free& span) {
    const auto from = std::max(span.from, call.waited.from);
    if (span.to <= from || from + call.looks_within > until) return;
    check_bound(d, f, {from, from + call.looks_within, span.to, until, delays},
                told(d, call) + " waited, and left a slot free for more than " +
                    ms(call.looks_within),
                {span.from_event, call.events->asked, span.to_event});
  };
  if (static_cast<std::int64_t>(call.events->slots.size()) < d.at(call.events->asked).count) {
    check({{0, kNever}});  // one that no command ever named
  }
  for (const Id slot : call.events->slots) {
    for (const Free& span : free[slot]) check(span);
  }
}

}  // namespace

AllCallTimes::AllCallTimes(const Digest& d) {
  for (const AllCall& call : d.all_calls) {
    const auto ended = call.ended.empty() ? kNever : d.fact(call.ended.front()).at_ns;
    for (const Index i : call.asked) {
      const Fact& ask = d.fact(i);
      calls_[{ask.process, ask.name}].push_back({{ask.at_ns, ended}, d.asked(call)->healed});
    }
  }
}

std::vector<AllCallTimes::Times> AllCallTimes::at(Id process, Id name, std::int64_t at_ns) const {
  std::vector<Times> all;
  const auto calls = calls_.find({process, name});
  if (calls == calls_.end()) return all;
  for (const Times& call : calls->second) {
    if (call.from <= at_ns && at_ns <= call.to) all.push_back(call);
  }
  return all;
}

std::int64_t AllCallTimes::user_has_from(Id process, Id name, std::int64_t granted_ns) const {
  auto from = granted_ns;
  for (const Times& call : at(process, name, granted_ns)) from = std::max(from, call.to);
  return from;
}

bool AllCallTimes::began_in_faults(const Fact& ask) const {
  const auto calls = at(ask.process, ask.name, ask.at_ns);
  return std::ranges::any_of(calls, [](const Times& call) { return !call.healed; });
}

void check_all_calls(const Digest& d, Finding& f) {
  if (d.all_calls.empty()) return;
  const auto grants = grants_of(d);
  f.counts["all_calls"] += static_cast<std::int64_t>(d.all_calls.size());
  for (const AllCall& call : d.all_calls) {
    const auto count = call.asked.size();
    const Index ended = call.ended.empty() ? kNone : call.ended.front();
    const UserCall one{d.asked(call), call.asked.front(), ended, static_cast<std::int64_t>(count)};
    check_ends_on_time(d, f, one, told(d, one.ask, count));
    check_served_when_healed(d, f, one, call.asked);
    for (const Index end : call.ended) check_returned(d, f, grants, end);
    if (ended != kNone && d.at(ended).outcome == "unavailable") {
      ++f.counts["lost_while_others_waited"];
    }
  }
}

void check_permit_calls(const Digest& d, Finding& f, const std::vector<Waiters>& waiters) {
  std::vector<Call> calls;
  for (const PermitCall& events : d.permit_calls) calls.push_back(call_of(d, events));
  if (calls.empty()) return;
  const auto least = std::ranges::min_element(calls, {}, &Call::looks_within)->looks_within;
  std::vector<std::vector<Free>> free(d.facts.names.size());
  for (Id name = 0; name < free.size(); ++name) {
    if (d.is_slot[name]) free[name] = long_free(d, name, least);
  }
  f.counts["permit_calls"] += static_cast<std::int64_t>(calls.size());
  for (const Call& call : calls) {
    const UserCall one{call.ask, call.events->asked, call.events->ended, kFirstCommands};
    check_ends_on_time(d, f, one, told(d, call));
    check_served_when_healed(d, f, one, call);
    check_free_slots(d, f, call, waiters, free);
  }
}

}  // namespace leasehold::model

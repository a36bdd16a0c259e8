#include "model/guarantees/user_calls.hpp"

#include <algorithm>
#include <string>

namespace leasehold::model {
namespace {

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
  check_not_in_vain(d, f, call, [&] { return told(d, permit) + " got no permit"; });
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
                [&] {
                  return told(d, call) + " waited, and left a slot free for more than " +
                         ms(call.looks_within);
                },
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

void check_permit_calls(const Digest& d, Finding& f, const std::vector<Waiters>& waiters) {
  std::vector<Call> calls;
  for (const PermitCall& events : d.permit_calls) calls.push_back(call_of(d, events));
  if (calls.empty()) return;
  const auto least = std::min_element(calls.begin(), calls.end(), [](const auto& a, const auto& b) {
                       return a.looks_within < b.looks_within;
                     })->looks_within;
  std::vector<std::vector<Free>> free(d.facts.names.size());
  for (Id name = 0; name < free.size(); ++name) {
    if (d.is_slot[name]) free[name] = long_free(d, name, least);
  }
  f.counts["permit_calls"] += static_cast<std::int64_t>(calls.size());
  for (const Call& call : calls) {
    const UserCall one{call.ask, call.events->asked, call.events->ended, kFirstCommands};
    check_ends_on_time(d, f, one, [&] { return told(d, call); });
    check_served_when_healed(d, f, one, call);
    check_free_slots(d, f, call, waiters, free);
  }
}

}  // namespace leasehold::model

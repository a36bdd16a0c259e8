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
                                     const std::vector<Index>& asked, const Span& waited) {
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
  const Span waited{call.ask.at_ns, d.fact(call.ended).at_ns};
  if (d.at(call.ended).outcome == "unavailable") {
    if (call.ask->max_holding_ms > 0) return;
    if (const auto why = explained_loss(d, call, asked, waited)) return excuse(f, *why);
  }
  // Nine tenths of its time-out are longer than all turns.
  const auto latest = waited.to - (waited.to - waited.from) / 10;
  check_bound(
      d, f, {waited.from, latest, kNever, waited.to, d.delays(call.ask.process, Needs::servers)},
      told(d, call.ask, asked.size()) + " did not get them although all faults had stopped: " +
          d.at(call.ended).outcome,
      {call.asked, call.ended});
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

}  // namespace leasehold::model

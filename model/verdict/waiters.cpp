#include "model/verdict/waiters.hpp"

#include <algorithm>
#include <utility>

namespace leasehold::model {
namespace {

/// From when until when an acquire call waited, as far as it is known.
Span waiting(const Digest& d, const SessionDigest& s) {
  Span span{s.asked.at_ns, d.finished_ns};
  for (const Index end : {s.granted, s.ended}) {
    if (end != kNone) span.to = std::min(span.to, d.fact(end).at_ns);
  }
  return span;
}

/// How long a free lock may be left by a call that waits for it.
std::int64_t attempts(const Digest& d, const Asked& ask) {
  return at_most(d, ask, ask.longest_pause_ms + 2 * ask.operation_timeout_ms);
}

void add_unanswered(const Digest& d, const SessionDigest& s, std::vector<Unanswered>& all) {
  const auto longest = at_most(d, s.asked, s.asked.operation_timeout_ms);
  for (const Index attempt : d.attempts.of(s.id)) {
    const Fact& send = d.fact(attempt);
    const SendDigest& sent = d.writers[send.lock_id];
    const SendDigest command = sent.send == kNone ? SendDigest{attempt} : sent;
    if (!d.unanswered(command)) continue;
    const auto reply = command.reply == kNone ? d.finished_ns : d.fact(command.reply).at_ns;
    const auto until = std::min(reply, send.at_ns + longest);
    const bool slow = d.allowed.slow_servers || d.disturbed({send.at_ns - longest, until});
    all.push_back({send.process, {send.at_ns, until}, longest, false, slow});
  }
}

/// Adds the congestions of the processes that call for this name.
void add_congestions(const Digest& d, Waiters& name) {
  Id last = kNoText;
  for (const Waiter& call : name.calls) {
    const Id process = call.session->process;
    if (std::exchange(last, process) == process) continue;
    for (const Span& span : d.process_of[process]->congested.all()) {
      name.unanswered.push_back({process, span, 0, true});
    }
  }
}

void note_patient(const Digest& d, Waiters& name) {
  for (const Waiter& call : name.calls) {
    const bool patient = call.lives_until >= call.waited.from + call.attempts_ns;
    if (patient && !call.session->asked.single_attempt) name.patient.push_back(&call);
  }
  name.by_begin = name.patient;
  std::stable_sort(name.by_begin.begin(), name.by_begin.end(), [](const auto* a, const auto* b) {
    return a->waited.from < b->waited.from;
  });
  std::int64_t reach = 0;
  for (const Waiter* call : name.by_begin) {
    name.reach.push_back(reach = std::max(reach, call->lives_until));
  }
  name.tried.resize(name.by_begin.size() + 1);
  for (std::size_t i = name.by_begin.size(); i-- > 0;) {
    const Waiter& call = *name.by_begin[i];
    const auto tried = must_have_tried(d, name, call, call.waited.from, call.attempts_ns);
    name.tried[i] = name.tried[i + 1] + (tried ? 1 : 0);
  }
}

}  // namespace

Window while_answered(const Waiters& name, Id process, std::int64_t from, std::int64_t bound) {
  Window window{{from, from + bound}, from + bound};
  for (const Unanswered& u : name.unanswered) {
    if (u.span.from >= window.to) break;
    if (process != kNoText && u.process != process) continue;
    if (!u.congestion && !u.slow_servers && u.span.from >= from + u.longest_ns) continue;
    if (u.span.to <= from) continue;
    const auto to = u.span.to + bound;
    window.to = std::max(window.to, to);
    if (u.congestion || u.span.from >= window.uncongested) continue;
    window.uncongested = std::max(window.uncongested, to);
  }
  return window;
}

std::optional<Window> must_have_tried(const Digest& d, const Waiters& name, const Waiter& call,
                                      std::int64_t from, std::int64_t bound, Finding* excused) {
  const Asked& ask = call.session->asked;
  if (ask.single_attempt) return std::nullopt;  // it tries once
  from = std::max(from, call.waited.from);
  if (call.lives_until < from + bound) return std::nullopt;  // most end sooner
  const Window window = while_answered(name, ask.process, from, bound);
  if (call.waited.to < window.to) {
    const bool congested = call.waited.to >= window.uncongested;
    if (congested && excused != nullptr) excuse(*excused, Excuse::congestion);
    return std::nullopt;
  }
  const bool disturbed = d.disturbed(window);
  if (!disturbed && d.ran_throughout(ask.process, window)) return window;
  if (excused != nullptr) excuse(*excused, disturbed ? Excuse::disturbance : Excuse::pause);
  return std::nullopt;
}

std::vector<Waiters> waiters_by_name(const Digest& d) {
  std::vector<Waiters> names(d.facts.names.size());
  for (const SessionDigest& s : d.sessions) {
    if (s.ask == kNone) continue;
    Waiters& name = names[s.asked.name];
    const Span waited = waiting(d, s);
    const auto lives_until = std::min(waited.to, d.process_of[s.process]->known_alive_until());
    name.calls.push_back({&s, waited, lives_until, attempts(d, s.asked)});
    add_unanswered(d, s, name.unanswered);
  }
  for (Waiters& name : names) {
    add_congestions(d, name);
    std::sort(name.unanswered.begin(), name.unanswered.end(),
              [](const Unanswered& a, const Unanswered& b) { return a.span.from < b.span.from; });
    note_patient(d, name);
  }
  return names;
}

std::int64_t executed_from(const Digest& d, Index put) {
  if (put == kNone) return kNever;
  const SendDigest& sent = d.writer(put);
  const auto from = d.fact(sent.send != kNone ? sent.send : put).at_ns;
  const Index by = d.claim(put);
  if (by == kNone) return from;
  for (const SendDigest& release : d.deletes.of(d.fact(by).owner)) {
    if (release.reply == by) return std::max(from, d.fact(release.send).at_ns);
  }
  return from;
}

}  // namespace leasehold::model

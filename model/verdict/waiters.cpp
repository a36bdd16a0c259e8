#include "model/verdict/finding.hpp"

#include <algorithm>

namespace leasehold::model {
namespace {

/// From when until when an acquire call waited, as far as it is known.
Span waiting(const Digest& d, const SessionDigest& s) {
  return {s.asked.at_ns, std::min({d.finished_ns, d.time_of(s.granted), d.time_of(s.ended)})};
}

/// How long a free lock may be left by a call that waits for it.
std::int64_t attempts(const Digest& d, const Fact& ask) {
  return at_most(d, ask, ask->longest_pause_ms + 2 * ask->operation_timeout_ms);
}

/// Adds the attempts of this call that ended in vain, if something explains that.
void add_vain_attempts(const Digest& d, const SessionDigest& s, std::vector<Span>& delays) {
  const ProcessDigest& process = *d.process_of[s.process];
  const auto longest = at_most(d, s.asked, s.asked->operation_timeout_ms);
  const auto pause = at_most(d, s.asked, s.asked->longest_pause_ms);
  for (const Index attempt : d.attempts[s.id]) {
    const Index reply = d.reply_to(attempt);
    const auto outcome = reply == kNone ? Outcome::unknown : d.fact(reply).outcome;
    if (outcome == Outcome::done || outcome == Outcome::duplicate_key) continue;
    const auto sent = d.fact(attempt).at_ns;
    const auto answered = reply == kNone ? d.finished_ns : d.fact(reply).at_ns;
    const auto ended = std::min(answered, sent + longest);
    if (d.explained(process, ended)) delays.push_back({sent, ended + pause, Excuse::slow});
  }
}

/// What delays the calls for this name.
void note_delays(const Digest& d, Waiters& name) {
  if (name.calls.empty()) return;
  const auto add = [](std::vector<Span>& to, const std::vector<Span>& more) {
    to.insert(to.end(), more.begin(), more.end());
  };
  auto all = d.servers.all();
  for (auto call = name.calls.begin(); call != name.calls.end();) {
    const Id process = call->session->process;
    std::vector<Span> vain;
    for (; call != name.calls.end() && call->session->process == process; ++call) {
      add_vain_attempts(d, *call->session, vain);
    }
    add(all, vain);
    add(all, d.process_of[process]->kept.all());
    add(vain, d.delays(process, Needs::worker).all());
    add(vain, d.delays(process, Needs::servers).all());
    name.delays[process] = MergedSpans(std::move(vain));
  }
  name.anybodys = MergedSpans(std::move(all));
}

void note_patient(Waiters& name) {
  for (const Waiter& call : name.calls) {
    const bool patient = call.lives_until >= call.waited.from + call.attempts_ns;
    if (patient && !call.session->asked->single_attempt) name.patient.push_back(&call);
  }
  name.by_begin = name.patient;
  std::ranges::stable_sort(name.by_begin, {}, [](const Waiter* one) { return one->waited.from; });
  std::int64_t reach = 0;
  for (const Waiter* call : name.by_begin) {
    name.reach.push_back(reach = std::max(reach, call->lives_until));
  }
}

}  // namespace

std::vector<Waiters> waiters_by_name(const Digest& d) {
  std::vector<Waiters> names(d.facts.names.size());
  for (const SessionDigest& s : d.sessions) {
    if (s.ask == kNone) continue;
    Waiters& name = names[s.asked.name];
    const Span waited = waiting(d, s);
    const auto lives_until = std::min(waited.to, d.process_of[s.process]->alive_until);
    name.calls.push_back({&s, waited, lives_until, attempts(d, s.asked)});
  }
  for (Waiters& name : names) {
    note_delays(d, name);
    note_patient(name);
  }
  return names;
}

std::int64_t executed_from(const Digest& d, Index put) {
  if (put == kNone) return kNever;
  const SendDigest& sent = d.writer(put);
  const auto from = d.fact(sent.send != kNone ? sent.send : put).at_ns;
  const Index by = d.claim(put);
  if (by == kNone) return from;
  for (const SendDigest& release : d.deletes[d.fact(by).owner]) {
    if (release.reply == by) return std::max(from, d.fact(release.send).at_ns);
  }
  return from;
}

}  // namespace leasehold::model

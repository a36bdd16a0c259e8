#include <algorithm>

#include "model/workers/worker_checkers.hpp"

namespace leasehold::model {

WorkerCalls worker_calls(const Digest& d) {
  WorkerCalls calls;
  for (const SessionDigest& s : d.sessions) {
    if (s.ask == kNone) continue;
    const Event* granted = s.granted == kNone ? nullptr : &d.at(s.granted);
    const Event& ask = d.at(s.ask);
    calls[ask.name].push_back({&ask.process, &s, &ask, granted});
  }
  for (auto& [name, all] : calls) {
    std::stable_sort(all.begin(), all.end(), [](const WorkerCall& a, const WorkerCall& b) {
      return a.ask->at_ns < b.ask->at_ns;
    });
  }
  return calls;
}

namespace {

/// When its user may have ceased to rely on it at the earliest: it released, was notified of its
/// loss, was answered no, or was dead. A loss without a stamp may have been reported at once.
std::int64_t relied_until(const Digest& d, const SessionDigest& s) {
  auto end = d.at(s.granted).deadline_ns;
  if (s.release != kNone) end = std::min(end, d.at(s.release).at_ns);
  if (s.notified != kNone) end = std::min(end, d.at(s.notified).sent_ns);
  if (s.answers.denied != kNone) end = std::min(end, d.at(s.answers.denied).first_asked_ns);
  const Index crash = d.processes.at(d.process_name(s.process)).crash;
  return crash == kNone ? end : std::min(end, d.at(crash).at_ns);
}

}  // namespace

void believe_grants(Digest& d) {
  for (SessionDigest& s : d.sessions) {
    if (s.granted == kNone) continue;
    const auto from = d.at(s.granted).at_ns;
    const auto until = relied_until(d, s);
    if (s.answers.last_yes_ns >= from || until > from) {
      s.answers.first_yes_ns = std::min(s.answers.first_yes_ns, from);
      s.answers.first = s.granted;
    }
    if (until <= from || until <= s.answers.last_yes_ns) continue;
    s.answers.last_yes_ns = until;
    s.answers.last = s.granted;
  }
}

/// The lock was granted during the call, however late its answer came.
void check_grants_exclusive(const WorkerCalls& calls, Finding& f) {
  for (const auto& [name, all] : calls) {
    std::vector<const WorkerCall*> holders;
    for (const WorkerCall& call : all) {
      if (call.granted != nullptr && call.session->answers.held()) holders.push_back(&call);
    }
    const auto held = [](const WorkerCall* call) { return *call->session->answers.held(); };
    std::sort(holders.begin(), holders.end(),
              [&](const auto* a, const auto* b) { return held(a).from < held(b).from; });
    auto next = holders.begin();
    const WorkerCall* longest = nullptr;  // of the calls that held it when this one began
    for (const WorkerCall& call : all) {
      for (; next != holders.end() && held(*next).from < call.ask->at_ns; ++next) {
        if (longest == nullptr || held(*next).to > held(longest).to) longest = *next;
      }
      if (longest == nullptr || call.granted == nullptr) continue;
      const auto more = held(longest).to - call.granted->at_ns;
      if (more <= 0) continue;
      violate(f,
              "lock '" + name + "': " + *call.process + " was granted it while " +
                  *longest->process + " held it, for " + ms(more) + " more",
              {longest->session->granted, longest->session->answers.last, call.session->granted});
    }
  }
}

namespace {

void check_told(const Digest& d, Finding& f, const std::string& name, const WorkerCall& holder,
                const WorkerCall& next) {
  const SessionDigest& s = *holder.session;
  const auto taken = next.granted->at_ns;
  const auto told = s.notified == kNone ? kNever : d.at(s.notified).sent_ns;
  auto until = d.process_of[s.process]->alive_until;
  if (s.release != kNone) until = std::min(until, d.at(s.release).at_ns);
  check_bound(d, f,
              {taken, taken + d.allowed.lateness_ns, told, until,
               d.delays(s.process, Needs::process)},
              [&] {
                return "lock '" + name + "': " + *next.process + " had it, and " + *holder.process +
                       " was notified of its loss " +
                       (told == kNever ? "never" : ms(told - taken) + " later");
              },
              {s.granted, next.session->granted, s.notified});
}

/// A yes is wrong after another had the lock, and after the loss was reported.
void check_no_more(const Digest& d, Finding& f, const std::string& name, const WorkerCall& holder,
                   const WorkerCall* next) {
  const SessionDigest& s = *holder.session;
  const auto yes = s.answers.last_yes_ns;
  if (next != nullptr && yes > next->granted->at_ns) {
    violate(f,
            "lock '" + name + "': " + *holder.process + " still held it " +
                ms(yes - next->granted->at_ns) + " after " + *next->process + " had it",
            {s.granted, next->session->granted, s.answers.last});
  }
  if (s.notified == kNone || yes <= d.at(s.notified).at_ns) return;
  violate(f,
          "lock '" + name + "': " + *holder.process + " still held it " +
              ms(yes - d.at(s.notified).at_ns) + " after it was notified of its loss",
          {s.granted, s.notified, s.answers.last});
}

}  // namespace

Finding check_worker_losses(const Digest& d, const WorkerCalls& calls) {
  Finding f = finding(Check::G5);
  for (const auto& [name, all] : calls) {
    std::vector<WorkerCall> granted;
    std::copy_if(all.begin(), all.end(), std::back_inserter(granted),
                 [](const WorkerCall& c) { return c.granted != nullptr; });
    // The first grant of all later calls, found from the end.
    std::vector<const WorkerCall*> first(granted.size() + 1, nullptr);
    for (std::size_t i = granted.size(); i-- > 0;) {
      const bool sooner =
          first[i + 1] == nullptr || granted[i].granted->at_ns < first[i + 1]->granted->at_ns;
      first[i] = sooner ? &granted[i] : first[i + 1];
    }
    for (const WorkerCall& holder : granted) {
      f.counts["asked"] += holder.session->answers.yes + holder.session->answers.no;
      f.counts["notified"] += holder.session->notified == kNone ? 0 : 1;
      const auto later = std::partition_point(
          granted.begin(), granted.end(), [&](const WorkerCall& c) { return !c.after(holder); });
      const WorkerCall* next = first[static_cast<std::size_t>(later - granted.begin())];
      check_no_more(d, f, name, holder, next);
      if (next != nullptr) check_told(d, f, name, holder, *next);
    }
  }
  return f;
}

}  // namespace leasehold::model

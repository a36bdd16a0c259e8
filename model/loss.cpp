#include <algorithm>

#include "model/finding.hpp"

namespace leasehold::model {
namespace {

struct Holder {
  const std::string& process;
  const SessionDigest& session;
};

/// When the lease of a grant or an extension ends at the latest, from the sending of its command.
/// What the lock itself says may only be earlier; handles of published locks know no end, and
/// shorten nothing.
std::int64_t lease_end(const Digest& d, const Holder& h, Index event) {
  const Event& e = d.at(event);
  if (h.session.ask == kNone) return e.deadline_ns;
  const Event& ask = d.at(h.session.ask);
  const auto lease =
      d.of_a_document ? ask.expiry_ms * kMs : by_our_clock(d, h.process, ask, shortest_lease(ask));
  return std::min(e.deadline_ns, e.sent_ns + lease);
}

/// When the longest holding that the caller wants is over.
std::int64_t limit(const Digest& d, const Holder& h) {
  if (h.session.ask == kNone || d.at(h.session.ask).max_holding_ms == 0) return kNever;
  const Event& ask = d.at(h.session.ask);
  return d.at(h.session.granted).sent_ns +
         by_our_clock(d, h.process, ask, ask.max_holding_ms * kMs);
}

/// The deadline after the last extension; what was granted or revived after it is reported.
std::int64_t last_deadline(const Digest& d, Finding& f, const Holder& h) {
  const SessionDigest& s = h.session;
  const auto longest = limit(d, h);
  auto deadline = std::min(lease_end(d, h, s.granted), longest);
  if (deadline <= d.at(s.granted).at_ns) {
    violate(f, h.process + ": a lease was granted that was over already", {s.granted});
  }
  for (const Index e : s.extended) {
    if (d.at(e).at_ns >= deadline) {
      violate(f, h.process + ": an extension revived a lease that was over", {s.granted, e});
    }
    deadline = std::min(std::max(deadline, lease_end(d, h, e)), longest);
  }
  return deadline;
}

/// A yes is wrong after the last lease's end, and after a no.
void check_answers(const Digest& d, Finding& f, const Holder& h, std::int64_t deadline) {
  const Answers& a = h.session.answers;
  const std::string who = "lock '" + d.at(h.session.granted).name + "': " + h.process;
  if (a.last_yes_ns > deadline) {
    const auto over = ms(a.last_yes_ns - deadline);
    violate(f, who + "'s held() was true " + over + " after its deadline",
            {h.session.granted, a.last});
  }
  if (a.revived()) {
    violate(f, who + "'s held() was true again after it was false", {a.denied, a.last});
  }
}

/// A signal without a loss, or before it.
void check_signal(const Digest& d, Finding& f, const Holder& h) {
  const SessionDigest& s = h.session;
  if (s.notified == kNone) return;
  const auto notified = d.at(s.notified).at_ns + d.allowed.lateness_ns;
  if (s.lost != kNone && d.at(s.lost).at_ns <= notified) return;
  violate(f,
          "lock '" + d.at(s.granted).name + "': " + h.process +
              " got lost() for a lock that it had not lost",
          {s.granted, s.notified});
}

void check_notified(const Digest& d, Finding& f, const Holder& h, std::int64_t deadline) {
  const SessionDigest& s = h.session;
  const ProcessDigest& process = d.processes.at(h.process);
  // A handle on its way to its user, behind other callbacks, cannot tell anything yet.
  const auto due = when_running(d, process, std::max(deadline, s.answers.first_ns));
  if (due == kNever) return;
  const auto latest = due + d.allowed.lateness_ns;
  const auto notified = s.notified == kNone ? kNever : d.at(s.notified).at_ns;
  auto until = process.known_alive_until();
  if (s.release != kNone) until = std::min(until, d.at(s.release).at_ns);
  if (notified > latest && std::min(until, d.finished_ns) <= latest) return;
  check_bound(
      d, f, {d.at(s.granted).at_ns, latest, notified, until},
      [&] {
        return "lock '" + d.at(s.granted).name + "': " + h.process + " was notified of its loss " +
               (notified == kNever ? "never" : ms(notified - deadline) + " after its deadline");
      },
      {s.granted, s.notified});
}

}  // namespace

Finding check_loss_notified(const Digest& d) {
  Finding f = finding(Guarantee::G5);
  for (const auto& [process, s] : d.sessions) {
    if (s.granted == kNone) continue;
    const Holder holder{process.first, s};
    const auto deadline = last_deadline(d, f, holder);
    f.counts["yes"] += s.answers.yes;
    f.counts["no"] += s.answers.no;
    f.counts["asked"] += s.answers.yes + s.answers.no;
    f.counts["notified"] += s.notified == kNone ? 0 : 1;
    check_signal(d, f, holder);
    if (!s.answers.any()) continue;
    check_answers(d, f, holder, deadline);
    check_notified(d, f, holder, deadline);
  }
  return f;
}

namespace {

/// The last write under this grant that the harness had read before the command was sent, if
/// nothing but such writes happened to the document since the grant, up to the time `order`.
Index still_there(const Digest& d, const Event& granted, std::int64_t sent_ns, std::int64_t order) {
  const auto truth = d.truth.find(granted.name);
  if (truth == d.truth.end()) return kNone;
  Index last = kNone;
  for (const Change& c : truth->second) {
    const Event& e = d.at(c.event);
    if (e.order > order) break;
    const bool ours = !c.gone && owner_of(e.lock_id) == granted.owner;
    const bool since_the_grant = last != kNone || e.lock_id == granted.lock_id;
    last = ours && since_the_grant ? c.event : kNone;
  }
  return last != kNone && d.at(last).at_ns < sent_ns ? last : kNone;
}

/// How many statements travelled with this one.
std::int64_t statements_of(const Digest& d, Index send) {
  const auto same = [&](Index i) {
    const Event& e = d.at(i);
    return e.kind == Kind::send && e.process == d.at(send).process &&
           e.command == d.at(send).command;
  };
  const auto close = [&](Index i) { return d.at(i).at_ns == d.at(send).at_ns; };
  std::int64_t count = 0;
  for (Index i = send; i < d.history->size() && close(i); ++i) count += same(i) ? 1 : 0;
  for (Index i = send; i-- > 0 && close(i);) count += same(i) ? 1 : 0;
  return count;
}

/// What its process had heard of the servers when it lost the lock: the newest time in a reply, and
/// the answered commands that gave it a lease: the one that won, and its extensions.
struct Heard {
  std::vector<SendDigest> leases;
  std::int64_t order = 0;
};

using Replies = std::map<std::string, std::vector<Index>>;

Heard heard_before(const Digest& d, const Replies& replies, const SessionDigest& s) {
  Heard heard;
  const Event& lost = d.at(s.lost);
  const auto own = replies.find(lost.process);
  for (const Index i : own == replies.end() ? std::vector<Index>{} : own->second) {
    if (i > s.lost) break;
    heard.order = std::max(heard.order, d.at(i).order);
  }
  const auto hear = [&](const std::string& lock_id) {
    const auto sent = d.writers.find(lock_id);
    if (sent == d.writers.end() || sent->second.reply == kNone) return;
    // One of the same instant that comes after the loss was not heard yet.
    if (d.at(sent->second.reply).outcome != "done" || sent->second.reply > s.lost) return;
    heard.leases.push_back(sent->second);
  };
  hear(d.at(s.granted).lock_id);
  for (const Index i : s.extensions) hear(d.at(i).lock_id);
  return heard;
}

/// Until when this command gave its process a lease, even by the fastest clock that is allowed.
std::int64_t given_until(const Digest& d, const Event& ask, const SendDigest& given) {
  if (d.at(given.reply).matched != statements_of(d, given.send)) return 0;
  const auto lease = shortest_lease(ask);
  const auto fastest = ask.max_drift_ppm * (lease / 1'000'000);
  return d.at(given.send).at_ns + lease - fastest;
}

/// The command that gave the longest lease. An answer counts only if it came before the end of the
/// lease that there was: a late one revives nothing.
const SendDigest* longest_lease(const Digest& d, const Event& ask,
                                std::vector<SendDigest>& leases) {
  std::sort(leases.begin(), leases.end(),
            [](const SendDigest& a, const SendDigest& b) { return a.reply < b.reply; });
  const SendDigest* longest = &leases.front();
  for (const SendDigest& given : leases) {
    const auto until = given_until(d, ask, *longest);
    if (d.at(given.reply).at_ns >= until) break;
    if (given_until(d, ask, given) > until) longest = &given;
  }
  return longest;
}

/// An extension that failed is followed by another while there is time: a lease does not run out
/// with half of it unused.
void check_asked_again(const Digest& d, Finding& f, const Holder& h) {
  const SessionDigest& s = h.session;
  const Event& lost = d.at(s.lost);
  if (s.extensions.empty()) return;
  const Index send = s.extensions.back();
  const auto sent = d.writers.find(d.at(send).lock_id);
  const Index reply = sent == d.writers.end() ? kNone : sent->second.reply;
  if (reply == kNone || d.at(reply).outcome == "done") return;
  const Span quiet{d.at(reply).at_ns, lost.at_ns};
  const auto longest = shortest_lease(d.at(s.ask)) / 2 + d.allowed.lateness_ns;
  if (quiet.to - quiet.from <= longest) return;
  if (!d.ran_throughout(h.process, quiet) || d.stalled_ns(quiet) > 0) return;
  violate(f,
          "lock '" + lost.name + "': " + h.process + " let its lease run out for " +
              ms(quiet.to - quiet.from) + " after an extension that failed",
          {s.granted, send, reply, s.lost});
}

void check_reason(const Digest& d, Finding& f, const Holder& h, const Replies& replies) {
  const SessionDigest& s = h.session;
  const Event& lost = d.at(s.lost);
  const Event& granted = d.at(s.granted);
  const std::string what = "lock '" + granted.name + "': " + h.process + " lost it ";
  if (lost.outcome == "deadline") check_asked_again(d, f, h);
  auto heard = heard_before(d, replies, s);
  if (heard.leases.empty()) return;
  if (lost.outcome == "not_owner") {
    const auto asked = d.at(heard.leases.back().send).at_ns;
    const Index there = still_there(d, granted, asked, heard.order);
    if (there == kNone) return;
    return violate(f, what + "although its document was still there", {s.granted, there, s.lost});
  }
  if (lost.outcome != "deadline") return;
  const SendDigest* longest = longest_lease(d, d.at(s.ask), heard.leases);
  const auto early = given_until(d, d.at(s.ask), *longest) - lost.at_ns;
  if (early <= 0) return;
  violate(f, what + ms(early) + " before the end of a lease that it had been given",
          {s.granted, longest->send, longest->reply, s.lost});
}

}  // namespace

Finding check_needless_loss(const Digest& d) {
  Finding f = finding(Guarantee::needless);
  if (d.of_a_document) return f;  // they lose by rules of their own
  Replies replies;
  for (Index i = 0; i < d.history->size(); ++i) {
    if (d.at(i).kind == Kind::reply) replies[d.at(i).process].push_back(i);
  }
  for (const auto& [key, s] : d.sessions) {
    if (s.granted == kNone || s.ask == kNone || (s.lost == kNone && s.release == kNone)) continue;
    ++f.checked;
    if (s.lost != kNone) check_reason(d, f, {key.first, s}, replies);
  }
  return f;
}

}  // namespace leasehold::model

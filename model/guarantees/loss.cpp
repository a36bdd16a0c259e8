#include <algorithm>
#include <ranges>

#include "model/verdict/finding.hpp"

namespace leasehold::model {
namespace {

/// When the lease of a grant or an extension ends at the latest, from the sending of its command.
/// The lock's own deadline may only be earlier; handles of published locks have none.
std::int64_t lease_end(const Digest& d, const SessionDigest& s, Index event) {
  const Fact& e = d.fact(event);
  if (s.ask == kNone) return e->deadline_ns;
  const Fact& ask = s.asked;
  const auto lease =
      d.of_a_document ? ask->expiry_ms * kMs : by_our_clock(d, ask, shortest_lease(ask));
  return std::min(e->deadline_ns, rules::deadline(e->sent_ns, lease));
}

/// When the longest holding that the caller wants is over.
std::int64_t limit(const Digest& d, const SessionDigest& s) {
  if (s.ask == kNone || s.asked->max_holding_ms == 0) return kNever;
  return d.at(s.granted).sent_ns + by_our_clock(d, s.asked, s.asked->max_holding_ms * kMs);
}

/// The deadline after the last extension. Reports a grant or an extension after the end of a lease.
std::int64_t last_deadline(const Digest& d, Finding& f, const SessionDigest& s) {
  const auto longest = limit(d, s);
  auto deadline = std::min(lease_end(d, s, s.granted), longest);
  if (deadline <= d.fact(s.granted).at_ns) {
    violate(f, d.process_name(s.process) + ": a lease was granted that was over already",
            {s.granted});
  }
  for (const Index e : d.extended[s.id]) {
    if (d.fact(e).at_ns >= deadline) {
      violate(f, d.process_name(s.process) + ": an extension revived a lease that was over",
              {s.granted, e});
    }
    deadline = std::min(std::max(deadline, lease_end(d, s, e)), longest);
  }
  return deadline;
}

/// A yes is wrong after the last lease's end, and after a no.
void check_answers(const Digest& d, Finding& f, const SessionDigest& s, std::int64_t deadline) {
  const auto* after = d.promises != nullptr ? " after its loss" : " after its deadline";
  const Answers& a = s.answers;
  if (a.last_yes_ns > deadline) {
    const auto over = ms(a.last_yes_ns - deadline);
    violate(f, subject(d, s.granted) + "'s held() was true " + over + after, {s.granted, a.last});
  }
  if (a.revived()) {
    violate(f, subject(d, s.granted) + "'s held() was true again after it was false",
            {a.denied, a.last});
  }
}

/// A handle that lost its lock before its deadline does not say yes until then.
void check_denied(const Digest& d, Finding& f, const SessionDigest& s) {
  const auto due = d.fact(s.lost).at_ns;
  if (s.answers.last_yes_ns <= due) return;
  check_bound(d, f,
              {due, due + d.allowed.lateness_ns, s.answers.last_yes_ns, kNever,
               d.delays(s.process, Needs::process)},
              subject(d, s.granted) + "'s held() was true " + ms(s.answers.last_yes_ns - due) +
                  " after it had lost it",
              {s.lost, s.answers.last});
}

/// A signal without a loss, or before it.
void check_signal(const Digest& d, Finding& f, const SessionDigest& s) {
  if (s.notified == kNone) return;
  const auto notified = d.fact(s.notified).at_ns + d.allowed.lateness_ns;
  if (s.lost != kNone && d.fact(s.lost).at_ns <= notified) return;
  violate(f, subject(d, s.granted) + " got lost() for a lock that it had not lost",
          {s.granted, s.notified});
}

void check_notified(const Digest& d, Finding& f, const SessionDigest& s, std::int64_t due,
                    std::int64_t notified) {
  const auto until = std::min(d.process_of[s.process]->alive_until, d.time_of(s.release));
  check_bound(
      d, f,
      {due, due + d.allowed.lateness_ns, notified, until, d.delays(s.process, Needs::process)},
      subject(d, s.granted) + " was notified of its loss " +
          (notified == kNever ? "never" : ms(notified - due) + " late"),
      {s.granted, s.notified});
}

/// A lock that is known by its answers is lost at the latest when another has it or, as its holder
/// said, with the signal. A signal without a stamp of its own may have been given at once.
void check_taken(const Digest& d, Finding& f, const SessionDigest& s) {
  check_answers(d, f, s, std::min(d.time_of(s.taken), d.time_of(s.notified)));
  if (s.taken == kNone) return;
  const auto notified = s.notified == kNone ? kNever : d.at(s.notified).sent_ns;
  check_notified(d, f, s, d.time_of(s.taken), notified);
}

/// The last write under this grant that the harness had read before the command was sent, if
/// nothing but such writes happened to the document since the grant, up to the time `order`.
Index still_there(const Digest& d, const Fact& granted, std::int64_t sent_ns, std::int64_t order) {
  const auto changes = d.changes_by(granted.name, order);
  // Back to the grant's own write.
  for (const Change& c : std::views::reverse(changes)) {
    if (!c.held_by(granted.owner)) return kNone;
    if (!c.wrote(granted.lock_id)) continue;
    const Index last = changes.back().event;
    return d.fact(last).at_ns < sent_ns ? last : kNone;
  }
  return kNone;
}

/// What its process knew of the servers when it lost the lock: the newest time in a reply, and the
/// answered commands that gave it a lease, which are the one that won and its extensions.
struct Heard {
  std::vector<SendDigest> leases;
  std::int64_t order = 0;
};

/// By process: its replies, each with the newest time of all until then.
struct HeardReply {
  Index event;
  std::int64_t newest;
};
using Replies = std::vector<std::vector<HeardReply>>;

Replies replies_of(const Digest& d) {
  Replies all(d.process_of.size());
  for (const Index i : d.all_replies) {
    const Fact& e = d.fact(i);
    auto& own = all[e.process];
    own.push_back({i, std::max(own.empty() ? 0 : own.back().newest, e->order)});
  }
  return all;
}

Heard heard_before(const Digest& d, Replies& replies, const SessionDigest& s) {
  Heard heard;
  if (replies.empty()) replies = replies_of(d);  // few histories have losses
  const auto& own = replies[s.process];
  const auto after = std::ranges::partition_point(
      own, [&](const HeardReply& r) { return r.event <= s.lost; });
  if (after != own.begin()) heard.order = std::prev(after)->newest;
  const auto hear = [&](Index lease) {
    const SendDigest& sent = d.writer(lease);
    if (sent.send == kNone || sent.reply == kNone) return;
    // A reply at the same instant, but after the loss, was not received yet.
    if (d.fact(sent.reply).outcome != Outcome::done || sent.reply > s.lost) return;
    heard.leases.push_back(sent);
  };
  hear(s.granted);
  for (const Index i : d.extensions[s.id]) hear(i);
  return heard;
}

/// Until when this command gave its process a lease, even by the fastest clock that is allowed.
std::int64_t given_until(const Digest& d, const Fact& ask, const SendDigest& given) {
  const auto statements = d.commands[d.fact(given.send).command].statements;
  if (d.at(given.reply).matched != statements) return 0;
  const auto lease = shortest_lease(ask);
  const auto fastest = ask->max_drift_ppm * (lease / 1'000'000);
  return d.fact(given.send).at_ns + lease - fastest;
}

/// The command that gave the longest lease. An answer counts only if it came before the end of the
/// lease before it, because a late answer revives nothing.
const SendDigest* longest_lease(const Digest& d, const Fact& ask,
                                std::vector<SendDigest>& leases) {
  std::ranges::sort(leases, {}, &SendDigest::reply);
  const SendDigest* longest = &leases.front();
  for (const SendDigest& given : leases) {
    const auto until = given_until(d, ask, *longest);
    if (d.fact(given.reply).at_ns >= until) break;
    if (given_until(d, ask, given) > until) longest = &given;
  }
  return longest;
}

/// An extension that failed is followed by another while there is time and a worker: a lease does
/// not run out with half of it unused.
void check_asked_again(const Digest& d, Finding& f, const SessionDigest& s) {
  const auto& extensions = d.extensions[s.id];
  if (extensions.empty()) return;
  const Index send = extensions.back();
  const Index reply = d.writer(send).reply;
  if (reply == kNone || d.done(reply)) return;
  const Span quiet{d.fact(reply).at_ns, d.fact(s.lost).at_ns};
  const auto latest = quiet.from + shortest_lease(s.asked) / 2 + d.allowed.lateness_ns;
  if (quiet.to <= latest) return;
  check_bound(d, f, {quiet.from, latest, quiet.to, kNever, d.delays(s.process, Needs::worker)},
              subject(d, s.lost) + " let its lease run out for " + ms(quiet.to - quiet.from) +
                  " after an extension that failed",
              {s.granted, send, reply, s.lost});
}

void check_reason(const Digest& d, Finding& f, const SessionDigest& s, Replies& replies) {
  const Fact& lost = d.fact(s.lost);
  const Fact& granted = d.fact(s.granted);
  const auto what = [&] { return subject(d, s.granted) + " lost it "; };
  if (lost.outcome == Outcome::deadline) check_asked_again(d, f, s);
  auto heard = heard_before(d, replies, s);
  if (heard.leases.empty()) return;
  if (lost.outcome == Outcome::not_owner) {
    const auto asked = d.fact(heard.leases.back().send).at_ns;
    const Index there = still_there(d, granted, asked, heard.order);
    if (there == kNone) return;
    return violate(f, what() + "although its document was still there", {s.granted, there, s.lost});
  }
  if (lost.outcome != Outcome::deadline) return;
  const SendDigest* longest = longest_lease(d, s.asked, heard.leases);
  const auto early = given_until(d, s.asked, *longest) - lost.at_ns;
  if (early <= 0) return;
  violate(f, what() + ms(early) + " before the end of a lease that it had been given",
          {s.granted, longest->send, longest->reply, s.lost});
}

}  // namespace

Finding check_loss_notified(const Digest& d) {
  Finding f = finding(Check::G5);
  bool granted = false;
  std::int64_t yes = 0, no = 0, notified = 0, by_server = 0;
  for (const SessionDigest& s : d.sessions) {
    if (s.granted == kNone) continue;
    granted = true;
    yes += s.answers.yes;
    no += s.answers.no;
    notified += s.notified == kNone ? 0 : 1;
    if (d.promises != nullptr) {
      check_taken(d, f, s);
      continue;
    }
    const auto deadline = last_deadline(d, f, s);
    check_signal(d, f, s);
    if (!s.answers.any()) continue;
    check_answers(d, f, s, deadline);
    const auto over = std::min(deadline, d.time_of(s.lost));
    // A handle that waits behind other callbacks to reach its user cannot notify it yet.
    const auto due = std::max(over, s.answers.first_ns);
    if (s.lost != kNone) check_denied(d, f, s);
    check_notified(d, f, s, due, d.time_of(s.notified));
    if (s.lost == kNone) continue;
    const bool found_out = d.fact(s.lost).outcome == Outcome::not_owner;
    by_server += found_out && s.notified != kNone ? 1 : 0;
  }
  if (granted) {
    f.counts.insert({{"asked", yes + no}, {"notified", notified}});
  }
  if (granted && d.promises == nullptr) {
    f.counts.insert({{"yes", yes}, {"no", no}, {"losses_by_server", by_server}});
  }
  return f;
}

Finding check_needless_loss(const Digest& d) {
  Finding f = finding(Check::needless);
  if (d.of_a_document) return f;  // published locks lose by their own rules
  Replies replies;
  for (const SessionDigest& s : d.sessions) {
    if (s.granted == kNone || s.ask == kNone || (s.lost == kNone && s.release == kNone)) continue;
    ++f.checked;
    if (s.lost != kNone) check_reason(d, f, s, replies);
  }
  return f;
}

}  // namespace leasehold::model

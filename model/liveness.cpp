#include <algorithm>

#include "model/finding.hpp"

namespace leasehold::model {
namespace {

/// The harness reads the server's truth this much late, and a TTL pass is this long.
constexpr std::int64_t kTruthLag = 1'000 * kMs;
constexpr std::int64_t kTtlPass = 2'000 * kMs;

/// From when until when an acquire call waited, if it can be known.
Span waiting(const Digest& d, const SessionDigest& s) {
  Span span{d.at(s.ask).at_ns, d.finished_ns};
  for (const Index end : {s.granted, s.ended}) {
    if (end != kNone) span.to = std::min(span.to, d.at(end).at_ns);
  }
  return span;
}

void check_on_time(const Digest& d, Finding& f, const std::string& process,
                   const SessionDigest& s) {
  const Event& ask = d.at(s.ask);
  if (ask.until_ns < 0) return;
  const auto said = ask.until_ns > 0 ? ask.until_ns : ask.at_ns + ask.timeout_ms * kMs;
  const auto latest = said + kSchedulingAllowance;
  if (latest >= d.finished_ns || !d.ran_throughout(process, {ask.at_ns, latest})) return;
  ++f.checked;
  const Index end = s.granted != kNone ? s.granted : s.ended;
  if (end == kNone || d.at(end).at_ns > latest) {
    violate(f,
            "lock '" + ask.name + "': an acquire of " + process + " ended " +
                (end == kNone ? "never" : ms(d.at(end).at_ns - said) + " late"),
            {s.ask, end});
  }
}

void check_served_when_healed(const Digest& d, Finding& f, const std::string& process,
                              const SessionDigest& s) {
  const Event& ask = d.at(s.ask);
  if (ask.detail != "healed") return;
  ++f.counts["healed_acquires"];
  if (s.ended == kNone) return;
  violate(f,
          "lock '" + ask.name + "': a waiter of " + process +
              " got nothing although all "
              "faults had stopped: " +
              d.at(s.ended).outcome,
          {s.ask, s.ended});
}

/// When the last write under this tenure had executed at the latest: when it was acknowledged, or
/// when the harness read it. One that nobody answered may have executed long after its sending.
std::int64_t executed_by(const Digest& d, const Writer& holder, Index last_put) {
  const Index reply = holder.command.reply;
  if (reply != kNone && d.at(reply).outcome == "done") return d.at(reply).at_ns;
  return d.at(last_put).at_ns;
}

using Waiters = std::map<std::string, std::vector<std::pair<std::string, const SessionDigest*>>>;

void check_passes_on(const Digest& d, Finding& f, const Tenure& t, const Writer& holder,
                     const Waiters& waiters) {
  const Event& dead = *holder.ask;
  const auto last = executed_by(d, holder, t.last_put);
  const auto lease = dead.expiry_ms * kMs;
  const auto drift =
      dead.drift_ppm * dead.expiry_ms * 2 + lease / 1'000;  // (1+d)/(1-d), rounded up
  const auto found = waiters.find(dead.name);
  if (found == waiters.end()) return;
  for (const auto& [process, s] : found->second) {
    const Event& ask = d.at(s->ask);
    if (ask.until_ns == 0 || s == holder.session) continue;
    const auto bound =
        lease + drift + (ask.poll_ms + 2 * ask.timeout_ms) * kMs + kSchedulingAllowance;
    const Span waited = waiting(d, *s);
    const Span window{std::max(last, waited.from), std::max(last, waited.from) + bound};
    if (waited.to < window.to || !d.ran_throughout(process, window)) continue;
    const Span undisturbed{d.at(holder.command.send).at_ns, window.to};
    if (std::any_of(d.faulty.begin(), d.faulty.end(),
                    [&](const Span& s2) { return s2.meets(undisturbed); })) {
      continue;
    }
    ++f.counts["bounded_takeovers"];
    // Executed no earlier than it was sent.
    const auto next = t.next_put == kNone ? std::nullopt : writer_of(d, t.next_put);
    const bool late =
        t.next == kNone || (!t.next_gone && next && d.at(next->command.send).at_ns > window.to);
    if (late) {
      violate(f,
              "lock '" + dead.name + "': " + process + " waited " + ms(bound) +
                  " and more for a dead holder's lock",
              {t.last_put, s->ask, t.next});
    }
    return;
  }
  // Whoever took it in time was a waiter whose wait ended by it.
  if (t.next_put != kNone && !t.next_gone) ++f.counts["takeovers"];
}

/// An attempt or a hand-over that found its own owner there has to win: it is the retry of a win
/// that nobody told.
void check_recognised(const Digest& d, Finding& f, Index i) {
  const Event& reply = d.at(i);
  const bool own = asks_for_lock(reply) && reply.outcome == "done" && !reply.owner.empty() &&
                   owner_of(reply.lock_id) == reply.owner;
  if (!own || reply.matched == 1) return;
  violate(f, "a retry of " + reply.process + " did not recognise its own win", {i});
}

bool died(const Digest& d, const Tenure& t) {
  return !d.deletes.contains(t.owner) && !d.hand_overs.contains(t.owner);
}

/// A call that ended without the lock, and whose process went on, deletes what it may have won.
void check_given_up(const Digest& d, Finding& f, const Tenure& t, const Writer& holder) {
  const Index ended = holder.session->ended;
  if (ended == kNone) return;
  const auto& process = d.at(ended).process;
  const Span rest{d.at(ended).at_ns, d.at(ended).at_ns + holder.ask->timeout_ms * kMs + kTruthLag};
  const bool lived = d.processes.at(process).last_ns > rest.to && d.ran_throughout(process, rest);
  if (!lived) return;
  violate(f, "lock '" + holder.ask->name + "': " + process + " gave up and left what it had won",
          {ended, t.last_put});
}

}  // namespace

Finding check_liveness(const Digest& d) {
  Finding f = finding("G7",
                      "waiters acquire, or end when they said; a dead holder's lock passes "
                      "on in bounded time");
  Waiters waiters;
  for (const auto& [key, s] : d.sessions) {
    if (s.ask == kNone) continue;
    check_on_time(d, f, key.first, s);
    check_served_when_healed(d, f, key.first, s);
    waiters[d.at(s.ask).name].emplace_back(key.first, &s);
  }
  for (Index i = 0; i < d.history->size(); ++i) {
    if (d.at(i).kind == Kind::reply) check_recognised(d, f, i);
  }
  for (const auto& [name, changes] : d.truth) {
    for (const Tenure& t : tenures(d, changes)) {
      const auto holder = writer_of(d, t.last_put);
      if (!holder || !died(d, t)) continue;
      check_passes_on(d, f, t, *holder, waiters);
      if (d.of_a_document) check_given_up(d, f, t, *holder);  // nobody recognises that win again
    }
  }
  return f;
}

Finding check_cleanup(const Digest& d) {
  Finding f = finding("G8",
                      "a dead holder's document disappears within expiry + 2 clock_margin "
                      "and a TTL pass");
  for (const auto& [name, changes] : d.truth) {
    for (const Tenure& t : tenures(d, changes)) {
      const auto holder = writer_of(d, t.last_put);
      if (!holder || !died(d, t)) continue;
      if (!d.of_a_document) check_given_up(d, f, t, *holder);
      if (t.next != kNone && !t.next_gone) continue;
      const auto bound =
          (holder->ask->expiry_ms + 2 * holder->ask->margin_ms) * kMs + kTtlPass + kTruthLag;
      auto latest = executed_by(d, *holder, t.last_put) + bound;
      // While servers are disturbed no monitor may run; the next pass after that counts.
      for (const Span& fault : d.faulty) {
        if (fault.from < latest) latest = std::max(latest, fault.to + kTtlPass + kTruthLag);
      }
      if (t.next == kNone && d.finished_ns <= latest) continue;  // not over yet
      ++f.checked;
      if (t.next == kNone || d.at(t.next).at_ns > latest) {
        violate(f,
                "lock '" + name + "': a dead holder's document was still there after " + ms(bound),
                {t.last_put, t.next});
      }
    }
  }
  return f;
}

}  // namespace leasehold::model

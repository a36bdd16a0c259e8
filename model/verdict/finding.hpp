#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <span>

#include "model/spec/rules.hpp"
#include "model/verdict/checkers.hpp"

/// Functions that the checkers share.
namespace leasehold::model {

inline Finding finding(Check check) {
  Finding f;
  f.check = check;
  return f;
}

/// So many may share a lock, as DESIGN has it; not asked of the lock under test.
[[nodiscard]] constexpr std::size_t most_in(rules::Room room) {
  constexpr std::size_t kMostReaders = 128;
  return room > 0 ? static_cast<std::size_t>(room) : kMostReaders;
}

/// Counts a violation; the first one is kept with its events.
inline void violate(Finding& f, std::string why, std::vector<Index> events) {
  if (f.violations++ == 0) {
    f.why = std::move(why);
    std::erase(events, kNone);
    f.events = std::move(events);
  }
  f.verdict = Verdict::violated;
}

inline std::string ms(std::int64_t ns) {
  return std::to_string(ns / kMs) + '.' + std::to_string(ns / (kMs / 10) % 10) + " ms";
}

/// Whom a sentence is about, by an event: "lock 'x': p0.1".
inline std::string subject(const Digest& d, Index i) {
  return "lock '" + d.at(i).name + "': " + d.at(i).process;
}

inline void excuse(Finding& f, Excuse why) { ++f.excused[static_cast<std::size_t>(why)]; }

/// How long one of these spans and `span` last at once.
inline std::int64_t in_common(const std::vector<Span>& spans, Span span) {
  std::int64_t all = 0;
  for (const Span& one : spans) {
    all += std::max<std::int64_t>(std::min(one.to, span.to) - std::max(one.from, span.from), 0);
  }
  return all;
}

/// An event that was due from `due` on, and had to happen by `latest`.
struct TimeBound {
  std::int64_t due = 0, latest = 0;
  std::int64_t happened = kNever;  ///< kNever: not while the history lasted
  std::int64_t until = kNever;     ///< when it stops being needed
  const MergedSpans& delays;       ///< in which its time stood still
};

/// Checks a bound. Time stands still in the delays from `due` on, once in each moment and no longer
/// than they last: if that can explain that it is late, the check counts as excused, not as
/// checked. What was not needed any more by `latest` counts as neither.
inline void check_bound(const Digest& d, Finding& f, const TimeBound& bound, std::string why,
                        std::vector<Index> events) {
  if (bound.happened <= bound.latest) {
    ++f.checked;
    return;
  }
  const auto seen = std::min({bound.happened, bound.until, d.finished_ns});
  if (seen <= bound.latest) return;
  const auto latest = bound.delays.put_off(bound.due, bound.latest);
  if (seen > latest) {
    ++f.checked;
    return violate(f, std::move(why), std::move(events));
  }
  const Excuse excused = bound.delays.first_in({bound.due, latest})->why;
  excuse(f, excused);
  if (f.verdict != Verdict::holds || excused != Excuse::stall) return;
  f.leave_open(Open::stalled, "the machine stalled " + ms(latest - bound.latest) + ": " + why);
}

inline std::int64_t shortest_lease(const Fact& ask) {
  return ask->expiry_ms * kMs - ask->expiry_ms * ask->max_drift_ppm;  // ms * ppm = ns
}

/// Until when this caller's process sends what was due then: a command that waits for a worker for
/// two leases is not sent any more.
inline std::int64_t sends_until(const Digest& d, const Fact& ask, std::int64_t due) {
  return std::min(d.process_of[ask.process]->runs_until(), due + 2 * shortest_lease(ask));
}

/// The command and the acquire call that this put was written for.
struct Writer {
  SendDigest command;
  const SessionDigest* session = nullptr;

  [[nodiscard]] const Fact& ask() const { return session->asked; }
};

inline std::optional<Writer> writer_of(const Digest& d, const SendDigest& sent) {
  if (sent.send == kNone) return std::nullopt;
  const SessionDigest& session = d.session_of(d.fact(sent.send));
  if (session.ask == kNone) return std::nullopt;
  return Writer{sent, &session};
}
inline std::optional<Writer> writer_of(const Digest& d, Index put) {
  return writer_of(d, d.writer(put));
}
/// That of its last write.
inline std::optional<Writer> writer_of(const Digest& d, const Tenure& t) {
  return writer_of(d, t.shared ? d.writers[t.lock_id] : d.writer(t.last_put));
}

/// How long a span on the asking process's clock takes by the harness's clock, at most. A clock
/// without a known rate runs as slow as it may.
inline std::int64_t by_our_clock(const Digest& d, const Fact& ask, std::int64_t local_ns) {
  constexpr std::int64_t kMillion = 1'000'000, kRounding = 1'000;
  const auto said = d.process_of[ask.process]->rate_ppm;
  const auto rate = said != 0 ? said : -ask->max_drift_ppm;
  const auto ours = static_cast<__int128>(local_ns) * kMillion / (kMillion + rate);
  return static_cast<std::int64_t>(ours) + kRounding;
}

/// Whether this attempt was answered, and refused.
inline bool refused(const Digest& d, const SendDigest& attempt) {
  return asks_for_lock(d.fact(attempt.send)) && d.done(attempt.reply) &&
         d.at(attempt.reply).matched == 0;
}

/// Whether a release or clean-up of the holder gave this lock to the first entry of its queue. One
/// without an answer may have done so, which counts.
inline bool passed_on(const Digest& d, const Tenure& t) {
  if (t.next_put == kNone || t.next_gone) return false;
  const Index by = d.claim(t.next_put);
  if (by != kNone) return d.fact(by).owner == t.owner || d.fact(by).other_owner == t.owner;
  const auto& sent = d.deletes[t.owner];
  const SendDigest& next = d.writer(t.next_put);
  if (sent.empty() || next.send == kNone) return false;
  const bool itself = next.reply != kNone && d.at(next.reply).matched > 0;
  return !itself && std::ranges::any_of(sent, [&](const SendDigest& s) {
    return d.fact(s.send).verb == Verb::pass_on && d.unanswered(s) &&
           d.fact(s.send).at_ns <= d.fact(t.next_put).at_ns;
  });
}

/// Whether the holder itself gave this lock to the next owner: of its process, or of its queue.
inline bool handed_over(const Digest& d, const Tenure& t) {
  if (t.next_put == kNone || t.next_gone) return false;
  if (passed_on(d, t)) return true;
  const SendDigest& sent = d.writer(t.next_put);
  return sent.send != kNone && d.fact(sent.send).verb == Verb::hand_over &&
         d.fact(sent.send).other_owner == t.owner;
}

/// When the last write under this tenure had executed at the latest: when it was acknowledged, or
/// when the harness read it. A write without an answer may have executed long after its sending.
inline std::int64_t executed_by(const Digest& d, const Writer& holder, Index put) {
  // The refused attempt left an entry in the queue; a release has written it since.
  const Index by = d.claim(put);
  const Index reply = by != kNone ? by : holder.command.reply;
  const bool acknowledged = d.done(reply) && (by != kNone || !refused(d, holder.command));
  return acknowledged ? std::min(d.fact(reply).at_ns, d.fact(put).at_ns) : d.fact(put).at_ns;
}

/// The lease of this write ends no earlier, because it began with the execution, after the sending.
/// No other owner may have the lock for a whole expiry, whatever clock counts it.
inline std::int64_t earliest_end(const Digest& d, const Writer& holder) {
  return rules::deadline(d.fact(holder.command.send).at_ns, holder.ask()->expiry_ms * kMs);
}

/// The same for a tenure, by a change after it. Dates of a lock that is known by its answers count
/// too: by the primary's clock its lease lasts until the document's date, at most for its length
/// from the last write. Servers date their entries by a clock that advances now and then.
inline std::int64_t earliest_end(const Digest& d, const Writer& holder, const Tenure& t,
                                 Index change) {
  const auto by_us = earliest_end(d, holder);
  const Event &last = d.at(t.last_put), &next = d.at(change);
  const bool dated = last.expires_at_ms != 0 && last.wall_ms != 0 && next.wall_ms != 0;
  if (!d.dates_hold || !dated) return by_us;
  const auto end_ms = std::min(last.expires_at_ms, last.wall_ms + holder.ask()->expiry_ms);
  return std::max(by_us, next.at_ns + (end_ms - next.wall_ms) * kMs - d.allowed.lateness_ns);
}

/// Whether a delete of this owner can have ended its tenure: it was sent before the end was read,
/// and no reply says that it found nothing.
inline bool may_have_deleted(const Digest& d, const Tenure& t) {
  if (d.promises != nullptr) return !t.decided || t.given_up;
  if (!t.next_gone && !t.left) return false;
  const auto& sent = d.deletes[t.owner];
  return std::ranges::any_of(sent, [&](const SendDigest& one) {
    if (d.fact(one.send).at_ns > d.fact(t.next).at_ns) return false;
    if (d.unanswered(one)) return true;
    const Fact& reply = d.fact(one.reply);
    // A late attempt may execute after it, and leave a second document behind.
    return reply->matched > 0 && (d.of_a_document || reply->order == d.at(t.next).order);
  });
}

/// Whether no release or clean-up ended this tenure: its holder died, or an attempt that executed
/// late left the document behind.
inline bool left_behind(const Digest& d, const Tenure& t) {
  return !may_have_deleted(d, t) && !handed_over(d, t);
}

/// Whether this reader, whose entry the change has no more, can have left by it: by its release, or
/// because it gave the lock to who wrote the change.
inline bool may_have_left(const Digest& d, const ReaderEntry& r, const Change& by) {
  const Index writer = d.writers[by.lock_id].send, claim = d.claim(by.event);
  if (writer != kNone && d.fact(writer).other_owner == r.owner) return true;
  if (claim != kNone) return d.fact(claim).owner == r.owner || d.fact(claim).other_owner == r.owner;
  return std::ranges::any_of(d.deletes[r.owner], [&](const SendDigest& one) {
    return d.fact(one.send).at_ns <= d.fact(by.event).at_ns &&
           (d.unanswered(one) || d.at(one.reply).order >= d.at(by.event).order);
  });
}

/// Whether the lease of its last write is over by then.
inline bool is_over(const Digest& d, Id lock_id, Index by) {
  const auto holder = writer_of(d, d.writers[lock_id]);
  return !holder || d.fact(by).at_ns >= earliest_end(d, *holder);
}

// Which command wrote what, and who has left, as far as the acceptor has come.

/// How many versions of a document were written; a deletion counts as one. Version v of a line is
/// its element v - 1.
using Version = std::uint32_t;
using Versions = std::span<const Change>;

/// The owner in the document, or of its readers the one that wrote it; kNoText: there is none.
[[nodiscard]] inline Id holder_at(Versions line, Version v) {
  return v == 0 || line[v - 1].gone ? kNoText : line[v - 1].owner;
}
[[nodiscard]] inline bool held_at(Versions line, Version v, Id owner) {
  return v != 0 && owner != kNoText && line[v - 1].held_by(owner);
}
/// The readers of `before` that `after` has no more.
[[nodiscard]] inline std::vector<ReaderEntry> gone_readers(const Change& before,
                                                           const Change& after) {
  std::vector<ReaderEntry> gone;
  std::ranges::copy_if(before.readers, std::back_inserter(gone), [&](const ReaderEntry& r) {
    return !after.held_by(r.owner);
  });
  return gone;
}

/// The first sending before `now` by which an owner ended; kNone: it had not.
[[nodiscard]] inline Index farewell(const Digest& d, Id owner, Index now) {
  Index first = kNone;
  for (const SendDigest& one : d.farewells(owner)) first = std::min(first, one.send);
  return first < now ? first : kNone;
}

/// The first sending before `now` that writes this lockId; kNone: there was none.
[[nodiscard]] inline Index first_sending(const Digest& d, Id lock_id, Index now) {
  return d.first_writers[lock_id] < now ? d.first_writers[lock_id] : kNone;
}

/// The version of this lock with this lockId, the first if there are several; 0: none.
[[nodiscard]] inline Version written_by(const Digest& d, Id name, Id lock_id) {
  return d.written[lock_id].name == name ? d.written[lock_id].version : 0;
}

/// Whether a reply by now says that this command found its document. Of an extension one of the
/// statements matched; a read may have shown the owner.
[[nodiscard]] inline bool acknowledged(const Digest& d, Index send, Index now) {
  const Index reply = d.reply_to(send);
  return reply < now && d.done(reply) && d.at(reply).matched > 0;
}

/// The owner that this session was granted the lock for; kNoText: none.
[[nodiscard]] inline Id owner_of(const Digest& d, const Fact& e) {
  const Index granted = d.session_of(e).granted;
  return granted == kNone ? kNoText : d.fact(granted).owner;
}

// The waiting calls of a lock, how long they wait, and what delays them: the input of the checks of
// G7.

/// By how much two clocks within the drift count a lease apart: (1+d)/(1-d), rounded up.
[[nodiscard]] inline std::int64_t drift_of(const Fact& ask) {
  return ask->max_drift_ppm * ask->expiry_ms * 2 + ask->expiry_ms * kMs / 1'000;
}

/// How long this time on the asking process's clock takes at most, and it may be late.
[[nodiscard]] inline std::int64_t at_most(const Digest& d, const Fact& ask, std::int64_t own_ms) {
  return by_our_clock(d, ask, own_ms * kMs) + d.allowed.lateness_ns;
}

/// One acquire call that waits.
struct Waiter {
  const SessionDigest* session;
  Span waited;
  std::int64_t lives_until;  ///< so far it is known to wait
  std::int64_t attempts_ns;  ///< how long it may leave a free lock
};

/// The calls for one name, in the order of process and session.
struct Waiters {
  std::vector<Waiter> calls;
  /// The calls that wait for so long that they must have tried: most end sooner.
  std::vector<const Waiter*> patient;
  std::vector<const Waiter*> by_begin;  ///< the same, by the begin of their waiting
  std::vector<std::int64_t> reach;  ///< until when that call, or one before it, waits
  /// By process: when no attempt of it could be made and answered. That is the time that stands
  /// still for its commands, and of each attempt in vain that this explains the time until it ended
  /// and its process's longest pause. It counts for all calls of the process, because only the head
  /// of its queue makes attempts.
  std::map<Id, MergedSpans> delays;
  /// Those of anybody, and these.
  [[nodiscard]] MergedSpans delays_with(const MergedSpans& own) const {
    auto all = anybodys.all();
    all.insert(all.end(), own.all().begin(), own.all().end());
    return MergedSpans(std::move(all));
  }
  MergedSpans anybodys;  ///< of all its processes together, but for what stops a process itself
};

/// By id of the name.
[[nodiscard]] std::vector<Waiters> waiters_by_name(const Digest& d);

/// When a put executed at the earliest: not before it was sent.
[[nodiscard]] std::int64_t executed_from(const Digest& d, Index put);

}  // namespace leasehold::model

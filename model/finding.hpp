#pragma once

#include <algorithm>

#include "model/checkers.hpp"

/// What the checkers share.
namespace leasehold::model {

inline Finding finding(Guarantee guarantee) {
  Finding f;
  f.guarantee = guarantee;
  return f;
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

/// Something that had to happen by `latest`, counting from `from`.
struct TimeBound {
  std::int64_t from = 0, latest = 0;
  std::int64_t happened = kNever;  ///< kNever: not while the history lasted
  std::int64_t until = kNever;     ///< it was wanted no longer, some time after `latest`
};

/// Puts a bound to the test. What is late by no more than the stalls in its window is nobody's
/// fault for certain: it is counted as excused, and not as checked. `why` makes the sentence.
template <typename Why>
void check_bound(const Digest& d, Finding& f, const TimeBound& bound, const Why& why,
                 std::vector<Index> events) {
  const auto seen = std::min({bound.happened, bound.until, d.finished_ns});
  const auto stalled = d.stalled_ns({bound.from, seen});
  const bool late = bound.happened > bound.latest;
  if (!late || seen - bound.latest > stalled) {
    ++f.checked;
    if (late) violate(f, why(), std::move(events));
    return;
  }
  ++f.counts["excused by stalls"];
  if (f.verdict != Verdict::holds) return;
  f.verdict = Verdict::unknown;
  f.why = "the machine stalled " + ms(stalled) + ": " + why();
}

/// The first moment at or after `instant` at which the process runs and goes on running for as long
/// as it may be late.
inline std::int64_t when_running(const Digest& d, const ProcessDigest& process,
                                 std::int64_t instant) {
  auto spans = process.away;
  std::sort(spans.begin(), spans.end(),
            [](const Span& a, const Span& b) { return a.from < b.from; });
  for (const Span& away : spans) {
    if (away.from <= instant + d.allowed.lateness_ns && away.to > instant) instant = away.to;
  }
  return instant;
}

/// Who asked for the lock that this put was written for.
struct Writer {
  SendDigest command;
  const SessionDigest* session = nullptr;
  const Event* ask = nullptr;
};

inline std::optional<Writer> writer_of(const Digest& d, Index put) {
  const auto sent = d.writers.find(d.at(put).lock_id);
  if (sent == d.writers.end() || sent->second.send == kNone) return std::nullopt;
  const Event& send = d.at(sent->second.send);
  const auto session = d.sessions.find({send.process, send.session});
  if (session == d.sessions.end() || session->second.ask == kNone) return std::nullopt;
  return Writer{sent->second, &session->second, &d.at(session->second.ask)};
}

inline std::int64_t shortest_lease(const Event& ask) {
  return ask.expiry_ms * kMs - ask.expiry_ms * ask.max_drift_ppm;  // ms * ppm = ns
}

/// How long a span of a process's own clock takes by the harness's, at most. A clock whose rate is
/// not said runs as slow as it may.
inline std::int64_t by_our_clock(const Digest& d, const std::string& process, const Event& ask,
                                 std::int64_t local_ns) {
  constexpr std::int64_t kMillion = 1'000'000, kRounding = 1'000;
  const auto said = d.processes.at(process).rate_ppm;
  const auto rate = said != 0 ? said : -ask.max_drift_ppm;
  const auto ours = static_cast<__int128>(local_ns) * kMillion / (kMillion + rate);
  return static_cast<std::int64_t>(ours) + kRounding;
}

/// A document's last state under one owner, and the change that ended it.
struct Tenure {
  std::string owner;
  Index last_put = kNone;
  Index next = kNone;  ///< the next change: another's put or the deletion; kNone: none
  bool next_gone = false;
  Index next_put = kNone;  ///< the next put of another, deletion or not
};

/// The reply to the release that gave the lock to who stood first in its queue, by this put.
inline Index passed_on_by(const Digest& d, Index put) {
  const auto claim = d.claims.find(d.at(put).order);
  return claim == d.claims.end() ? kNone : claim->second;
}

/// Whether this attempt was answered, and refused.
inline bool refused(const Digest& d, const SendDigest& attempt) {
  return attempt.reply != kNone && asks_for_lock(d.at(attempt.send)) &&
         d.at(attempt.reply).outcome == "done" && d.at(attempt.reply).matched == 0;
}

/// Whether a release or clean-up of the holder gave this lock to who stood first in its queue, or
/// may have: one that nobody answered.
inline bool passed_on(const Digest& d, const Tenure& t) {
  if (t.next_put == kNone || t.next_gone) return false;
  const Index by = passed_on_by(d, t.next_put);
  if (by != kNone) return d.at(by).owner == t.owner || d.at(by).also_owner == t.owner;
  const auto sent = d.deletes.find(t.owner);
  const auto next = d.writers.find(d.at(t.next_put).lock_id);
  if (sent == d.deletes.end() || next == d.writers.end()) return false;
  const bool itself = next->second.reply != kNone && d.at(next->second.reply).matched > 0;
  return !itself && std::any_of(sent->second.begin(), sent->second.end(), [&](const SendDigest& s) {
    return d.at(s.send).verb == "pass-on" && d.unanswered(s) &&
           d.at(s.send).at_ns <= d.at(t.next_put).at_ns;
  });
}

/// Whether the holder itself gave this lock to the next one: of its process, or of its queue.
inline bool handed_over(const Digest& d, const Tenure& t) {
  if (t.next_put == kNone || t.next_gone) return false;
  if (passed_on(d, t)) return true;
  const auto sent = d.writers.find(d.at(t.next_put).lock_id);
  return sent != d.writers.end() && sent->second.send != kNone &&
         d.at(sent->second.send).verb == "hand-over" && d.at(sent->second.send).giver == t.owner;
}

/// The tenures of one name in the server's order. A put of the same owner after a deletion (an
/// attempt that executed late) starts another.
inline std::vector<Tenure> tenures(const Digest& d, const std::vector<Change>& changes) {
  std::vector<Tenure> out;
  for (const Change& change : changes) {
    const std::string owner = change.gone ? "" : owner_of(d.at(change.event).lock_id);
    Tenure* last = out.empty() ? nullptr : &out.back();
    if (change.gone) {
      if (last != nullptr && last->next == kNone) {
        last->next = change.event;
        last->next_gone = true;
      }
      continue;
    }
    if (last != nullptr && last->owner == owner && last->next == kNone) {
      last->last_put = change.event;
      continue;
    }
    if (last != nullptr) {
      if (last->next == kNone) last->next = change.event;
      last->next_put = change.event;
    }
    out.push_back({owner, change.event});
  }
  return out;
}

/// When the last write under this tenure had executed at the latest: when it was acknowledged, or
/// when the harness read it. One that nobody answered may have executed long after its sending.
inline std::int64_t executed_by(const Digest& d, const Writer& holder, Index put) {
  // One that was refused left an entry in the queue, which a release has followed since.
  const Index by = passed_on_by(d, put);
  const Index reply = by != kNone ? by : holder.command.reply;
  const bool acknowledged = reply != kNone && d.at(reply).outcome == "done" &&
                            (by != kNone || !refused(d, holder.command));
  return acknowledged ? std::min(d.at(reply).at_ns, d.at(put).at_ns) : d.at(put).at_ns;
}

/// No lease that this write gave ends earlier: it began with the execution, after the sending.
/// Nobody else may have the lock for a whole expiry, whatever clock he counts it by.
inline std::int64_t earliest_end(const Digest& d, const Writer& holder) {
  return d.at(holder.command.send).at_ns + holder.ask->expiry_ms * kMs;
}

/// Whether a delete of this owner can have been the end of its tenure: one that was sent before
/// that was read, and no reply says that it found nothing.
inline bool may_have_deleted(const Digest& d, const Tenure& t) {
  const auto sent = d.deletes.find(t.owner);
  if (!t.next_gone || sent == d.deletes.end()) return false;
  return std::any_of(sent->second.begin(), sent->second.end(), [&](const SendDigest& one) {
    if (d.at(one.send).at_ns > d.at(t.next).at_ns) return false;
    if (d.unanswered(one)) return true;
    const Event& reply = d.at(one.reply);
    // An attempt that executes late may come after it, and leave a second document behind.
    return reply.matched > 0 && (d.of_a_document || reply.order == d.at(t.next).order);
  });
}

/// Whether no release or clean-up ended it: its holder died, or an attempt that executed late left
/// it behind.
inline bool left_behind(const Digest& d, const Tenure& t) {
  return !may_have_deleted(d, t) && !handed_over(d, t);
}

}  // namespace leasehold::model

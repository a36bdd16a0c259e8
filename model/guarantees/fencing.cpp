#include <algorithm>

#include <limits>
#include <utility>

#include "model/verdict/finding.hpp"

namespace leasehold::model {
namespace {

constexpr std::int64_t kNoRank = std::numeric_limits<std::int64_t>::min();

/// By owner: when it was granted its lock, in the server's order. Only the write of the notified
/// grant counts, because an earlier attempt of the same owner may have won unheard, and run out.
using Ranks = std::vector<std::int64_t>;

Ranks ranks(const Digest& d) {
  std::vector<Id> granted(d.facts.lock_ids.size(), kNoText);  // by lockId: the owner
  for (const SessionDigest& s : d.sessions) {
    if (s.granted != kNone) granted[d.fact(s.granted).lock_id] = d.fact(s.granted).owner;
  }
  Ranks rank(d.facts.owners, kNoRank);
  for (const auto& changes : d.truth) {
    for (const Change& c : changes) {
      const Id owner = granted[c.lock_id];
      if (owner != kNoText) rank[owner] = d.at(c.event).order;
    }
  }
  return rank;
}

/// Whether a later holder may have written before: then the refusal of this one is right, whatever
/// its held() said.
bool may_be_overtaken(const Digest& d, const Ranks& rank, Id owner, const Fact& write) {
  return std::any_of(d.stored.begin(), d.stored.end(), [&](Index i) {
    const Fact& stored = d.fact(i);
    return stored.name == write.name && stored.at_ns <= write.at_ns + d.allowed.truth_lag_ns &&
           rank[stored.owner] > rank[owner];
  });
}

}  // namespace

Finding check_fence(const Digest& d) {
  Finding f = finding(Check::G3);
  const auto rank = ranks(d);
  std::vector<Index> latest(d.facts.names.size(), kNone);  // the write of the latest holder
  for (const Index i : d.stored) {
    const Fact& stored = d.fact(i);
    if (rank[stored.owner] == kNoRank) continue;
    Index& before = latest[stored.name];
    if (before != kNone && rank[d.fact(before).owner] > rank[stored.owner]) {
      violate(f,
              "resource '" + d.name(stored.name) +
                  "' accepted a write of an earlier holder after one "
                  "of a later holder",
              {before, i});
    } else {
      before = i;
    }
  }
  std::int64_t stale = 0, stale_refused = 0, current = 0;
  for (const Index i : d.writes) {
    const Fact& write = d.fact(i);
    const SessionDigest& session = d.session_of(write);
    if (session.granted == kNone) continue;
    ++f.checked;
    const bool refused = write.outcome == Outcome::refused;
    if (write->sent_ns >= session.over_ns) {
      ++stale;
      stale_refused += refused ? 1 : 0;
    }
    const auto held = session.answers.held();
    const bool is_current = held && write->sent_ns >= held->from && write.at_ns <= held->to;
    current += is_current ? 1 : 0;
    if (!refused || !is_current) continue;
    if (!may_be_overtaken(d, rank, d.fact(session.granted).owner, write)) {
      violate(f,
              "resource '" + d.name(write.name) + "' refused its current holder " +
                  d.process_name(write.process),
              {session.granted, i});
    }
  }
  if (f.checked > 0) f.counts["current_writes"] = current;
  if (stale > 0) f.counts["stale_writes"] = stale;
  if (stale_refused > 0) f.counts["stale_writes_refused"] = stale_refused;
  return f;
}

Finding check_token_order(const Digest& d) {
  Finding f = finding(Check::G4);
  std::vector<Index> granted(d.facts.lock_ids.size(), kNone);  // by lockId of the one that won
  for (const SessionDigest& s : d.sessions) {
    if (s.granted == kNone) continue;
    Index& first = granted[d.fact(s.granted).lock_id];
    if (first == kNone) first = s.granted;
  }
  for (const auto& changes : d.truth) {
    Index last = kNone;
    for (const Change& c : changes) {
      if (c.gone) continue;
      const Index grant = std::exchange(granted[c.lock_id], kNone);
      if (grant == kNone) continue;
      const Fact& g = d.fact(grant);
      if (g->token == 0) continue;  // this lock has no tokens
      ++f.checked;
      const auto order = d.at(c.event).order;
      if (!d.of_a_document && g->token != order) {
        violate(f,
                "lock '" + d.at(grant).name + "': the token " + std::to_string(g->token) +
                    " is not the time of the write that granted it, " + std::to_string(order),
                {grant, c.event});
      }
      if (last != kNone && g->token <= d.at(last).token) {
        violate(f,
                "lock '" + d.at(grant).name + "': token " + std::to_string(g->token) + " after " +
                    std::to_string(d.at(last).token),
                {last, grant});
      }
      last = grant;
    }
  }
  const bool is_cut = std::none_of(d.history->begin(), d.history->end(),
                                   [](const Event& e) { return e.kind == Kind::finish; });
  if (is_cut) return f;
  for (const Index g : granted) {
    if (g == kNone) continue;
    violate(f,
            "lock '" + d.at(g).name + "': the grant to " + d.at(g).process +
                " is not among the server's writes: it was rolled back, or never made",
            {g});
  }
  return f;
}

}  // namespace leasehold::model

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "model/verdict/finding.hpp"

namespace leasehold::model {
namespace {

constexpr std::int64_t kNoRank = std::numeric_limits<std::int64_t>::min();

/// Who holds the locks, in what order: by the server's order of the grants or, of a lock that is
/// known by its answers, as far as calls and answers tell it.
class Holders {
 public:
  explicit Holders(const Digest& d) : d_(d) {
    d.promises != nullptr ? rank_by_answers() : rank_by_writes();
  }

  [[nodiscard]] Id of(const SessionDigest& granted) const {
    return d_.promises != nullptr ? granted.id : d_.fact(granted.granted).owner;
  }
  /// Whose accepted write that is.
  [[nodiscard]] Id of_stored(Index stored) const {
    const Fact& e = d_.fact(stored);
    return d_.promises != nullptr ? writers_[e.command] : e.owner;
  }
  [[nodiscard]] bool is_known(Id holder) const {
    return holder < ranks_.size() && ranks_[holder].from != kNoRank;
  }
  /// Whether `a` was granted the lock after `b`, for certain.
  [[nodiscard]] bool after(Id a, Id b) const { return ranks_[a].from > ranks_[b].to; }
  /// Whether the resource may take an access of `holder` after that of `before`.
  [[nodiscard]] bool accepts(Id before, Id holder, bool reads) const {
    const auto latest = ranks_[before].from, own = ranks_[holder].to;
    return reads ? rules::accepts_read(own, latest) : rules::accepts_write(own, latest);
  }
  [[nodiscard]] bool began_before(Id a, Id b) const { return ranks_[a].from < ranks_[b].from; }

 private:
  /// By owner. Only the write of the notified grant counts, because an earlier attempt of the same
  /// owner may have won unheard, and run out.
  void rank_by_writes() {
    std::vector<Id> granted(d_.facts.lock_ids.size(), kNoText);  // by lockId: the owner
    for (const SessionDigest& s : d_.sessions) {
      if (s.granted != kNone) granted[d_.fact(s.granted).lock_id] = d_.fact(s.granted).owner;
    }
    ranks_.resize(d_.facts.owners, {kNoRank, kNoRank});
    for (const auto& changes : d_.truth) {
      for (const Change& c : changes) {
        const auto order = d_.at(c.event).order;
        c.each_written([&](Id, Id lock_id) {
          const Id owner = granted[lock_id];
          if (owner != kNoText) ranks_[owner] = {order, order};
        });
      }
    }
  }
  /// By session.
  void rank_by_answers() {
    ranks_.resize(d_.sessions.size(), {kNoRank, kNoRank});
    writers_.resize(d_.facts.writes, static_cast<Id>(d_.sessions.size()));
    for (const SessionDigest& s : d_.sessions) {
      if (s.granted == kNone || s.ask == kNone) continue;
      ranks_[s.id] = {s.asked.at_ns, d_.fact(s.granted).at_ns};
    }
    for (const Index i : d_.writes) writers_[d_.fact(i).command] = d_.fact(i).session;
  }

  const Digest& d_;
  std::vector<Span> ranks_;   ///< by holder
  std::vector<Id> writers_;  ///< by the number of a write to the resource
};

/// Whether a later holder may have accessed it before, and one of both wrote: then the refusal of
/// this one is right, whatever its held() said. Which holder is later of a lock that is known by
/// its answers is seldom certain: so only a higher token counts, stored before the answer.
bool may_be_overtaken(const Digest& d, const Holders& holders, Id holder, const Fact& write) {
  const bool ours = d.promises == nullptr;
  const auto by = write.at_ns + (ours ? d.allowed.truth_lag_ns : 0);
  return std::ranges::any_of(d.stored, [&](Index i) {
    const Fact& stored = d.fact(i);
    const Id other = holders.of_stored(i);
    return stored.name == write.name && stored.at_ns <= by && holders.is_known(other) &&
           rules::excludes(stored->shared, write->shared) &&
           (ours || stored->token > write->token) && other != holder &&
           !holders.after(holder, other);
  });
}

std::string token_of(const Digest& d, const SessionDigest& s) {
  return "token " + std::to_string(d.at(s.granted).token) + " of " + d.process_name(s.process);
}

/// By the answers alone, from the highest token on: no call began after the grant of a higher one,
/// and none has the same.
void check_tokens_of_answers(const Digest& d, Finding& f) {
  std::vector<const SessionDigest*> calls;
  for (const SessionDigest& s : d.sessions) {
    if (s.granted != kNone && s.ask != kNone) calls.push_back(&s);
  }
  std::ranges::stable_sort(calls, {}, [&](const SessionDigest* s) {
    return std::pair(s->asked.name, -d.at(s->granted).token);
  });
  // Granted first, and with the lowest token: of writers, and of readers, which may have one token.
  std::array<const SessionDigest*, 2> first{}, last{};
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const SessionDigest* const s = calls[i];
    ++f.checked;
    if (i > 0 && calls[i - 1]->asked.name != s->asked.name) first = last = {};
    const auto lock = "lock '" + d.at(s->granted).name + "': ";
    const auto granted = [&](const SessionDigest* one) { return d.fact(one->granted).at_ns; };
    if (d.at(s->granted).token == 0) {
      violate(f, subject(d, s->granted) + " was granted it without a token", {s->granted});
      continue;
    }
    const bool reads = d.at(s->granted).shared;
    for (const bool others : {false, true}) {
      const auto *const before = first[others ? 1 : 0], *const above = last[others ? 1 : 0];
      if (above == nullptr || !rules::excludes(reads, others)) continue;
      if (d.at(above->granted).token == d.at(s->granted).token) {
        violate(f, lock + token_of(d, *s) + " is also the " + token_of(d, *above),
                {above->granted, s->granted});
      } else if (s->asked.at_ns > granted(before)) {
        violate(f, lock + token_of(d, *s) + " after " + token_of(d, *before),
                {before->granted, s->granted});
      }
    }
    auto& earliest = first[reads ? 1 : 0];
    if (earliest == nullptr || granted(s) < granted(earliest)) earliest = s;
    last[reads ? 1 : 0] = s;
  }
}

}  // namespace

Finding check_fence(const Digest& d) {
  Finding f = finding(Check::G3);
  const Holders holders(d);
  // The access of the latest holder, and its last write: the resource's two numbers.
  std::vector<Index> seen(d.facts.names.size(), kNone), wrote = seen;
  for (const Index i : d.stored) {
    const Fact& stored = d.fact(i);
    const Id holder = holders.of_stored(i);
    if (!holders.is_known(holder)) continue;
    const bool reads = stored->shared;
    const Index before = (reads ? wrote : seen)[stored.name];
    if (before != kNone && !holders.accepts(holders.of_stored(before), holder, reads)) {
      violate(f,
              "resource '" + d.name(stored.name) + "' accepted a " + (reads ? "read" : "write") +
                  " of an earlier holder after " + (d.at(before).shared ? "a read" : "one") +
                  " of a later holder",
              {before, i});
      continue;
    }
    const auto note = [&](Index& last) {
      if (last == kNone || !holders.began_before(holder, holders.of_stored(last))) last = i;
    };
    note(seen[stored.name]);
    if (!reads) note(wrote[stored.name]);
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
    if (!may_be_overtaken(d, holders, holders.of(session), write)) {
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
  if (d.promises != nullptr) check_tokens_of_answers(d, f);
  std::vector<Index> granted(d.facts.lock_ids.size(), kNone);  // by lockId of the one that won
  for (const SessionDigest& s : d.sessions) {
    if (s.granted == kNone) continue;
    if (s.shares != kNone) {
      ++f.checked;
      if (d.at(s.shares).token == d.at(s.granted).token) continue;
      violate(f, subject(d, s.granted) + " shares an entry, and has another token than its reader",
              {s.shares, s.granted});
      continue;
    }
    Index& first = granted[d.fact(s.granted).lock_id];
    if (first == kNone) first = s.granted;
  }
  for (const auto& changes : d.truth) {
    Index last = kNone;
    for (const Change& c : changes) {
      // Readers that one release admitted have one token.
      const Index before = last;
      c.each_written([&](Id, Id lock_id) {
        const Index grant = lock_id == kNoText ? kNone : std::exchange(granted[lock_id], kNone);
        if (grant == kNone || d.at(grant).token == 0) return;  // this lock has no tokens
        const Fact& g = d.fact(grant);
        const auto lock = "lock '" + d.at(grant).name + "': ";
        d.promises != nullptr ? ++f.counts["by the oplog"] : ++f.checked;
        const auto order = d.at(c.event).order;
        if (!d.of_a_document && g->token != order) {
          violate(f,
                  lock + "the token " + std::to_string(g->token) +
                      " is not the time of the write that granted it, " + std::to_string(order),
                  {grant, c.event});
        }
        if (before != kNone && g->token <= d.at(before).token) {
          violate(f,
                  lock + "token " + std::to_string(g->token) + " after " +
                      std::to_string(d.at(before).token),
                  {before, grant});
        }
        last = grant;
      });
    }
  }
  const bool is_cut = std::ranges::count(*d.history, Kind::finish, &Event::kind) == 0;
  if (is_cut || d.promises != nullptr) return f;
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

#include <algorithm>

#include "model/finding.hpp"

namespace leasehold::model {
namespace {

/// In the server's order, by owner.
using Ranks = std::unordered_map<std::string, std::int64_t>;

/// When each owner was granted its lock, in the server's order: the write that it was notified of,
/// for an earlier attempt of the same owner may have won unheard, and run out.
Ranks ranks(const Digest& d) {
  std::unordered_map<std::string, std::string> granted;  // lockId -> owner
  for (const auto& [key, s] : d.sessions) {
    if (s.granted != kNone) granted[d.at(s.granted).lock_id] = d.at(s.granted).owner;
  }
  Ranks rank;
  for (const auto& [name, changes] : d.truth) {
    for (const Change& c : changes) {
      const auto owner = c.gone ? granted.end() : granted.find(d.at(c.event).lock_id);
      if (owner != granted.end()) rank[owner->second] = d.at(c.event).order;
    }
  }
  return rank;
}

/// Whether a later holder may have written before: then it is right that this one is refused,
/// whatever its held() said.
bool may_be_overtaken(const Digest& d, const Ranks& rank, const std::string& owner,
                      const Event& write) {
  const auto own = rank.find(owner);
  return std::any_of(d.stored.begin(), d.stored.end(), [&](Index i) {
    const Event& stored = d.at(i);
    const auto other = rank.find(stored.owner);
    return stored.name == write.name && stored.at_ns <= write.at_ns + d.allowed.truth_lag_ns &&
           other != rank.end() && (own == rank.end() || other->second > own->second);
  });
}

}  // namespace

Finding check_fence(const Digest& d) {
  Finding f = finding(Guarantee::G3);
  const auto rank = ranks(d);
  std::map<std::string, Index> latest;  // by name: the accepted write of the latest holder
  for (const Index i : d.stored) {
    const Event& stored = d.at(i);
    const auto here = rank.find(stored.owner);
    if (here == rank.end()) continue;
    const auto before = latest.find(stored.name);
    if (before != latest.end() && rank.at(d.at(before->second).owner) > here->second) {
      violate(f,
              "resource '" + stored.name +
                  "' accepted a write of an earlier holder after one "
                  "of a later holder",
              {before->second, i});
    } else {
      latest[stored.name] = i;
    }
  }
  for (const Index i : d.writes) {
    const Event& write = d.at(i);
    const auto session = d.sessions.find({write.process, write.session});
    if (session == d.sessions.end() || session->second.granted == kNone) continue;
    ++f.checked;
    if (write.sent_ns >= session->second.over_ns) {
      ++f.counts["stale_writes"];
      if (write.outcome == "refused") ++f.counts["stale_writes_refused"];
    }
    const auto held = session->second.answers.held();
    const bool current = held && write.sent_ns >= held->from && write.at_ns <= held->to;
    f.counts["current_writes"] += current ? 1 : 0;
    if (write.outcome != "refused" || !current) continue;
    if (!may_be_overtaken(d, rank, d.at(session->second.granted).owner, write)) {
      violate(f, "resource '" + write.name + "' refused its current holder " + write.process,
              {session->second.granted, i});
    }
  }
  return f;
}

Finding check_token_order(const Digest& d) {
  Finding f = finding(Guarantee::G4);
  std::unordered_map<std::string, Index> granted;  // by lockId of the command that won
  for (const auto& [key, s] : d.sessions) {
    if (s.granted != kNone) granted.emplace(d.at(s.granted).lock_id, s.granted);
  }
  for (const auto& [name, changes] : d.truth) {
    Index last = kNone;
    for (const Change& c : changes) {
      if (c.gone) continue;
      const auto grant = granted.find(d.at(c.event).lock_id);
      if (grant == granted.end()) continue;
      const Event& g = d.at(grant->second);
      if (g.token == 0) {  // this lock has no tokens
        granted.erase(grant);
        continue;
      }
      ++f.checked;
      if (!d.of_a_document && g.token != d.at(c.event).order) {
        violate(f,
                "lock '" + name + "': the token " + std::to_string(g.token) +
                    " is not the time of the write that granted it, " +
                    std::to_string(d.at(c.event).order),
                {grant->second, c.event});
      }
      if (last != kNone && g.token <= d.at(last).token) {
        violate(f,
                "lock '" + name + "': token " + std::to_string(g.token) + " after " +
                    std::to_string(d.at(last).token),
                {last, grant->second});
      }
      last = grant->second;
      granted.erase(grant);
    }
  }
  if (d.finished_ns == kNever) return f;
  for (const auto& [lock_id, g] : granted) {
    violate(f,
            "lock '" + d.at(g).name + "': the grant to " + d.at(g).process +
                " is not among the server's writes: it was rolled back, or never made",
            {g});
  }
  return f;
}

}  // namespace leasehold::model

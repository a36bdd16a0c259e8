#include <algorithm>

#include "model/finding.hpp"

namespace leasehold::model {

namespace {

/// Whether a delete of this owner can have been the end of its tenure: one that was sent before the
/// next holder came, and was not told that it found nothing.
bool may_have_deleted(const Digest& d, const Tenure& t) {
  const auto sent = d.deletes.find(t.owner);
  if (sent == d.deletes.end()) return false;
  return std::any_of(sent->second.begin(), sent->second.end(), [&](const SendDigest& one) {
    if (d.at(one.send).at_ns > d.at(t.next_put).at_ns) return false;
    if (one.reply == kNone) return true;
    const Event& reply = d.at(one.reply);
    return reply.outcome == "unknown" || reply.matched > 0;
  });
}

}  // namespace

Finding check_leases(const Digest& d) {
  Finding f = finding("G1", "a lease is never given to another before it ran out or was released");
  for (const auto& [name, changes] : d.truth) {
    for (const Tenure& t : tenures(d, changes)) {
      const auto holder = writer_of(d, t.last_put);
      if (t.next_put == kNone || !holder) continue;
      if (owner_of(d.at(t.next_put).lock_id) == t.owner) continue;
      ++f.checked;
      if (handed_over(d, t)) {
        ++f.counts["hand_overs"];
        continue;
      }
      if (t.next_gone && may_have_deleted(d, t)) continue;  // its own release or clean-up
      ++f.counts["takeovers"];
      const auto successor = writer_of(d, t.next_put);
      if (!successor || successor->command.reply == kNone) continue;
      // What was never answered may have executed at any time after.
      if (d.at(successor->command.reply).outcome != "done") continue;
      // The lease ran from the execution, which was not before the sending.
      const auto lease_end = d.at(holder->command.send).at_ns + shortest_lease(*holder->ask);
      const auto given = d.at(successor->command.reply).at_ns;
      if (given >= lease_end) continue;
      violate(f,
              "lock '" + name + "' was given to another at least " + ms(lease_end - given) +
                  " before the lease of " + d.at(holder->command.send).process + " ran out",
              {holder->command.send, t.last_put, t.next, t.next_put, successor->command.reply});
    }
  }
  return f;
}

Finding check_exclusion(const Digest& d) {
  Finding f = finding("G2", "two processes never believe at the same time that they hold one lock");
  struct Belief {
    Span span;
    Index granted;
  };
  std::map<std::string, std::vector<Belief>> by_name;
  for (const auto& [key, s] : d.sessions) {
    if (s.belief && s.belief->from < s.belief->to) {
      by_name[d.at(s.granted).name].push_back({*s.belief, s.granted});
    }
  }
  for (auto& [name, beliefs] : by_name) {
    std::sort(beliefs.begin(), beliefs.end(),
              [](const Belief& a, const Belief& b) { return a.span.from < b.span.from; });
    const Belief* longest = nullptr;
    for (const Belief& belief : beliefs) {
      ++f.checked;
      if (longest != nullptr && longest->span.meets(belief.span)) {
        const auto overlap = std::min(longest->span.to, belief.span.to) - belief.span.from;
        violate(f,
                "lock '" + name + "': " + d.at(longest->granted).process + " and " +
                    d.at(belief.granted).process + " both believed for " + ms(overlap),
                {longest->granted, belief.granted});
      }
      if (longest == nullptr || belief.span.to > longest->span.to) longest = &belief;
    }
  }
  return f;
}

}  // namespace leasehold::model

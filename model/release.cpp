#include <algorithm>

#include "model/finding.hpp"

namespace leasehold::model {
namespace {

/// One release and whom it was of.
struct Answered {
  const Event& asked;
  const Event& answer;
  const Event& granted;
  std::vector<Index> events;
};

/// How an owner's documents ended, all of them that the server knows.
struct Ends {
  bool by_itself = false;      ///< one may have gone by its own delete or hand-over
  std::vector<Index> deleted;  ///< by its own delete, for certain: the reply that says so
  /// Before its lease can have ended, and no reply says by whom: by a delete that nobody answered.
  std::vector<Index> vanished;
};
using EndsByOwner = std::unordered_map<std::string, Ends>;

EndsByOwner all_ends(const Digest& d) {
  EndsByOwner all;
  for (const auto& [name, changes] : d.truth) {
    for (const Tenure& t : tenures(d, changes)) {
      Ends& ends = all[t.owner];
      ends.by_itself = ends.by_itself || !left_behind(d, t);
      const auto claim = t.next_gone ? d.claims.find(d.at(t.next).order) : d.claims.end();
      if (claim == d.claims.end()) {
        const auto holder = writer_of(d, t.last_put);
        const bool early = holder && t.next_gone && !d.clocks_moved &&
                           d.at(t.next).at_ns < earliest_end(d, *holder);
        if (early) ends.vanished.push_back(t.next);
        continue;
      }
      const Event& reply = d.at(claim->second);
      const bool own = reply.owner == t.owner || reply.also_owner == t.owner;
      if (own) ends.deleted.push_back(claim->second);
    }
  }
  return all;
}

/// The deletes and hand-overs of this release.
std::vector<SendDigest> commands_of(const Digest& d, const Answered& a) {
  std::vector<SendDigest> all;
  for (const auto* by_owner : {&d.deletes, &d.hand_overs}) {
    const auto sent = by_owner->find(a.granted.owner);
    if (sent != by_owner->end()) all.insert(all.end(), sent->second.begin(), sent->second.end());
  }
  return all;
}

/// Whether this document vanished by a command of this release that was never answered.
bool own_unanswered(const Digest& d, const Answered& a, Index gone) {
  const auto at = d.at(gone).at_ns;
  if (at < a.asked.at_ns || at > a.answer.at_ns) return false;
  const auto all = commands_of(d, a);
  return std::any_of(all.begin(), all.end(), [&](const SendDigest& one) {
    return d.unanswered(one) && d.at(one.send).at_ns <= at;
  });
}

/// Whether the answer comes from a member that does not know of the grant yet, and the document was
/// there all the time: from before the command was sent until after it was answered.
Index denied_by_an_old_primary(const Digest& d, const Answered& a) {
  const auto truth = d.truth.find(a.granted.name);
  if (truth == d.truth.end()) return kNone;
  for (const SendDigest& one : commands_of(d, a)) {
    if (one.reply == kNone) continue;
    const Event& reply = d.at(one.reply);
    const bool decides = reply.outcome == "done" && reply.matched == 0 &&
                         reply.seen_lock_id.empty() && reply.at_ns == a.answer.at_ns &&
                         reply.order < a.granted.token;
    if (!decides) continue;
    Index there = kNone;
    // While servers are busy with a fault, the truth is read later.
    const auto known = reply.at_ns + d.allowed.truth_lag_ns + d.allowed.fault_echo_ns;
    if (d.stalled_ns({d.at(one.send).at_ns, known}) > 0) continue;
    for (const Change& c : truth->second) {
      const Event& e = d.at(c.event);
      if (e.at_ns > known) break;
      there = !c.gone && owner_of(e.lock_id) == a.granted.owner ? c.event : kNone;
    }
    if (there != kNone && d.at(there).at_ns < d.at(one.send).at_ns) return there;
  }
  return kNone;
}

/// Whether a delete of this release found nothing, though the document was there before it was
/// sent and after it was answered.
Index overlooked(const Digest& d, const Answered& a) {
  const auto sent = d.deletes.find(a.granted.owner);
  const auto truth = d.truth.find(a.granted.name);
  if (sent == d.deletes.end() || truth == d.truth.end()) return kNone;
  for (const SendDigest& one : sent->second) {
    if (one.reply == kNone || d.at(one.reply).outcome != "done" || d.at(one.reply).matched > 0) {
      continue;
    }
    // A delete of what nobody waits for finds nothing where somebody does; a pass-on follows it.
    if (d.at(one.send).verb == "delete" && d.at(sent->second.back().send).verb == "pass-on")
      continue;
    Index last = kNone;
    for (const Change& c : truth->second) {
      if (d.at(c.event).order <= d.at(one.reply).order) last = c.gone ? kNone : c.event;
    }
    const bool ours = last != kNone && owner_of(d.at(last).lock_id) == a.granted.owner;
    if (ours && d.at(last).at_ns < d.at(one.send).at_ns) return last;
  }
  return kNone;
}

void check_released(Finding& f, const std::string& who, const Answered& a, const Ends& ends) {
  if (ends.by_itself) return;
  violate(f, who + "'s release returned 'released', but no command of its own freed the lock",
          a.events);
}

void check_not_owner(const Digest& d, Finding& f, const std::string& who, const Answered& a,
                     const Ends& ends) {
  const auto own = std::find_if(ends.deleted.begin(), ends.deleted.end(), [&](Index reply) {
    return d.at(reply).at_ns <= a.answer.at_ns && d.at(reply).at_ns >= a.asked.at_ns;
  });
  if (own != ends.deleted.end()) {
    violate(f, who + "'s release returned 'not_owner', but its own delete freed the lock",
            a.events);
  }
  for (const Index gone : ends.vanished) {
    if (!own_unanswered(d, a, gone)) continue;
    violate(
        f,
        who + "'s release returned 'not_owner', but only its own command can have freed the lock",
        {a.events.front(), gone, a.events.back()});
  }
  Index there = overlooked(d, a);
  if (there == kNone) there = denied_by_an_old_primary(d, a);
  if (there == kNone) return;
  auto events = a.events;
  events.push_back(there);
  violate(f, who + "'s release returned 'not_owner', but its document was there",
          std::move(events));
}

}  // namespace

Finding check_release(const Digest& d) {
  Finding f = finding(Guarantee::release);
  if (d.of_a_document) return f;  // they delete by rules of their own
  auto ends = all_ends(d);
  for (const auto& [key, s] : d.sessions) {
    if (s.granted == kNone || s.release == kNone || s.released == kNone) continue;
    const Answered a{d.at(s.release), d.at(s.released), d.at(s.granted), {s.release, s.released}};
    const std::string who = "lock '" + a.granted.name + "': " + key.first;
    if (a.answer.outcome == "unknown") continue;
    ++f.checked;
    const Ends& own = ends[a.granted.owner];
    if (a.answer.outcome == "released") check_released(f, who, a, own);
    // One that was lost before was notified; what it cleaned up itself is gone for that reason.
    const bool lost = s.lost != kNone && d.at(s.lost).at_ns <= a.asked.at_ns;
    if (a.answer.outcome == "not_owner" && !lost) check_not_owner(d, f, who, a, own);
  }
  return f;
}

}  // namespace leasehold::model

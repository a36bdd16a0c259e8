#include <algorithm>
#include <set>

#include "model/finding.hpp"

namespace leasehold::model {
namespace {

std::int64_t count(const std::map<std::string, std::int64_t>& counts, const char* key) {
  const auto found = counts.find(key);
  return found == counts.end() ? 0 : found->second;
}

/// The write that stood before each write of a lock, by the later one's lockId; kNone: it was free.
std::unordered_map<std::string, Index> before_each(const Digest& d) {
  std::unordered_map<std::string, Index> before;
  for (const auto& [name, changes] : d.truth) {
    Index last = kNone;
    for (const Change& c : changes) {
      if (!c.gone) before.emplace(d.at(c.event).lock_id, last);
      last = c.event;
    }
  }
  return before;
}

/// The sessions of one process, as spans in which it may have had something to ask the servers.
using Lives = std::map<std::string, std::vector<std::pair<Span, const SessionDigest*>>>;

Lives lives_of(const Digest& d) {
  Lives lives;
  for (const auto& [key, s] : d.sessions) {
    if (s.ask == kNone) continue;
    Span life{d.at(s.ask).at_ns, kNever};
    for (const Index end : {s.ended, s.released}) {
      if (end != kNone) life.to = std::min(life.to, d.at(end).at_ns + d.allowed.lateness_ns);
    }
    lives[key.first].emplace_back(life, &s);
  }
  return lives;
}

/// Whether every attempt was answered, so that none had to be repeated.
bool all_answered(const Digest& d, const SessionDigest& s) {
  return std::all_of(s.attempts.begin(), s.attempts.end(), [&](Index send) {
    const Index reply = d.writers.at(d.at(send).lock_id).reply;
    return reply != kNone && d.at(reply).outcome == "done";
  });
}

/// Whether the lock was free from the asking to the win, and nobody and nothing disturbed that.
bool uncontended(const Digest& d, const std::unordered_map<std::string, Index>& before,
                 const std::string& process, const SessionDigest& s) {
  const Span asking{d.at(s.ask).at_ns, d.at(s.granted).at_ns};
  const auto stood = before.find(d.at(s.granted).lock_id);
  if (stood == before.end()) return false;
  const bool free = stood->second == kNone || (d.at(stood->second).kind == Kind::gone &&
                                               d.at(stood->second).at_ns < asking.from);
  return free && all_answered(d, s) && !d.disturbed(asking) && d.ran_throughout(process, asking);
}

/// Looks for a lock that its process sent while it did nothing but this acquire.
Index look_meanwhile(const Digest& d, const std::vector<Index>& looks,
                     const Lives::mapped_type& all, const SessionDigest& s) {
  const Span asking{d.at(s.ask).at_ns, d.at(s.granted).at_ns};
  const auto look = std::find_if(looks.begin(), looks.end(), [&](Index i) {
    return d.at(i).at_ns >= asking.from && d.at(i).at_ns < asking.to;
  });
  if (look == looks.end()) return kNone;
  const bool alone = std::none_of(all.begin(), all.end(), [&](const auto& life) {
    return life.second != &s && life.first.meets(asking);
  });
  return alone ? *look : kNone;
}

/// One command, where nobody holds the lock and no command is lost.
void check_acquires(const Digest& d, Finding& f) {
  const auto before = before_each(d);
  const auto lives = lives_of(d);
  std::map<std::string, std::vector<Index>> looks;
  for (Index i = 0; i < d.history->size() && !d.of_a_document; ++i) {
    if (d.at(i).kind == Kind::send && d.at(i).verb == "look") looks[d.at(i).process].push_back(i);
  }
  for (const auto& [key, s] : d.sessions) {
    if (s.granted == kNone || s.ask == kNone || !uncontended(d, before, key.first, s)) continue;
    ++f.checked;
    const Index look = look_meanwhile(d, looks[key.first], lives.at(key.first), s);
    if (s.attempts.size() == 1 && look == kNone) continue;
    auto events = s.attempts;
    events.push_back(look);
    violate(f, key.first + ": an acquire without contention took more than one command",
            std::move(events));
  }
}

/// Whether a delete of this owner was sent, and not only what leaves its place in a queue.
bool has_deleted(const Digest& d, const std::string& owner) {
  const auto sent = d.deletes.find(owner);
  return sent != d.deletes.end() &&
         std::any_of(sent->second.begin(), sent->second.end(),
                     [&](const SendDigest& one) { return d.at(one.send).verb == "delete"; });
}

/// A call whose attempts were all refused has nothing to clean up.
void check_refused(const Digest& d, Finding& f) {
  std::map<std::string, std::pair<Index, bool>> owners;  // first attempt; all of them refused
  for (Index i = 0; i < d.history->size(); ++i) {
    const Event& e = d.at(i);
    if (e.kind != Kind::send || e.verb != "acquire") continue;
    const Index reply = d.writers.at(e.lock_id).reply;
    const bool another = reply != kNone && d.at(reply).outcome == "done" &&
                         !d.at(reply).seen_lock_id.empty() &&
                         owner_of(d.at(reply).seen_lock_id) != e.owner;
    const bool refused = another || (reply != kNone && d.at(reply).outcome == "duplicate_key");
    auto& [first, all] = owners.try_emplace(e.owner, i, true).first->second;
    all = all && refused;
  }
  std::set<std::string> received;  // owners that were handed the lock
  for (const auto& [giver, sends] : d.hand_overs) {
    for (const SendDigest& one : sends) received.insert(d.at(one.send).owner);
  }
  for (const auto& [owner, attempts] : owners) {
    if (!attempts.second) continue;
    ++f.counts["only_refused"];
    if (received.contains(owner) || !has_deleted(d, owner)) continue;
    violate(f,
            d.at(attempts.first).process + ": a call whose attempts were all refused sent a delete",
            {attempts.first, d.deletes.at(owner).front().send});
  }
}

/// A release is one command; two where a delete finds that others wait, who were not there when the
/// lock was got.
std::size_t most_commands(const Digest& d, const std::vector<SendDigest>& sent) {
  const Index first = sent.front().reply;
  const bool others_wait = sent.size() > 1 && d.at(sent[0].send).verb == "delete" &&
                           d.at(sent[1].send).verb == "pass-on" && first != kNone &&
                           d.at(first).outcome == "done" && d.at(first).matched == 0;
  return others_wait ? 2 : 1;
}

}  // namespace

Finding check_cost(const Digest& d) {
  Finding f = finding(Guarantee::G9);
  for (const auto& [key, s] : d.sessions) {
    if (s.granted == kNone) continue;
    ++f.counts["grants"];
    f.counts["attempts"] += static_cast<std::int64_t>(s.attempts.size());
    if (s.released == kNone || d.at(s.released).outcome == "unknown") continue;
    const std::string& owner = d.at(s.granted).owner;
    if (d.hand_overs.contains(owner)) continue;  // which is its release
    // At the end of its longest holding a lock has sent a delete of its own.
    if (s.lost != kNone && d.at(s.lost).outcome == "max_holding") continue;
    const auto deletes = d.deletes.find(owner);
    if (deletes == d.deletes.end()) {
      violate(f, key.first + ": a release without a command", {s.granted, s.released});
      continue;
    }
    const auto most = most_commands(d, deletes->second);
    if (s.attempts.size() == 1 && deletes->second.size() > most) {
      const Index first = deletes->second[most - 1].reply;
      // An old primary, which does not know of the grant, has not answered.
      const bool answered = first != kNone && d.at(first).outcome == "done" &&
                            d.at(first).order >= d.at(s.granted).token;
      if (answered) {
        violate(f, key.first + ": a release took more than one command",
                {s.granted, s.release, s.released});
      }
    }
  }
  check_acquires(d, f);
  check_refused(d, f);
  if (d.of_a_document) return f;  // other commands, by other names
  constexpr std::pair<const char*, const char*> kNames[] = {
      {"acquire", "findAndModify"}, {"extend", "update"}, {"delete", "delete"}, {"look", "find"}};
  for (const auto& [name, p] : d.processes) {
    for (const auto& [ours, wires] : kNames) {
      const bool grants = ours == std::string_view("acquire");
      const auto others = count(p.sent, "hand-over") + count(p.sent, "pass-on");
      const auto asked = count(p.sent, ours) + (grants ? others : 0);
      if (count(p.wire, wires) <= asked) continue;
      violate(f,
              name + ": the driver sent " + std::to_string(count(p.wire, wires)) + " " + wires +
                  ", and was asked for " + std::to_string(asked),
              {p.start});
    }
  }
  return f;
}

}  // namespace leasehold::model

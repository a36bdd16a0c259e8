#include <set>

#include "model/finding.hpp"

namespace leasehold::model {
namespace {

std::int64_t count(const std::map<std::string, std::int64_t>& counts, const char* key) {
  const auto found = counts.find(key);
  return found == counts.end() ? 0 : found->second;
}

/// A call whose attempts were all refused has nothing to clean up.
void check_refused(const Digest& d, Finding& f) {
  std::map<std::string, std::pair<Index, bool>> owners;  // first attempt; all of them refused
  for (Index i = 0; i < d.history->size(); ++i) {
    const Event& e = d.at(i);
    if (e.kind != Kind::send || e.detail != "acquire") continue;
    const Index reply = d.writers.at(e.lock_id).reply;
    const bool refused = reply != kNone && d.at(reply).outcome == "done" &&
                         !d.at(reply).lock_id.empty() && owner_of(d.at(reply).lock_id) != e.owner;
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
    if (!d.deletes.contains(owner) || received.contains(owner)) continue;
    violate(f, d.at(attempts.first).process + ": a call that was only ever refused sent a delete",
            {attempts.first, d.deletes.at(owner).front().send});
  }
}

}  // namespace

Finding check_cost(const Digest& d) {
  Finding f = finding("G9",
                      "one command per uncontended acquire, one per release; none that the "
                      "core did not ask for");
  for (const auto& [key, s] : d.sessions) {
    if (s.granted == kNone) continue;
    if (s.acquires_sent == 1) ++f.checked;
    ++f.counts["grants"];
    f.counts["attempts"] += s.acquires_sent;
    if (s.released == kNone || d.at(s.released).outcome == "unknown") continue;
    const std::string& owner = d.at(s.granted).owner;
    if (d.hand_overs.contains(owner)) continue;  // which is its release
    // At the end of its longest holding a lock has sent a delete of its own.
    if (s.lost != kNone && d.at(s.lost).outcome == "max_holding") continue;
    const auto deletes = d.deletes.find(owner);
    if (deletes == d.deletes.end()) {
      violate(f, key.first + ": a release without a command", {s.granted, s.released});
    } else if (s.acquires_sent == 1 && deletes->second.size() > 1) {
      const Index first = deletes->second.front().reply;
      const bool answered = first != kNone && d.at(first).outcome == "done";
      if (answered) {
        violate(f, key.first + ": a release took more than one command",
                {s.granted, s.release, s.released});
      }
    }
  }
  check_refused(d, f);
  if (d.of_a_document) return f;  // other commands, by other names
  constexpr std::pair<const char*, const char*> kNames[] = {
      {"acquire", "findAndModify"}, {"extend", "update"}, {"delete", "delete"}, {"look", "find"}};
  for (const auto& [name, p] : d.processes) {
    for (const auto& [ours, wires] : kNames) {
      const bool grants = ours == std::string_view("acquire");
      const auto asked = count(p.sent, ours) + (grants ? count(p.sent, "hand-over") : 0);
      if (count(p.wire, wires) <= asked) continue;
      violate(f,
              name + ": the driver sent " + std::to_string(count(p.wire, wires)) + " " + wires +
                  " for " + std::to_string(asked) + " asked",
              {p.start});
    }
  }
  return f;
}

}  // namespace leasehold::model

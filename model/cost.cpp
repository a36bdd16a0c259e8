#include "model/finding.hpp"

namespace leasehold::model {
namespace {

std::int64_t count(const std::map<std::string, std::int64_t>& counts, const char* key) {
  const auto found = counts.find(key);
  return found == counts.end() ? 0 : found->second;
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
    const auto deletes = d.deletes.find(d.at(s.granted).owner);
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
  constexpr std::pair<const char*, const char*> kNames[] = {
      {"acquire", "findAndModify"}, {"extend", "update"}, {"delete", "delete"}, {"look", "find"}};
  for (const auto& [name, p] : d.processes) {
    for (const auto& [ours, wires] : kNames) {
      if (count(p.wire, wires) <= count(p.sent, ours)) continue;
      violate(f,
              name + ": the driver sent " + std::to_string(count(p.wire, wires)) + " " + wires +
                  " for " + std::to_string(count(p.sent, ours)) + " asked",
              {p.start});
    }
  }
  return f;
}

}  // namespace leasehold::model

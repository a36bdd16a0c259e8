#include "sim/live/run/run_history.hpp"

#include <algorithm>
#include <map>

#include "sim/plan/fault.hpp"

namespace leasehold::sim::live {

using model::Event;
using model::Kind;

bool documents_left(const model::History& history) {
  std::map<std::string, std::int64_t> last;  // by name: the order of the last change
  std::map<std::string, bool> there;
  for (const Event& e : history) {
    if (e.kind != Kind::put && e.kind != Kind::gone) continue;
    if (e.order < last[e.name]) continue;
    last[e.name] = e.order;
    there[e.name] = e.kind == Kind::put;
  }
  return std::any_of(there.begin(), there.end(), [](const auto& t) { return t.second; });
}

void put_end_last(model::History& history) {
  const auto is_finish = [](const Event& e) { return e.kind == Kind::finish; };
  const auto end = std::find_if(history.begin(), history.end(), is_finish);
  std::rotate(end, end + 1, history.end());
  history.back().at_ns = std::max(history.back().at_ns, history[history.size() - 2].at_ns);
}

std::vector<Away> members_away(const model::History& history, std::int64_t now_ns) {
  std::vector<Away> all;
  for (const Event& e : history) {
    const auto kind = e.kind == Kind::fault ? fault_named(e.fault) : std::nullopt;
    if (!kind || !takes_members(*kind)) continue;
    if (e.begins) all.push_back({e.victim, e.at_ns, now_ns});
    for (Away& a : all) {
      if (e.ends && a.member == e.victim) a.to_ns = std::min(a.to_ns, e.at_ns);
    }
  }
  return all;
}

bool is_ours(const Event& stall, const std::vector<Away>& away) {
  if (stall.victim == model::kMachine) return false;
  return std::any_of(away.begin(), away.end(), [&](const Away& a) {
    return (a.member.empty() || a.member == stall.victim) && a.from_ns < stall.at_ns &&
           stall.from_ns < a.to_ns;
  });
}

}  // namespace leasehold::sim::live

#include "model/verdict/finding.hpp"

namespace leasehold::model {
namespace {

/// Whether the machine stood still for more than half of the time in which the process should have
/// ended.
bool was_held_up(const Digest& d, std::int64_t killed_ns) {
  std::vector<Span> stalls;
  for (const Event& e : *d.history) {
    if (e.kind == Kind::stall && e.victim == kMachine) stalls.push_back({e.from_ns, e.at_ns});
  }
  const MergedSpans merged(std::move(stalls));
  const auto still_ns = in_common(merged.all(), {d.healed_ns, killed_ns});
  return 2 * still_ns > killed_ns - d.healed_ns;
}

/// The line that says most, for a list; the event has them all.
std::string telling_line(const std::string& words) {
  auto at = words.find("check failed");
  if (at == std::string::npos) at = words.find("Sanitizer");
  if (at == std::string::npos) at = words.find("terminate called");
  const auto line = at == std::string::npos ? at : words.rfind('\n', at);
  const auto begin = line == std::string::npos ? 0 : line + 1;
  return words.substr(begin, words.find('\n', begin) - begin);
}

}  // namespace

Finding check_alive(const Digest& d) {
  Finding f = finding(Check::alive);
  for (Index i = 0; i < d.facts.all.size(); ++i) {
    if (d.fact(i).kind == Kind::start) ++f.checked;
    if (d.fact(i).kind != Kind::exit || !died_of_itself(d.at(i))) continue;
    const Event& exit = d.at(i);
    if (exit.outcome == "did not end" && was_held_up(d, exit.at_ns)) {
      excuse(f, Excuse::stall);
      continue;
    }
    const auto words = telling_line(exit.message);
    violate(f, describe_exit(exit) + (words.empty() ? "" : ": " + words), {i});
  }
  return f;
}

}  // namespace leasehold::model

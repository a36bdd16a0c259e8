#include "properties/explored_paths.hpp"

#include <algorithm>

#include "properties/judgement.hpp"

namespace leasehold::properties {

using model::Verdict;

namespace {

/// Of those that were put to the test, the first with this verdict, and why. REQUIRES: not `holds`.
std::string reason(const std::vector<model::Finding>& findings, Verdict verdict) {
  for (const auto& finding : findings) {
    if (finding.verdict != verdict || finding.never_tested()) continue;
    return std::string(to_string(finding.guarantee)) + ": " + finding.why;
  }
  return "";
}

}  // namespace

ExploredPaths check_paths(const sim::explored::CoreSystem& system,
                          const model::Explorer<sim::explored::CoreSystem>& explorer,
                          std::uint64_t most, const std::function<bool(std::uint64_t)>& go_on) {
  ExploredPaths out;
  const auto ends = explorer.ends();
  out.all = ends.size();
  const std::uint64_t count = std::min<std::uint64_t>(most, ends.size());
  for (std::uint64_t i = 0; i < count; ++i) {
    if (!go_on(out.checked)) {
      out.verdict = Verdict::unknown;
      out.why = "interrupted";
      return out;
    }
    const auto path = explorer.path_to(ends[i * ends.size() / count]);
    const auto findings = judge(system.history(path)).findings;
    merge(out.findings, findings);
    ++out.checked;
    out.verdict = model::overall_tested(findings);
    out.why.clear();
    if (out.verdict == Verdict::holds) continue;
    out.why = reason(findings, out.verdict);
    out.story = system.story(path);
    break;
  }
  return out;
}

}  // namespace leasehold::properties

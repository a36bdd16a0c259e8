#include "properties/explored_paths.hpp"

#include <algorithm>

#include "properties/judgement.hpp"

namespace leasehold::properties {

using model::Verdict;

ExploredPaths check_paths(const sim::explored::CoreSystem& system,
                          const model::Explorer<sim::explored::CoreSystem>& explorer,
                          std::uint64_t most, const std::function<bool(std::uint64_t)>& go_on) {
  ExploredPaths out;
  const auto ends = explorer.ends();
  out.all = ends.size();
  const std::uint64_t count = std::min<std::uint64_t>(most, ends.size());
  for (std::uint64_t i = 0; i < count && out.verdict != Verdict::violated; ++i) {
    if (!go_on(out.checked)) {
      out.verdict = Verdict::unknown;
      out.why = "interrupted";
      return out;
    }
    const auto path = explorer.path_to(ends[i * ends.size() / count]);
    merge(out.findings, judge(system.history(path)).findings);
    ++out.checked;
    out.verdict = model::overall_tested(out.findings);
    if (out.verdict == Verdict::violated) out.story = system.story(path);
  }
  if (out.verdict == Verdict::holds) {
    out.why.clear();
    return out;
  }
  for (const auto& finding : out.findings) {
    if (finding.verdict != out.verdict || finding.never_tested()) continue;
    out.why = std::string(to_string(finding.guarantee)) + ": " + finding.why;
    break;
  }
  return out;
}

}  // namespace leasehold::properties

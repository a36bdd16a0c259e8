#include "properties/judged.hpp"

#include <algorithm>

namespace leasehold::properties {

using model::Finding;
using model::Kind;
using model::Verdict;

void add(Totals& to, const Totals& from) {
  for (const auto& [key, count] : from) to[key] += count;
}

void merge(std::vector<Finding>& all, const std::vector<Finding>& one) {
  if (all.empty()) {
    all = one;
    return;
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    Finding& a = all[i];
    const Finding& b = one[i];
    a.checked += b.checked;
    a.violations += b.violations;
    add(a.counts, b.counts);
    const bool worse = (b.verdict == Verdict::violated && a.verdict != Verdict::violated) ||
                       (b.verdict == Verdict::unknown && a.verdict == Verdict::holds);
    if (!worse) continue;
    a.verdict = b.verdict;
    a.why = b.why;
    a.events = b.events;
  }
}

Judged judge(const model::History& history) {
  const auto digest = model::digest(history);
  Judged judged{model::judge(digest, {}), {}};
  auto [taken, finding] = sim::conform(digest);
  const bool whole = judged.findings.front().verdict == Verdict::holds;
  if (!whole) {
    finding.verdict = Verdict::unknown;
    finding.why = "the history is not whole";
  }
  judged.findings.push_back(std::move(finding));
  judged.arrows = std::move(taken);
  return judged;
}

bool breaks(const Judged& judged, const std::string& guarantee) {
  return std::any_of(judged.findings.begin(), judged.findings.end(), [&](const Finding& f) {
    return f.guarantee == guarantee && f.verdict == Verdict::violated;
  });
}

Totals totals_of(const model::History& history, const std::vector<Finding>& findings) {
  Totals totals{{"acquisitions", 0}, {"extensions", 0},   {"releases", 0},  {"fenced_writes", 0},
                {"takeovers", 0},    {"stale_writes", 0}, {"hand_overs", 0}};
  for (const auto& e : history) {
    if (e.kind == Kind::granted) ++totals["acquisitions"];
    if (e.kind == Kind::extended) ++totals["extensions"];
    if (e.kind == Kind::released && e.outcome == "released") ++totals["releases"];
    if (e.kind == Kind::write && e.outcome == "accepted") ++totals["fenced_writes"];
    if (e.kind == Kind::lost) ++totals["losses"];
    if (e.kind == Kind::lost && e.outcome == "max_holding") ++totals["held_too_long"];
    if (e.kind == Kind::reply && e.detail == "stream") {
      ++totals[e.outcome == "done" ? "stream_steps" : "streams_broken"];
    }
    if (e.kind == Kind::reply && e.outcome == "unknown") ++totals["unknown_outcomes"];
  }
  for (const auto& f : findings) {
    if (f.guarantee == "G1" && f.counts.contains("takeovers")) {
      totals["takeovers"] += f.counts.at("takeovers");
    }
    if (f.guarantee == "G1" && f.counts.contains("hand_overs")) {
      totals["hand_overs"] += f.counts.at("hand_overs");
    }
    for (const char* key : {"stale_writes", "stale_writes_refused", "bounded_takeovers"}) {
      if (f.counts.contains(key)) totals[key] += f.counts.at(key);
    }
  }
  return totals;
}

}  // namespace leasehold::properties

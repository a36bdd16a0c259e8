#include "sim/live/permits/permit_claims.hpp"

#include <algorithm>
#include <tuple>

namespace leasehold::sim::live {
namespace {

/// One permit, from the first to the last claim of it.
struct Holding {
  int slot;
  std::int64_t from_ns, to_ns, token;
};

/// By slot, then by their begin.
std::vector<Holding> holdings_of(const std::vector<PermitClaim>& claims) {
  std::map<std::tuple<std::string, int, std::int64_t>, Holding> found;
  for (const auto& c : claims) {
    auto& h = found.try_emplace({c.process, c.slot, c.token},
                                Holding{c.slot, c.at_ns, c.at_ns, c.token})
                  .first->second;
    h.from_ns = std::min(h.from_ns, c.at_ns);
    h.to_ns = std::max(h.to_ns, c.at_ns);
  }
  std::vector<Holding> all;
  for (const auto& [of, holding] : found) all.push_back(holding);
  std::sort(all.begin(), all.end(), [](const Holding& a, const Holding& b) {
    return std::tie(a.slot, a.from_ns, a.token) < std::tie(b.slot, b.from_ns, b.token);
  });
  return all;
}

int most_at_once(const std::vector<Holding>& holdings) {
  std::vector<std::pair<std::int64_t, int>> changes;  // a begin comes before an end of that time
  for (const auto& h : holdings) {
    changes.emplace_back(h.from_ns, -1);
    changes.emplace_back(h.to_ns, 1);
  }
  std::sort(changes.begin(), changes.end());
  int now = 0, most = 0;
  for (const auto& [at, change] : changes) most = std::max(most, now -= change);
  return most;
}

}  // namespace

PermitVerdict judge_permits(const std::vector<PermitClaim>& claims) {
  const auto holdings = holdings_of(claims);
  PermitVerdict verdict;
  verdict.grants = static_cast<int>(holdings.size());
  verdict.most = most_at_once(holdings);
  for (std::size_t i = 1; i < holdings.size(); ++i) {
    const Holding &before = holdings[i - 1], &next = holdings[i];
    if (before.slot != next.slot) continue;
    if (next.from_ns <= before.to_ns) ++verdict.overlaps;
    if (next.token <= before.token) ++verdict.falling;
  }
  return verdict;
}

double jains_index(const std::vector<double>& counts) {
  double sum = 0, squares = 0;
  for (const double count : counts) {
    sum += count;
    squares += count * count;
  }
  return squares == 0 ? 0 : sum * sum / (static_cast<double>(counts.size()) * squares);
}

}  // namespace leasehold::sim::live

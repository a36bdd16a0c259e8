#include "properties/reference_checkers/comparison.hpp"

#include <set>

namespace leasehold::properties {

using model::Kind;

std::string difference(const model::History& history, model::CheckSet of) {
  using model::Check;
  constexpr model::CheckSet kOfPairs{Check::G2, Check::G3, Check::G4};
  auto slow = slow_counts(history);
  for (const auto& f : model::judge(history, {})) {
    // They go through one record in its order: there is nothing to look for in another way.
    if (f.check == Check::form || f.check == Check::grounded) continue;
    if (f.check == Check::alive) continue;  // each exit by itself
    if (!of.empty() && !of.contains(f.check)) continue;
    const auto twin = slow.find(f.check);
    if (twin == slow.end()) return std::string(to_string(f.check)) + " has no slow twin";
    const bool agree = kOfPairs.contains(f.check) ? (f.violations > 0) == (twin->second > 0)
                                                      : f.violations == twin->second;
    if (agree) continue;
    return std::string(to_string(f.check)) + ": the checker finds " +
           std::to_string(f.violations) + ", its twin finds " + std::to_string(twin->second) +
           "; " + f.why;
  }
  return "";
}

model::History smallest_different(model::History history, model::CheckSet of) {
  const std::set<Kind> kept{Kind::run, Kind::heal, Kind::finish, Kind::start};
  for (std::size_t i = history.size(); i-- > 0;) {
    auto less = history;
    less.erase(less.begin() + static_cast<std::ptrdiff_t>(i));
    if (!kept.contains(history[i].kind) && !difference(less, of).empty()) history = less;
  }
  return history;
}

}  // namespace leasehold::properties

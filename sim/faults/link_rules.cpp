#include "sim/faults/link_rules.hpp"

#include <algorithm>
#include <utility>

namespace leasehold::sim {

LinkRule both(const LinkRule& a, const LinkRule& b) {
  return {.hold_requests = a.hold_requests || b.hold_requests,
          .hold_replies = a.hold_replies || b.hold_replies,
          .delay_requests = std::max(a.delay_requests, b.delay_requests),
          .delay_replies = std::max(a.delay_replies, b.delay_replies),
          .refuse = a.refuse || b.refuse};
}

void LinkRules::add(Owner owner, Links links, const LinkRule& rule) {
  rules_[owner] = {std::move(links), rule};
}

Links LinkRules::remove(Owner owner) {
  auto owned = rules_.extract(owner);
  return owned.empty() ? Links{} : std::move(owned.mapped().links);
}

LinkRule LinkRules::of(const Link& link) const {
  LinkRule sum;
  for (const auto& [owner, owned] : rules_) {
    const auto& links = owned.links;
    if (std::find(links.begin(), links.end(), link) != links.end()) sum = both(sum, owned.rule);
  }
  return sum;
}

}  // namespace leasehold::sim

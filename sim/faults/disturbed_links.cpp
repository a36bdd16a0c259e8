#include "sim/faults/disturbed_links.hpp"

namespace leasehold::sim {

Links DisturbedLinks::of_member(int member) const {
  Links links;
  for (int other = 0; other < size(); ++other) {
    if (other == member) continue;
    for (const char* what : {"/beat", "/sync"}) {
      links.push_back({member_name(member) + what, other});
      links.push_back({member_name(other) + what, member});
    }
  }
  return links;
}

Links DisturbedLinks::of_fetching(int member) const {
  Links links;
  for (int other = 0; other < size(); ++other) {
    if (other != member) links.push_back({member_name(member) + "/sync", other});
  }
  return links;
}

Links DisturbedLinks::of_replication() const {
  Links links;
  for (int member = 0; member < size(); ++member) {
    for (auto& link : of_fetching(member)) links.push_back(std::move(link));
  }
  return links;
}

Links DisturbedLinks::of_process(const std::string& process) const {
  Links links;
  for (int to = 0; to < size(); ++to) links.push_back({process, to});
  return links;
}

std::int64_t DisturbedLinks::touched(const Links& links) const {
  std::int64_t sum = 0;
  for (const Link& link : links) sum += cluster_.servers->links.touched(link);
  return sum;
}

void DisturbedLinks::disturb(LinkRules::Owner by, const Links& links, const LinkRule& rule) {
  rules_.add(by, links, rule);
  for (const Link& link : links) cluster_.servers->links.set_link_rule(link, rules_.of(link));
}

void DisturbedLinks::leave(LinkRules::Owner by, bool resets) {
  for (const Link& link : rules_.remove(by)) {
    // Waiting bytes are dropped first, or the rule's end would let them through.
    if (resets) cluster_.servers->links.reset_link(link);
    cluster_.servers->links.set_link_rule(link, rules_.of(link));
  }
}

}  // namespace leasehold::sim

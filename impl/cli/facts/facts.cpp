#include "cli/facts/facts.hpp"

namespace leasehold::cli {

const std::vector<Fact>& facts() {
  static const std::vector<Fact> all = [] {
    std::vector<Fact> list;
    for (const auto& part :
         {facts_of_answers(), facts_of_attempts(), facts_of_writes(), facts_of_time(),
          facts_of_news(), facts_of_removal(), facts_of_faults()}) {
      list.insert(list.end(), part.begin(), part.end());
    }
    return list;
  }();
  return all;
}

Finding try_fact(const Fact& fact, TrialSite& site) {
  if (fact.trial == nullptr) {
    return {Finding::Is::not_tried,
            "needs a fault of servers: leasehold-lab verify tries it on servers of its own"};
  }
  try {
    return {Finding::Is::holds, fact.trial(site)};
  } catch (const Fails& seen) {
    return {Finding::Is::fails, seen.what(), true};
  } catch (const NotTried& why) {
    return {Finding::Is::not_tried, why.what(), fact.needed && !why.of_this_set};
  }
}

}  // namespace leasehold::cli

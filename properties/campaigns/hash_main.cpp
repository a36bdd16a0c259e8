#include <cstdio>
#include <cstdlib>

#include "properties/campaigns/campaign.hpp"

/// The hash of the histories of these seeds, as `leasehold-lab simulate --seeds FROM..TO --hash`
/// prints it.
int main(int count, char** words) {
  using namespace leasehold;
  if (count != 3) return std::fprintf(stderr, "usage: leasehold-hash FROM TO\n"), 64;
  unsigned long long hash = 0;
  const auto last = std::strtoull(words[2], nullptr, 10);
  for (auto seed = std::strtoull(words[1], nullptr, 10); seed <= last; ++seed) {
    const auto plan = properties::plan_from(properties::numbers_of(seed), {});
    hash += properties::seeds_hash(seed, sim::simulated::run(plan));
  }
  std::printf("hash %016llx\n", hash);
}

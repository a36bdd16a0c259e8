#include <cstdlib>
#include <iomanip>
#include <iostream>

#include "properties/campaigns/simulate.hpp"

/// The hash of the histories of these seeds, as `leasehold-lab simulate --seeds FROM..TO --hash`
/// prints it.
int main(int count, char** words) {
  using namespace leasehold;
  if (count != 3) return std::cerr << "usage: leasehold-hash FROM TO\n", 64;
  std::uint64_t hash = 0;
  const auto last = std::strtoull(words[2], nullptr, 10);
  for (auto seed = std::strtoull(words[1], nullptr, 10); seed <= last; ++seed) {
    const auto plan = properties::plan_from(properties::numbers_of(seed), {});
    hash += properties::seeds_hash(seed, sim::simulated::run(plan));
  }
  std::cout << "hash " << std::hex << std::setfill('0') << std::setw(16) << hash << '\n';
}

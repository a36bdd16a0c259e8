#include "sim/lock_registry.hpp"

#include <algorithm>
#include <stdexcept>

#include "published/recipe.hpp"

namespace leasehold::sim {

std::string LockUnderTest::collection() const {
  return is_published() ? std::string(recipe->collection) : "distributed.locks";
}

const std::vector<LockUnderTest>& locks() {
  static const std::vector<LockUnderTest> all = [] {
    std::vector<LockUnderTest> list{{"leasehold"},
                                    {"leasehold-w1", Sabotage::writes_for_one},
                                    {"canary", Sabotage::deletes_without_owner}};
    for (const auto& recipe : published::kRecipes) {
      list.push_back({.name = std::string(recipe().name), .recipe = &recipe()});
    }
    list.push_back({"canary-extend", Sabotage::extends_without_owner, false});
    list.push_back({"canary-clock", Sabotage::reads_the_real_clock, false});
    return list;
  }();
  return all;
}

const LockUnderTest& lock_under_test(std::string_view name) {
  const auto& all = locks();
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const auto& lock) { return lock.name == name; });
  if (found != all.end()) return *found;
  std::string allowed;
  for (const auto& lock : all) allowed += (allowed.empty() ? "" : ", ") + lock.name;
  throw std::runtime_error("lock is '" + std::string(name) + "': it must be one of " + allowed);
}

}  // namespace leasehold::sim

#include "sim/plan/lock_registry.hpp"

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
                                    {"canary", Sabotage::deletes_without_owner},
                                    {"canary-crash", Sabotage::dies_deleting}};
    for (const auto* recipe : published::recipes()) {
      list.push_back({.name = std::string(recipe->name), .recipe = recipe});
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

std::string_view promise_of(std::string_view lock, model::Check guarantee) {
  if (lock == "leasehold") {
    return model::is_asked_of_the_lock(guarantee) ? "its guarantees" : std::string_view();
  }
  const auto* recipe = published::recipe_named(lock);
  if (recipe == nullptr) return {};
  const auto& promises = recipe->promises;
  const auto found = std::find_if(promises.begin(), promises.end(), [&](const auto& p) {
    return p.guarantee == to_string(guarantee);
  });
  return found == promises.end() ? std::string_view() : found->sentence;
}

}  // namespace leasehold::sim

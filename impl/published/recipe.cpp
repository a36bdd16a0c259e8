#include "published/recipe.hpp"

#include <algorithm>

namespace leasehold::published {

const Recipe* recipe_named(std::string_view name) {
  const auto found = std::find_if(kRecipes.begin(), kRecipes.end(),
                                  [name](const auto& recipe) { return recipe().name == name; });
  return found == kRecipes.end() ? nullptr : &(*found)();
}

LockOptions default_options(const Recipe& recipe) {
  LockOptions options;
  options.clock_margin = std::chrono::milliseconds(0);
  options.expiry = recipe.expiry;
  if (recipe.pause) options.waiting = uniform_waiting(*recipe.pause, *recipe.pause);
  return options;
}

}  // namespace leasehold::published

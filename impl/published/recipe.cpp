#include "published/recipe.hpp"

#include <algorithm>

namespace leasehold::published {

const Recipe& distributed_lock();
const Recipe& insert_unique();
const Recipe& set_on_insert();

const std::vector<const Recipe*>& recipes() {
  static const std::vector<const Recipe*> all{&distributed_lock(), &document_level(),
                                              &insert_unique(), &set_on_insert()};
  return all;
}

const Recipe* recipe_named(std::string_view name) {
  const auto& all = recipes();
  const auto found =
      std::find_if(all.begin(), all.end(), [name](const Recipe* r) { return r->name == name; });
  return found == all.end() ? nullptr : *found;
}

LockOptions default_options(const Recipe& recipe) {
  using std::chrono::milliseconds;
  LockOptions options;
  options.clock_margin = milliseconds(0);
  if (recipe.usual_expiry) options.expiry = *recipe.usual_expiry;
  if (const auto pause = recipe.usual_pause) options.waiting = uniform_waiting(*pause, *pause);
  return options;
}

}  // namespace leasehold::published

#include "published/recipe.hpp"

#include <algorithm>

namespace leasehold::published {

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
  if (&recipe == &set_on_insert()) options.expiry = milliseconds(60'000);
  if (&recipe != &distributed_lock()) {
    options.waiting = uniform_waiting(milliseconds(100), milliseconds(100));
  }
  return options;
}

}  // namespace leasehold::published

#include "api/connect.hpp"
#include "published/recipe_provider.hpp"

namespace leasehold::published {

const std::vector<std::string>& names() {
  static const std::vector<std::string> all = [] {
    std::vector<std::string> list;
    for (const auto* recipe : recipes()) list.emplace_back(recipe->name);
    return list;
  }();
  return all;
}

Result<LockProvider> connect(const std::string& lock, const std::string& uri,
                             const Hardening& hardening, ProviderOptions options) {
  const Recipe* recipe = recipe_named(lock);
  if (recipe == nullptr) {
    return Error{ErrorKind::invalid_option, 0,
                 "lock is '" + lock +
                     "': it must be distributed-lock, document-level, insert-unique or "
                     "set-on-insert"};
  }
  return runtime::connect_with(std::make_unique<RecipeProvider>(*recipe, hardening), {.uri = uri},
                               std::move(options));
}

LockOptions default_options(const std::string& lock) {
  const Recipe* recipe = recipe_named(lock);
  return recipe == nullptr ? LockOptions() : default_options(*recipe);
}

}  // namespace leasehold::published

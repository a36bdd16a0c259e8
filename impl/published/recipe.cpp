#include "published/recipe.hpp"

#include <algorithm>

#include "mongo/commands.hpp"

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
  const auto found = std::ranges::find(all, name, &Recipe::name);
  return found == all.end() ? nullptr : *found;
}

LockOptions default_options(const std::string& lock) {
  using std::chrono::milliseconds;
  LockOptions options;
  const Recipe* recipe = recipe_named(lock);
  if (recipe == nullptr) return options;
  options.clock_margin = milliseconds(0);
  if (recipe->usual_expiry) options.expiry = *recipe->usual_expiry;
  const auto pause = recipe->usual_pause;
  options.waiting = pause ? uniform_waiting(*pause, *pause) : uniform_waiting();
  return options;
}

/// "@session" is one of the driver's, as its bytes: one for each attempt.
std::string command_of(const Recipe& recipe, std::string_view text, const Call& call,
                       core::WallInstant wall, const Hardening& hardening) {
  using mongo::Date;
  using mongo::Int32;
  const auto expiry = call.options.expiry;
  const auto limits = mongo::limits_of(call.options.effective_operation_timeout());
  const auto owner = to_hex(call.owner);
  std::uint8_t session[16];
  for (int i = 0; i < 8; ++i) {
    session[i] = static_cast<std::uint8_t>(call.owner.high >> (8 * i));
    session[i + 8] = static_cast<std::uint8_t>(call.owner.low >> (8 * i));
  }
  const mongo::Bson* const nothing = nullptr;
  const mongo::Hole checked = hardening.owner_check ? mongo::Hole{"@owner if checked", owner}
                                                    : mongo::Hole{"@owner if checked", nothing};
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(expiry).count();
  const mongo::Bson bytes =
      recipe.texts.filled(text, {{"@name", call.name},
                                 {"@owner", owner},
                                 checked,
                                 {"@value", call.value},
                                 {"@session", mongo::Uuid{session}},
                                 {"@expiry", expiry.count()},
                                 {"@expiry in seconds", Int32{seconds}},
                                 {"@now", Date{wall.since_1970_ms}},
                                 {"@expiry from now", Date{wall.since_1970_ms + expiry.count()}},
                                 {"@expiry ago", Date{wall.since_1970_ms - expiry.count()}},
                                 {"@wtimeout", Int32{limits.wtimeout_ms}},
                                 {"@limit", Int32{limits.max_time_ms}}});
  return std::string(bytes.bytes());
}

}  // namespace leasehold::published

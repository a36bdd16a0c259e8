#pragma once

#include <chrono>
#include <leasehold/published.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/protocol.hpp"
#include "core/time.hpp"
#include "mongo/bson_texts.hpp"

/// The commands of the published locks, as their authors write them, faults included. Pure.
namespace leasehold::published {

/// One attempt or holding, as its commands need it.
struct Call {
  std::string name;
  core::Owner owner;  ///< the GUID or client id that the lock generates
  LockOptions options;
  std::string value = {};  ///< document-level: of the entity
};

/// What its author claims, said once and before any run: a run cannot turn "violated" into "not
/// promised".
struct Promise {
  std::string_view guarantee;  ///< "G1" to "G9"
  std::string_view sentence;   ///< in our words
};

/// How a published lock works.
struct Recipe {
  std::string_view name;
  std::string_view collection;  ///< its default
  int tries = 0;                ///< attempts of one call, 0: until its time-out
  bool awaits_indexes = false;  ///< it makes them before anything else
  bool extends = false;
  bool has_tokens = false;
  std::vector<Promise> promises;
  // As published; a lease or a pause that it does not name is the production lock's.
  std::optional<std::chrono::milliseconds> usual_expiry, usual_pause;

  bool in_transaction = false;  ///< "@prepare" runs before "@acquire", which commits
  core::RawCommand::Won won = core::RawCommand::Won::by_success;
  std::vector<std::string_view> indexes;  ///< which of the texts make them
  mongo::BsonTexts texts;                 ///< "@acquire", "@release", and "@extend" if it extends
};

/// The bytes of the text of this name. `wall` is the caller's clock, for those that use it.
[[nodiscard]] std::string command_of(const Recipe& recipe, std::string_view text, const Call& call,
                                     core::WallInstant wall, const Hardening& hardening = {});

/// Each has a source of its own, named after it, with all that there is to say of it.
[[nodiscard]] const std::vector<const Recipe*>& recipes();
/// The one that `Entities` uses.
[[nodiscard]] const Recipe& document_level();
/// Null for a name that none has.
[[nodiscard]] const Recipe* recipe_named(std::string_view name);

}  // namespace leasehold::published

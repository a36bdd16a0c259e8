#pragma once

#include <chrono>
#include <leasehold/published.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/protocol.hpp"
#include "core/time.hpp"

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

/// How a published lock works. The functions build BSON; `wall` is the caller's clock, for those
/// that use it.
struct Recipe {
  std::string_view name;
  std::string_view collection;  ///< its default
  bool fresh_owner_each_try;    ///< else one for the call
  int tries;                    ///< attempts of one call, 0: until its time-out
  bool awaits_indexes;          ///< it makes them before anything else
  bool extends;
  bool has_tokens;
  std::vector<Promise> promises;
  // As published; a lease or a pause that it does not name is the production lock's.
  std::optional<std::chrono::milliseconds> usual_expiry, usual_pause;

  /// Runs before the attempt, in its transaction; may be null.
  std::string (*prepare)(const Call&, core::WallInstant wall, const Hardening&);
  std::string (*acquire)(const Call&, core::WallInstant wall, const Hardening&);
  core::RawCommand::Won won;
  bool acquire_on_admin;
  std::string (*extend)(const Call&);
  std::string (*release)(const Call&, const Hardening&);
  std::vector<std::string> (*indexes)(const Call&);
};

/// Each has a source of its own, named after it, with all that there is to say of it.
[[nodiscard]] const std::vector<const Recipe*>& recipes();
/// The one that `Entities` uses.
[[nodiscard]] const Recipe& document_level();
/// Null for a name that none has.
[[nodiscard]] const Recipe* recipe_named(std::string_view name);

/// The options as published: expiry, pause between attempts.
[[nodiscard]] LockOptions default_options(const Recipe& recipe);

}  // namespace leasehold::published

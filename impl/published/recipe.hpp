#pragma once

#include <array>
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
  std::chrono::milliseconds expiry = LockOptions().expiry;  ///< as published
  /// Between attempts, as published; none: `uniform_waiting()`.
  std::optional<std::chrono::milliseconds> pause = std::chrono::milliseconds(100);

  /// Runs before the attempt, in its transaction; may be null.
  std::string (*prepare)(const Call&, core::WallInstant wall, const Hardening&);
  std::string (*acquire)(const Call&, core::WallInstant wall, const Hardening&);
  core::RawCommand::Won won;
  bool acquire_on_admin;
  std::string (*extend)(const Call&);
  std::string (*release)(const Call&, const Hardening&);
  std::vector<std::string> (*indexes)(const Call&);
};

/// "distributed-lock": the commands as its .NET package writes them.
/// Chosen where it is silent: an error of the server ends the acquire; an extension that fails is
/// tried at the next cadence, until a lease has passed since the last answer that it had.
[[nodiscard]] const Recipe& distributed_lock();

/// "document-level": the lock on the user's own entity {_id, Value, LockId, LockTime}, free
/// while LockId is null or LockTime is older than the limit. It does not wait; here a call tries
/// again until its time-out. The limit is `expiry`.
[[nodiscard]] const Recipe& document_level();

/// "insert-unique": insert in a transaction, unique index on resourceId, TTL on createdAt.
/// Chosen: the majority is waited for at the commit; `expiry` is its ttlSeconds, rounded up.
[[nodiscard]] const Recipe& insert_unique();

/// "set-on-insert": an upsert of only $setOnInsert; the document before decides. Its author shows
/// no code: names of fields are those of the prose. `expiry` is its one minute.
[[nodiscard]] const Recipe& set_on_insert();

/// All of them. Whatever can run a lock by its name takes it from here.
inline constexpr std::array kRecipes{&distributed_lock, &document_level, &insert_unique,
                                     &set_on_insert};

/// Null for a name that none has.
[[nodiscard]] const Recipe* recipe_named(std::string_view name);

/// The options as published: expiry, pause between attempts.
[[nodiscard]] LockOptions default_options(const Recipe& recipe);

}  // namespace leasehold::published

#pragma once

#include <leasehold/lock_provider.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

/// The four published ways to lock with MongoDB, as real locks with this library's API: what their
/// authors describe, faults included. For comparison alone: the installed library does not have
/// them.
///
/// `held()` of these locks is true until a reply says otherwise or the lock is released: none of
/// them has a deadline of its own. `fencing_token()` is 0 where a lock has none. `clock_margin` and
/// `max_drift` mean nothing to them.
///
///     auto provider = leasehold::published::connect("set-on-insert", "mongodb://db1/app");
///     auto options = leasehold::published::default_options("set-on-insert");
///     auto lock = provider->create_lock("report", options);
namespace leasehold::published {

/// Where a fault of a published lock can be fixed without changing its idea; all off is the lock as
/// published.
struct Hardening {
  bool owner_check = false;     ///< insert-unique, set-on-insert: release deletes only its own
  bool own_expiry = false;      ///< `held()` is true no longer than the lease asked for
  bool conflict_waits = false;  ///< insert-unique: error 112 is a lost race and not an error
  bool operator==(const Hardening&) const = default;
};

/// What `connect` takes, such as "distributed-lock"; REFERENCES.md names the author of each.
[[nodiscard]] const std::vector<std::string>& names();

/// As LockProvider::connect. `options.collection` and `options.holder` are not used: each lock
/// names its own collection.
[[nodiscard]] Result<LockProvider> connect(const std::string& lock, const std::string& uri,
                                           const Hardening& hardening = {},
                                           ProviderOptions options = {});

/// Expiry and pause between attempts as published.
[[nodiscard]] LockOptions default_options(const std::string& lock);

/// "document-level" as published: the lock stands on the user's own entity.
struct Entity {
  std::string id, value;
  std::string lock_id;  ///< of the caller that got it from `lock`
};

/// The repository of "document-level". It never waits; an expired holder's work is refused at its
/// release. Thread safety: all calls from any thread; each holds a connection while it runs.
///
///     auto entities = leasehold::published::Entities::connect("mongodb://db1/app");
///     auto entity = entities->lock("stock-42", {"stock-42", "0"});
///     entity->value = next(entity->value);
///     auto error = entities->release(*entity);  // nothing: written, and free again
class Entities {
 public:
  /// `max_duration`: a lock older than this, by the caller's clock, counts as free.
  static Result<Entities> connect(
      const std::string& uri,
      std::chrono::milliseconds max_duration = std::chrono::milliseconds(30'000),
      const std::string& database = {});

  /// The entity, locked. `missing` is inserted if there is none. An Error of kind `refused`: "item
  /// ... is already locked".
  [[nodiscard]] Result<Entity> lock(const std::string& id, const Entity& missing) const;

  /// Writes the value and frees the entity in one update. An Error of kind `refused`, "unable to
  /// release lock on item ...", when it is no longer this caller's: nothing was written then.
  [[nodiscard]] std::optional<Error> release(const Entity& entity) const;

 private:
  struct Inside;
  explicit Entities(std::shared_ptr<const Inside> inside) : inside_(std::move(inside)) {}
  std::shared_ptr<const Inside> inside_;
};

}  // namespace leasehold::published

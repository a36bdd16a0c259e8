#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "mongo/client/json_client.hpp"

/// The life of one lock, read off the oplog alone (MongoDB manual, "Replica Set Oplog"). No I/O.
namespace leasehold::cli {

/// The fields of a lock document that tell its life; times in ms since 1970, by the server's clock.
struct LockFields {
  std::string lock_id;  ///< without the queue
  std::int64_t acquired_ms = 0;
  std::optional<std::int64_t> expires_ms;  ///< none: not known yet; 0: the lock is free
  [[nodiscard]] bool is_free() const { return expires_ms == 0; }
};

/// What happened to the lock.
struct LifeStep {
  enum class Kind {
    taken,        ///< it had no holder
    extended,     ///< once or several times in a row; `last_ms` is the last time
    taken_over,   ///< from a holder after its lease, by the server's clock
    handed_on,    ///< from a holder within its lease: handed over, or presumed dead
    joined,       ///< by one more reader
    left,         ///< by one of several readers
    forced,       ///< by `leasehold release --force`
    released,     ///< the document was deleted, or left free, before its lease was over
    removed,      ///< the document was deleted after that, by the TTL monitor or a clean-up
    new_primary,  ///< an election: of the set, not of the lock
  };
  Kind kind = Kind::taken;
  std::int64_t at_ms = 0;
  std::int64_t last_ms = 0;  ///< extended; else as `at_ms`
  int times = 1;             ///< extended
  std::string holder;        ///< has, or had, the lock: for people; the lockId, if foreign
  std::string from;          ///< taken_over, handed_on, forced: the holder before
  std::int64_t token = 0;  ///< of a grant: its operation time, as `LEASEHOLD_FENCING_TOKEN` has it
  std::int64_t held_ms = 0;  ///< released, removed and what ends a holding: since it was granted
  bool operator==(const LifeStep&) const = default;
};

[[nodiscard]] const char* to_string(LifeStep::Kind kind);

/// The writes of one lock's document in an oplog entry of it: the entry, or those of its parts
/// (`applyOps`) that are of the document. Servers since 6.1 delete expired documents in batches.
[[nodiscard]] std::vector<mongo::Json> writes_of(const mongo::Json& entry, const std::string& space,
                                                 const std::string& name);

/// Reads oplog entries, oldest first, in extended JSON: of the lock's document, and of elections.
/// Entries before the first whole document (an insert or a replacement) are held against what is
/// known of it.
///
///     LockLife life;
///     for (const Json& entry : entries) life.read(entry);
///     for (const LifeStep& step : life.steps()) ...
class LockLife {
 public:
  void read(const mongo::Json& entry);
  [[nodiscard]] const std::vector<LifeStep>& steps() const { return steps_; }
  /// The holder after the last entry; empty: none.
  [[nodiscard]] std::string holder() const;

 private:
  void put(const LockFields& now, std::int64_t at_ms, std::int64_t token);
  /// Whether it only has other readers than before.
  bool joined_or_left(const LockFields& before, const LockFields& now, std::int64_t at_ms,
                      std::int64_t token);
  void gone(std::int64_t at_ms);
  void add(LifeStep step);

  std::optional<LockFields> document_;
  std::int64_t granted_ms_ = 0;
  std::vector<LifeStep> steps_;
};

}  // namespace leasehold::cli

#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/history/history.hpp"
#include "model/workers/promises.hpp"
#include "sim/live/system/mongo_client.hpp"
#include "sim/record/lock_truth.hpp"

namespace leasehold::sim::live {

/// An oplog entry that was read: its time, and a hash of all that it says.
struct SeenEntry {
  std::int64_t order = 0;
  std::size_t hash = 0;
  bool operator==(const SeenEntry&) const = default;
};

/// Entries of `seen` that `again` lacks, as far back as `oldest` reaches. Both are ordered by time.
[[nodiscard]] std::vector<SeenEntry> vanished(const std::vector<SeenEntry>& seen,
                                              const std::vector<SeenEntry>& again,
                                              std::int64_t oldest);

/// Parts of oplog entries, which come as extended JSON.
[[nodiscard]] std::string text_in(const Json& document, const char* key);

/// The document's id in an insert, update or delete.
[[nodiscard]] const Json& id_in(const Json& entry);

/// The document that an entry leaves in `documents`, or null if it deletes it.
const Json* apply(std::map<std::string, Json>& documents, const Json& entry,
                  const std::string& key);

/// Translates writes of a lock's documents into `place`, `put` and `gone`: of ours and of the
/// published locks as `LockTruth` says, of another by the fields that its author named. Such a lock
/// is free if its document is gone, names no owner, or was written with a date that had passed by
/// the primary's clock.
class DocumentTruth {
 public:
  DocumentTruth() = default;
  /// `of_lock_ids`: the owner's field is the production lock's, which names more than the owner.
  explicit DocumentTruth(model::DocumentMapping mapping, bool of_lock_ids = false)
      : mapping_(std::move(mapping)), of_lock_ids_(of_lock_ids) {}

  [[nodiscard]] bool of_another_lock() const { return mapping_.has_value(); }

  /// The events of an insert, update or delete in the collection, without `at_ns`. `when` is the
  /// entry that has `ts` and `wall`: itself, or that of its transaction.
  model::History read(const Json& entry, const Json& when);

  /// The events of a drop of the collection: one for each document that was there.
  model::History drop(const Json& when);

 private:
  struct Seen {
    std::string name, owner;
    std::int64_t expires_at_ms = 0;
    bool held = false;
  };
  [[nodiscard]] Seen seen_in(const Json& document, std::int64_t wall_ms) const;
  /// `known`: the document, or the one that is gone now.
  model::History became(const std::string& key, const Json& known, bool gone, const Json& when);

  std::optional<model::DocumentMapping> mapping_;
  bool of_lock_ids_ = false;
  std::map<std::string, Json> documents_;  ///< by `_id`
  LockTruth truth_;
  std::map<std::string, Seen> seen_;  ///< of another lock
};

/// The documents of the published locks do not say which command wrote them: "distributed-lock"
/// shows a GUID, which stays the same over extensions, others show nothing. Gives every `put` the
/// lock_id of the command that wrote it: by the time of an acknowledged write, else the first
/// command of that GUID, or of that lock, that was not answered. A write that fits none stays as it
/// is.
void attribute_writes(model::History& history);

/// A place in the oplog; places of a later term come after all of an earlier one.
struct OpTime {
  std::int64_t term = -1, time = 0;
  auto operator<=>(const OpTime&) const = default;
};

/// What a member says of itself.
struct MemberAnswer {
  std::int64_t asked_ns = 0, answered_ns = 0;
  std::string election;  ///< made it primary; later ones are greater. Empty: no primary
  OpTime written, committed;
};

/// Whether the majority's commit point follows what the newest primary has written. Concluded from
/// answers of members that are asked again and again. Pure.
///
/// A span is certain, even if the asking thread is late: the primary itself showed in it several
/// times that a write had no majority, or the others answered several times and it did not.
class CommitPoint {
 public:
  struct Span {
    std::int64_t from_ns = 0, to_ns = 0;
    bool operator==(const Span&) const = default;
  };

  void hear(const MemberAnswer& answer);

  [[nodiscard]] bool follows() const { return !proven(); }
  /// The spans in which it did not follow. A span that is not over lasts until now.
  [[nodiscard]] std::vector<Span> spans(std::int64_t now_ns) const;

 private:
  [[nodiscard]] bool proven() const;
  void hear_primary(const MemberAnswer& answer);

  std::string election_;        ///< of the newest primary
  std::optional<OpTime> wanted_;  ///< what a majority is to have; nothing: it has what is known
  std::int64_t since_ns_ = 0;   ///< then or later the primary had that, or was primary
  int shown_ = 0;               ///< how often the primary showed since that no majority has it
  int without_primary_ = 0;     ///< answers of others since it last answered
  std::vector<Span> over_;
};

/// What a member's answer to `hello` says. A primary that has just begun may not know yet what a
/// majority has: then this throws, and such an answer counts as none.
[[nodiscard]] MemberAnswer answer_in(const Json& hello);

}  // namespace leasehold::sim::live

#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "sim/virtual/documents/value.hpp"

/// One collection of one member, and the lock's commands on it: the very BSON that the adapter
/// sends, executed as mongod does. Pure: a command yields a reply and changes, and the member
/// applies them.
namespace leasehold::sim::simulated {

inline constexpr const char* kCollection = "distributed.locks";

// mongod's codes, by which the adapter's table finds outcomes.
inline constexpr int kNotWritablePrimary = 10107, kNotPrimaryNoSecondaryOk = 13435,
                     kPrimarySteppedDown = 189, kWriteConcernFailed = 64, kMaxTimeExpired = 50,
                     kInterruptedByStateChange = 11602, kQueryPlanKilled = 175,
                     kIndexOptionsConflict = 85, kCommandNotSupported = 115, kStaleConfig = 13388,
                     kDuplicateKey = 11000;

/// A write as the oplog has it: the document that it leaves behind, not what was done to it. To
/// apply one twice is to apply it once, as with the oplog of mongod.
struct Change {
  std::string id;
  Document after;
};

/// Ordered by name, and not by hash, so that TTL passes, drops and others go through all documents
/// in the same order on every machine.
class Collection {
 public:
  [[nodiscard]] Document find(const std::string& id) const {
    const auto found = documents_.find(id);
    return found == documents_.end() ? nullptr : found->second;
  }
  /// The note of a new term has no id and no document, and so takes nothing out.
  void apply(const Change& change) {
    if (change.after) {
      documents_[change.id] = change.after;
    } else {
      documents_.erase(change.id);
    }
  }
  [[nodiscard]] const std::map<std::string, Document>& documents() const { return documents_; }

 private:
  std::map<std::string, Document> documents_;
};

/// As a query compares, and the `$match` of a change stream, with dots in paths. That is not as an
/// expression does: another type than the operand's never matches $lt (the manual's type
/// bracketing), where an expression orders all types. By their names int and long are two types
/// here; the only operands are dates.
[[nodiscard]] bool matches(const Object& query, const Object& document);

/// An entry of the oplog that changes no document.
/// Its id is empty, which no lock's is.
[[nodiscard]] Change note_in_oplog();

/// What the member knows when the command starts.
///
/// `now` is of the command's arrival, also when it executes much later; `cluster_time` is the
/// newest time that the member knows, before this write has its own.
struct Start {
  Date now;
  Timestamp cluster_time;
};

/// Documents go when `field` is this old.
/// In seconds, like `expireAfterSeconds`; the locks use 0, so that the field is the time itself.
struct TtlIndex {
  std::string field;
  std::int64_t after_s = 0;
};

/// INVARIANT: a statement that leaves its document as it was is not in `changes`. mongod writes no
/// oplog entry for it, so its operationTime is of another write: no fencing token.
struct Executed {
  Object reply;  ///< without times and what the write concern adds
  std::vector<Change> changes;
  // Without it the reply goes at once, and a rollback may undo what it said.
  bool for_majority = false;     ///< its reply waits for a majority
  std::int64_t wtimeout_ms = 0;  ///< 0: for ever
  std::optional<TtlIndex> ttl;   ///< the command makes this index
};

/// Throws Unsupported for an unknown command, field or operator. Errors of the server are replies
/// with ok: 0, or write errors.
///
/// Pure, so that the same function serves a member and the differential test.
/// REQUIRES: `command` names itself in its first field, as every command does.
[[nodiscard]] Executed execute(const Object& command, const Collection& collection,
                               const Start& start);

/// {ok: 0, code, errmsg}.
[[nodiscard]] Object error_reply(int code, const std::string& message);
/// The same of an insert that fails at the unique index of `_id`.
[[nodiscard]] Object duplicate_id();
/// The reply has ok: 1 and the whole result, because the write is applied on the primary and may
/// yet reach a majority. To a lock that is an unknown outcome, not a refusal.
[[nodiscard]] Object write_concern_error(Object reply, int code, const std::string& message);

/// A failed statement, for a reply's writeErrors.
/// Such a reply is ok: 1; `index` is the statement's place.
void add_write_error(Array& errors, std::size_t index, int code, const std::string& message);

/// The documents that the TTL index lets expire.
/// REQUIRES: `now` is the wall clock of the primary, which alone deletes.
[[nodiscard]] std::vector<std::string> expired(const Collection& collection, const TtlIndex& index,
                                               Date now);

[[nodiscard]] bool in_transaction(const Object& command);

/// The open transactions, as far as "insert-unique" uses any: one insert, a commit or an abort.
/// They die with their primary's office, and after 60 s of its clock.
///
/// A member has one of these as primary. Before the commit, what is inserted is in neither
/// collection nor oplog, and no other client sees it.
///
/// INVARIANT: no two open transactions insert the same key.
class Transactions {
 public:
  /// A key that exists gives error 11000, a key that another open transaction inserts gives 112;
  /// both end the transaction. Any other error ends it too, as with mongod, unless it is of the
  /// commit's write concern.
  Executed execute(const Object& command, const Collection& collection, const Start& start);

 private:
  struct Open {
    Change change;
    Date began;
  };
  Executed insert(const Object& command, const Collection& collection, const Start& start);
  Executed commit(const Object& command);
  Executed abort(const Object& command);
  Change take(const std::string& session);

  std::map<std::string, Open> open_;  ///< by session
  // Kept to the end of the office: a run is short, and there is one session for each attempt.
  std::set<std::string> committed_;  ///< sessions: to commit again is to wait again
};

}  // namespace leasehold::sim::simulated

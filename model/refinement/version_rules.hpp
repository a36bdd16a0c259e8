#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "model/history/digest.hpp"

/// What can be written, and when: the rules by which one version of a lock's document follows
/// another.
namespace leasehold::model {

/// How many versions of a document were written; a deletion counts as one. Version v of a line is
/// its element v - 1.
using Version = std::uint32_t;
using Versions = std::span<const Change>;

/// The sendings of removals.
using Removals = std::vector<Index>;

/// An event of the history that is being explained, and when it was.
struct Moment {
  Index event = 0;
  std::int64_t at_ns = 0;
};

/// Whether a version can have been written by some moment, and how.
struct Way {
  const char* why_not = nullptr;  ///< null: it can
  Index spends = kNone;           ///< the sending of a removal without a certain outcome
};

class VersionRules {
 public:
  explicit VersionRules(const Digest& d);

  /// Removals in `spent` have been executed already.
  [[nodiscard]] Way way(Versions line, Version v, Moment now, const Removals& spent) const;

  /// The version of this lock with this lockId, the first if there are several; 0: none.
  [[nodiscard]] Version written_by(Id name, Id lock_id) const {
    return lock_of_[lock_id] == name ? by_lock_id_[lock_id] : 0;
  }
  /// The version that the reply to this command claims: of a removal; 0: none.
  [[nodiscard]] Version claimed_by(Id command) const { return by_command_[command]; }

 private:
  void note(Id name, Versions line);
  void note_queue(Id name, Versions line);
  [[nodiscard]] Way put(Versions line, Version v, Moment now, const Removals& spent) const;
  [[nodiscard]] Way taken(const Change& before, const Change& after, Moment now) const;
  [[nodiscard]] Way by_itself(Versions line, Version v, Moment now) const;
  [[nodiscard]] std::vector<Id> givers(Versions line, Version v) const;
  [[nodiscard]] Way passed_on(Versions line, Version v, Moment now, const Removals& spent) const;
  [[nodiscard]] Way gone(Versions line, Version v, Moment now, const Removals& spent) const;
  [[nodiscard]] bool can_have_done(const SendDigest& removal, Index change, Moment now) const;
  [[nodiscard]] bool has_run_out(const Change& put, Moment now) const;

  const Digest& d_;
  std::vector<Version> by_lock_id_, by_command_;
  std::vector<Id> lock_of_;  ///< by lockId: the lock that has it first in its document
  std::vector<bool> queued_;     ///< by lockId: its owner stood in the queue just before
  /// By lockId that follows a free lock: the owners that stood first since it was free. Each may
  /// have been offered the lock.
  std::unordered_map<Id, std::vector<Id>> offered_;
  std::vector<bool> has_queue_;  ///< by name: the history records its queue
  Index administrator_ = kNone;  ///< the first event that removed documents so
};

/// The owner in the document; kNoText: there is none.
[[nodiscard]] inline Id holder_at(Versions line, Version v) {
  return v == 0 || line[v - 1].gone ? kNoText : line[v - 1].owner;
}

}  // namespace leasehold::model

#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "model/verdict/finding.hpp"

namespace leasehold::model {

/// How many versions of a document were written; a deletion counts as one. Version v of a line is
/// its element v - 1.
using Version = std::uint32_t;
using Versions = std::span<const Change>;

/// The owner in the document; kNoText: there is none.
[[nodiscard]] inline Id holder_at(Versions line, Version v) {
  return v == 0 || line[v - 1].gone ? kNoText : line[v - 1].owner;
}

/// The sending by which an owner ended.
struct Farewell {
  Index send = kNone;      ///< kNone: it has not ended
  bool passed_on = false;  ///< one of its releases may have given the lock to the queue
};

/// Which command wrote what, and who has left, as far as the acceptor has come. The rules, the
/// versions and the arrows share it.
class Known {
 public:
  explicit Known(const Digest& d)
      : d_(d),
        versions_(d.facts.lock_ids.size()),
        sendings_(d.facts.lock_ids.size(), kNone),
        commands_(d.facts.commands.size(), kNone),
        farewells_(d.facts.owners) {
    for (Id name = 0; name < d.facts.names.size(); ++name) {
      Version v = 0;
      for (const Change& change : d.truth[name]) {
        ++v;
        if (!change.gone && versions_[change.lock_id].v == 0) versions_[change.lock_id] = {name, v};
      }
    }
  }

  /// After all that follow the run have looked at the event.
  void see(Index i, const Fact& e) {
    if (e.kind != Kind::send) return;
    if (e.lock_id != kNoText && sendings_[e.lock_id] == kNone) sendings_[e.lock_id] = i;
    if (commands_[e.command] == kNone) commands_[e.command] = i;
    if (e.verb == Verb::hand_over) end(e.other_owner, i, false);
    if (!leaves_lock(e)) return;
    end(e.owner, i, e.verb == Verb::pass_on);
    if (e.other_owner != kNoText) end(e.other_owner, i, e.verb == Verb::pass_on);
  }

  /// The sending of the first command that writes this lockId; kNone: none so far.
  [[nodiscard]] Index sending(Id lock_id) const { return sendings_[lock_id]; }
  /// The first sending of this command, for the same.
  [[nodiscard]] Index sent(Id command) const { return commands_[command]; }
  [[nodiscard]] const Farewell& farewell(Id owner) const { return farewells_[owner]; }

  /// The version of this lock with this lockId, the first if there are several; 0: none.
  [[nodiscard]] Version written_by(Id name, Id lock_id) const {
    return versions_[lock_id].name == name ? versions_[lock_id].v : 0;
  }
  /// Whether any lock has this lockId in its document.
  [[nodiscard]] bool is_written(Id lock_id) const { return versions_[lock_id].v != 0; }
  /// The owner before that; kNoText: none.
  [[nodiscard]] Id found_by(Id lock_id) const {
    return holder_at(d_.truth[versions_[lock_id].name], versions_[lock_id].v - 1);
  }

  /// Whether a reply by now says that this command found its document. Of an extension one of the
  /// statements matched; a read may have shown the owner.
  [[nodiscard]] bool acknowledged(Index send, Index now) const {
    const Index reply = send == kNone ? kNone : d_.replies[d_.fact(send).command];
    return reply < now && d_.fact(reply).outcome == Outcome::done && d_.at(reply).matched > 0;
  }
  /// The owner that this session was granted the lock for; kNoText: none.
  [[nodiscard]] Id owner_of(const Fact& e) const {
    const Index granted = d_.session_of(e).granted;
    return granted == kNone ? kNoText : d_.fact(granted).owner;
  }

 private:
  void end(Id owner, Index send, bool passed_on) {
    Farewell& farewell = farewells_[owner];
    if (farewell.send == kNone) farewell.send = send;
    farewell.passed_on |= passed_on;
  }

  struct Written {
    Id name = kNoText;
    Version v = 0;
  };
  const Digest& d_;
  std::vector<Written> versions_;    ///< by lockId: the lock that has it first, and where
  std::vector<Index> sendings_;      ///< by lockId
  std::vector<Index> commands_;      ///< by command
  std::vector<Farewell> farewells_;  ///< by owner
};

}  // namespace leasehold::model

#pragma once

#include <vector>

#include "model/history/digest.hpp"

/// The commands that the monitors have seen so far, by id.
namespace leasehold::model {

/// The sending by which an owner ended.
struct Farewell {
  Index send = kNone;
  bool passed_on = false;  ///< one of its releases may have given the lock to the queue
};

class Commands {
 public:
  explicit Commands(const Digest& d)
      : d_(d),
        senders_(d.facts.lock_ids.size(), kNone),
        asks_(d.sessions.size(), kNone),
        ended_(d.facts.owners) {}

  /// After all rules have looked at the event.
  void see(Index i, const Fact& e) {
    if (e.kind == Kind::ask) asks_[e.session] = e.place_beside;
    if (e.kind != Kind::send) return;
    if (e.lock_id != kNoText && senders_[e.lock_id] == kNone) senders_[e.lock_id] = i;
    if (e.verb == Verb::hand_over) end(e.other_owner, i, false);
    if (!leaves_lock(e)) return;
    end(e.owner, i, e.verb == Verb::pass_on);
    if (e.other_owner != kNoText) end(e.other_owner, i, e.verb == Verb::pass_on);
  }

  /// The sending of the first command that writes this lockId; kNone: none so far.
  [[nodiscard]] Index sending(Id lock_id) const { return senders_[lock_id]; }
  /// The acquire call of this session; null: not seen.
  [[nodiscard]] const Asked* ask(Id session) const {
    return asks_[session] == kNone ? nullptr : &d_.facts.asks[asks_[session]];
  }
  /// Null: the owner has not ended.
  [[nodiscard]] const Farewell* farewell(Id owner) const {
    return ended_[owner].send == kNone ? nullptr : &ended_[owner];
  }

 private:
  void end(Id owner, Index send, bool passed_on) {
    Farewell& farewell = ended_[owner];
    if (farewell.send == kNone) farewell.send = send;
    farewell.passed_on |= passed_on;
  }

  const Digest& d_;
  std::vector<Index> senders_;   ///< by lockId
  std::vector<Id> asks_;         ///< by session: the place among the asks
  std::vector<Farewell> ended_;  ///< by owner
};

}  // namespace leasehold::model

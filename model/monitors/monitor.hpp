#pragma once

#include <memory>
#include <string>
#include <vector>

#include "model/containers/enum_set.hpp"
#include "model/history/digest.hpp"
#include "model/verdict/finding.hpp"

namespace leasehold::model {

/// The sending by which an owner ended.
struct Farewell {
  Index send = kNone;
  bool passed_on = false;  ///< one of its releases may have given the lock to the queue
};

/// The commands that the monitors have seen so far, by id.
class Commands {
 public:
  explicit Commands(const Digest& d)
      : senders_(d.facts.lock_ids.size(), kNone),
        asks_(d.sessions.size()),
        ended_(d.facts.owners) {}

  /// After all rules have looked at the event.
  void see(Index i, const Fact& e) {
    if (e.kind == Kind::ask) asks_[e.session] = e.event;
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
  [[nodiscard]] const Event* ask(Id session) const { return asks_[session]; }
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

  std::vector<Index> senders_;      ///< by lockId
  std::vector<const Event*> asks_;  ///< by session
  std::vector<Farewell> ended_;     ///< by owner
};

/// One rule of the proof. It sees the events of a run one after the other.
class Monitor {
 public:
  Monitor(Check check, EnumSet<Kind> kinds)
      : looks_at(kinds), found(finding(check)) {}
  virtual ~Monitor() = default;
  Monitor(const Monitor&) = delete;
  Monitor& operator=(const Monitor&) = delete;

  /// Constant time. `commands` knows all events before this one.
  /// REQUIRES: it looks at events of this kind.
  virtual void see(Index i, const Fact& e, const Commands& commands) = 0;

  const EnumSet<Kind> looks_at;
  Finding found;
};

using Monitors = std::vector<std::unique_ptr<Monitor>>;

void add_client_rules(Monitors& monitors, const Digest& d);
void add_document_rules(Monitors& monitors, const Digest& d);

/// Whether the put has the dates of the document. If not, the rules that need them are unknown.
inline bool require_dates(const Event& document, Finding& f) {
  if (document.expires_at_ms != 0) return true;
  f.leave_open(Open::other, "the history does not say what stands in its documents: an older "
                            "release wrote it");
  return false;
}

/// "lock 'a': acquire 7 of p1".
inline std::string command_of(const Event& send) {
  return "lock '" + send.name + "': " + send.verb + ' ' + std::to_string(send.command) + " of " +
         send.process;
}

}  // namespace leasehold::model

#include "model/refinement/refinement.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "model/refinement/version_rules.hpp"
#include "model/verdict/finding.hpp"

namespace leasehold::model {
namespace {

/// One state that a lock's document may be in: its oplog says which versions of it there will be,
/// but not when each was written. `version` versions were written, by `spent` of the unanswered
/// removals.
struct LockState {
  Version version = 0;
  Removals spent;
};

class LockStates {
 public:
  static constexpr std::size_t kMost = 512;  ///< states that are kept at once

  explicit LockStates(Versions line) : line_(line) {}

  [[nodiscard]] Versions line() const { return line_; }
  [[nodiscard]] Version lowest() const { return all_.front().version; }
  [[nodiscard]] Version highest() const { return all_.back().version; }
  [[nodiscard]] std::size_t size() const { return all_.size(); }
  /// More states are possible than are kept: the state of this lock is unknown from then on.
  [[nodiscard]] bool too_many() const { return too_many_; }

  /// Takes the hidden steps that are possible by now, from every state; how many it took.
  std::int64_t grow(const VersionRules& rules, Moment now);
  /// Keeps the states in which this version was written. REQUIRES: there is one.
  void keep_from(Version v);
  /// This version was written, possible or not. Used to go on after a violation.
  void restart_at(Version v) { all_.assign(1, {v, {}}); }

 private:
  Versions line_;
  /// INVARIANT: not empty; one state for each version from the lowest to the highest, with as few
  /// spent removals as explain it.
  std::vector<LockState> all_{LockState{}};
  bool too_many_ = false;
};

std::int64_t LockStates::grow(const VersionRules& rules, Moment now) {
  std::int64_t steps = 0;
  for (std::size_t i = 0; i < all_.size() && all_[i].version < line_.size(); ++i) {
    const Version next = all_[i].version + 1;
    const Way way = rules.way(line_, next, now, all_[i].spent);
    if (way.why_not != nullptr) continue;
    auto spent = all_[i].spent;
    if (way.spends != kNone) spent.push_back(way.spends);
    if (i + 1 == all_.size()) {
      too_many_ |= all_.size() == kMost;
      if (too_many_) return steps;
      ++steps;
      all_.push_back({next, std::move(spent)});
    } else if (spent.size() < all_[i + 1].spent.size()) {
      all_[i + 1].spent = std::move(spent);
    }
  }
  return steps;
}

void LockStates::keep_from(Version v) {
  if (v > lowest()) all_.erase(all_.begin(), all_.begin() + (v - lowest()));
}

constexpr const char* kItsOwnersAllTheTime = "the document was its owner's all the time";

class Refinement final : public Inquiry<Finding> {
 public:
  explicit Refinement(const Digest& d)
      : d_(d),
        rules_(d),
        known_(d.facts.all.size()),
        first_sent_(d.facts.commands.size(), kNone),
        extension_(d.sessions.size(), kNone),
        acknowledged_(d.sessions.size()),
        written_(d.facts.lock_ids.size()),
        ended_(d.facts.owners) {
    for (Id name = 0; name < d.facts.names.size(); ++name) {
      const Versions line = d.truth[name];
      locks_.emplace_back(line);
      for (Version v = 1; v <= line.size(); ++v) known_[line[v - 1].event] = v;
    }
  }

  void watch(Index from, Index to) override {
    for (Index i = from; i < to; ++i) visit(i, d_.fact(i));
  }

  Finding result() override {
    out_.counts["hidden_steps"] = hidden_steps_;
    out_.counts["largest_set"] = largest_set_;
    out_.counts["old_primaries"] = old_primaries_;
    out_.excused[static_cast<std::size_t>(Excuse::disturbance)] = old_primaries_ + rolled_back_;
    return std::move(out_);
  }

 private:
  void visit(Index i, const Fact& e) {
    if (e.name != kNoText && locks_[e.name].too_many()) return give_up(e);
    switch (e.kind) {
      case Kind::send: return sent(i, e);
      case Kind::reply: return replied(i, e);
      case Kind::granted: return granted(i, e);
      case Kind::extended: return written(i, e);
      case Kind::lost: return lost(i, e);
      case Kind::released: return released(i, e);
      case Kind::put:
      case Kind::gone: return need(i, e, locks_[e.name], known_[i]);
      default: return;
    }
  }

  void give_up(const Fact& e) {
    out_.leave_open(Open::other, "lock '" + d_.name(e.name) + "': more than " +
                                     std::to_string(LockStates::kMost) +
                                     " states are possible at once");
  }

  // Clients

  void sent(Index i, const Fact& e) {
    if (e.name == kNoText) return;
    ++out_.checked;
    known_[i] = locks_[e.name].lowest();
    if (first_sent_[e.command] == kNone) first_sent_[e.command] = i;
    if (leaves_lock(e)) {
      ended_[e.owner] = true;
      if (e.other_owner != kNoText) ended_[e.other_owner] = true;
      return;
    }
    if (e.verb == Verb::extend) extension_[e.session] = i;
    if (ended_[e.owner]) accuse(i, e, "its owner has left the lock before");
    if (written_[e.lock_id]) accuse(i, e, "an earlier command writes the same lockId");
    written_[e.lock_id] = true;
    if (e.verb == Verb::hand_over) ended_[e.other_owner] = true;
  }

  void replied(Index i, const Fact& e) {
    const Index send = first_sent_[e.command];
    if (send == kNone || e.outcome != Outcome::done) return;
    const Fact& asked = d_.fact(send);
    LockStates& lock = locks_[asked.name];
    if (asked.verb == Verb::extend || lock.too_many()) return;
    ++out_.checked;
    if (leaves_lock(asked)) {
      if (e->matched > 0) return removed(i, asked, lock, send);
    } else if (e->matched > 0) {
      return need(i, asked, lock, rules_.written_by(asked.name, asked.lock_id));
    }
    if (is_of_an_old_primary(i, lock, send)) return;
    if (e.lock_id != kNoText) return saw(i, asked, lock, {send, e.lock_id});
    const bool none = asked.verb == Verb::hand_over || asked.verb == Verb::pass_on;
    if (none) see_without(i, asked, lock, {send, asked.owner, asked.other_owner});
  }

  void granted(Index i, const Fact& e) {
    if (ended_[e.owner]) accuse(i, e, "its owner has left the lock before");
    const Version v = rules_.written_by(e.name, e.lock_id);
    LockStates& lock = locks_[e.name];
    if (v != 0 && d_.at(lock.line()[v - 1].event).order != e->token) {
      accuse(i, e, "its token is not the time of its write");
    }
    if (e.verb != Verb::pass_on && !acknowledged(e)) accuse(i, e, "no reply says that it won");
    written(i, e);
  }

  /// A grant or an extension: its own write was executed.
  void written(Index i, const Fact& e) {
    if (e.kind == Kind::extended && !acknowledged(e)) {
      accuse(i, e, "no reply says that it was executed");
    }
    ++out_.checked;
    acknowledged_[e.session] = e->sent_ns;
    need(i, e, locks_[e.name], rules_.written_by(e.name, e.lock_id));
  }

  [[nodiscard]] bool acknowledged(const Fact& e) const {
    const SendDigest& writer = d_.writers[e.lock_id];
    if (writer.reply == kNone) return false;
    const Fact& reply = d_.fact(writer.reply);
    return reply.outcome == Outcome::done && reply->matched > 0;
  }

  /// A server said that the document has another owner or is gone, after the last extension was
  /// sent.
  void lost(Index i, const Fact& e) {
    const SessionDigest& s = d_.session_of(e);
    const Index asked = extension_[e.session];
    if (e.outcome != Outcome::not_owner || s.granted == kNone || asked == kNone) return;
    const Id owner = d_.fact(s.granted).owner;
    ++out_.checked;
    if (stood_without(i, locks_[e.name], {asked, owner, owner})) return;
    if (was_taken_for_a_while(e)) {
      ++rolled_back_;
      return;
    }
    accuse(i, e, kItsOwnersAllTheTime);
  }

  /// An administrator took the lock by a write that was rolled back. Until then a read shows it,
  /// and a loss is final. An own write that was sent later and acknowledged refutes that.
  [[nodiscard]] bool was_taken_for_a_while(const Fact& e) const {
    return std::any_of(d_.faults.begin(), d_.faults.end(), [&](Index fault) {
      const Event& force = d_.at(fault);
      const auto began = d_.fact(fault).at_ns;
      return force.fault == "force-release" && force.victim == d_.name(e.name) &&
             acknowledged_[e.session] < began && began <= e.at_ns &&
             rules_.written_by(e.name, d_.fact(fault).lock_id) == 0 &&
             d_.servers.meet({began, e.at_ns});
    });
  }

  void released(Index i, const Fact& e) {
    const SessionDigest& s = d_.session_of(e);
    if (s.granted == kNone || e.outcome == Outcome::unknown) return;
    const Id owner = d_.fact(s.granted).owner;
    const bool left = e.outcome == Outcome::released;
    ++out_.checked;
    for (const auto* by_owner : {&d_.deletes, &d_.hand_overs}) {
      for (const SendDigest& one : by_owner->of(owner)) {
        if (one.reply == kNone || d_.fact(one.reply).outcome != Outcome::done) continue;
        if ((d_.at(one.reply).matched > 0) != left) continue;
        if (left) return;
        return see_without(i, e, locks_[e.name], {one.send, owner, owner});
      }
    }
    accuse(i, e, left ? "no reply says that a release found its document"
                      : "no reply says that a release found nothing");
  }

  // States

  /// A removal says that it found the document of its owner. A repeated removal is answered with a
  /// later time than its write. Or its owner was offered a free lock, and no other call waits: then
  /// the lock stays free.
  void removed(Index i, const Fact& asked, LockStates& lock, Index send) {
    const Version claimed = rules_.claimed_by(asked.command);
    if (claimed != 0) return need(i, asked, lock, claimed);
    grow(lock, {i, d_.fact(i).at_ns});
    for (Version v = known_[send] + 1; v <= lock.highest(); ++v) {
      const Id holder = holder_at(lock.line(), v - 1);
      const bool own =
          holder != kNoText && (holder == asked.owner || holder == asked.other_owner);
      if (own && holder_at(lock.line(), v) != holder) return lock.keep_from(v);
    }
    if (asked.verb == Verb::pass_on) return see_without(i, asked, lock, {send});
    accuse(i, asked, "no document of its owner can have gone by then");
  }

  /// This version was written by now.
  void need(Index i, const Fact& e, LockStates& lock, Version v) {
    if (e.kind == Kind::put || e.kind == Kind::gone) ++out_.checked;
    if (v == 0) return accuse(i, e, "its write is in no oplog");
    if (v > lock.highest()) grow(lock, {i, d_.fact(i).at_ns});
    if (v <= lock.highest()) return lock.keep_from(v);
    const Version missing = lock.highest() + 1;
    const Way way = rules_.way(lock.line(), missing, {i, d_.fact(i).at_ns}, {});
    accuse(i, e, way.why_not == nullptr ? "a removal is executed once" : way.why_not);
    lock.restart_at(v);
  }

  struct Shown {
    Index since;  ///< the sending
    Id lock_id;
  };

  /// A reply shows this lockId in the document: between the sending and now it stood there. A
  /// release that gives up may find the document of a free lock, which names the offered owner.
  void saw(Index i, const Fact& asked, LockStates& lock, Shown shown) {
    const Version v = rules_.written_by(asked.name, shown.lock_id), low = known_[shown.since];
    if (v != 0 && v >= low) {
      grow(lock, {i, d_.fact(i).at_ns});
      if (v <= lock.highest()) return lock.keep_from(v);
    }
    if (asked.verb == Verb::pass_on) return see_without(i, asked, lock, {shown.since});
    if (v != 0 && v < low) return accuse(i, asked, "it shows what was over when it was sent");
    if (v != 0) return need(i, asked, lock, v);
    const bool ours = d_.writers[shown.lock_id].send != kNone;
    if (ours) accuse(i, asked, "it shows what is in no oplog");
  }

  /// Whether the reply comes from a primary that was cut off: its newest write is older than the
  /// document by the sending. Such a primary exists only while something is disturbed.
  bool is_of_an_old_primary(Index i, const LockStates& lock, Index send) {
    const Fact& reply = d_.fact(i);
    const Version known = known_[send];
    if (known == 0) return false;
    const Fact& missing = d_.fact(lock.line()[known - 1].event);
    if (reply->order >= missing->order) return false;
    const Span since{missing.at_ns - d_.allowed.truth_lag_ns, reply.at_ns};
    if (!d_.servers.meet(since)) return false;
    ++old_primaries_;
    return true;
  }

  struct Sight {
    Index since;  ///< the sending
    Id owner = kNoText, other = kNoText;  ///< did not have the document; none: it was free
  };

  /// Whether at some time between the sending and now the document belonged to neither of these
  /// owners; then what is known begins there.
  bool stood_without(Index i, LockStates& lock, const Sight& sight) {
    grow(lock, {i, d_.fact(i).at_ns});
    for (Version v = known_[sight.since]; v <= lock.highest(); ++v) {
      const Id holder = holder_at(lock.line(), v);
      const bool other = sight.owner != kNoText && holder != sight.owner && holder != sight.other;
      if (holder != kNoText && !other) continue;
      lock.keep_from(v);
      return true;
    }
    return false;
  }

  void see_without(Index i, const Fact& e, LockStates& lock, const Sight& sight) {
    if (stood_without(i, lock, sight)) return;
    accuse(i, e, sight.owner == kNoText ? "it shows what was not there at any time"
                                        : kItsOwnersAllTheTime);
  }

  void grow(LockStates& lock, Moment now) {
    hidden_steps_ += lock.grow(rules_, now);
    largest_set_ = std::max(largest_set_, static_cast<std::int64_t>(lock.size()));
  }

  /// `of` has the name of the lock, which a reply lacks.
  void accuse(Index i, const Fact& of, const char* why) {
    violate(out_, "lock '" + d_.name(of.name) + "': " + described(i) + ": " + why, {i});
  }

  /// "acquire 7 of p1 is sent".
  [[nodiscard]] std::string described(Index i) const {
    const Event& e = d_.at(i);
    if (e.kind == Kind::put || e.kind == Kind::gone) {
      return "version " + std::to_string(known_[i]) + " of its document cannot have been written";
    }
    if (e.kind == Kind::send || e.kind == Kind::reply) {
      const Event& send = d_.at(first_sent_[d_.fact(i).command]);
      return send.verb + ' ' + std::to_string(send.command) + " of " + send.process +
             (e.kind == Kind::send ? " is sent" : " is answered");
    }
    return "session " + std::to_string(e.session) + " of " + e.process + " is " +
           to_string(e.kind) + (e.outcome.empty() ? "" : " as " + e.outcome);
  }

  const Digest& d_;
  const VersionRules rules_;
  Finding out_ = finding(Check::refinement);
  std::vector<LockStates> locks_;  ///< by name
  /// By event: of a sending, the lowest version by then; of a change, its version.
  std::vector<Version> known_;
  std::vector<Index> first_sent_;    ///< by command
  std::vector<Index> extension_;     ///< by session: the last that was sent
  std::vector<std::int64_t> acknowledged_;  ///< by session: when its last own write was sent
  std::vector<bool> written_;        ///< by lockId: its command was sent
  std::vector<bool> ended_;          ///< by owner: it has left
  std::int64_t hidden_steps_ = 0, largest_set_ = 0, old_primaries_ = 0, rolled_back_ = 0;
};

}  // namespace

std::unique_ptr<Inquiry<Finding>> refinement_inquiry(const Digest& d) {
  return std::make_unique<Refinement>(d);
}

Finding check_refinement(const Digest& d) {
  Refinement refinement(d);
  walk(d, {&refinement});
  return refinement.result();
}

}  // namespace leasehold::model

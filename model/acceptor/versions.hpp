#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "model/verdict/finding.hpp"

/// Checks that a run is one that the rules of a document's versions allow. The oplog says which
/// versions there were, not when each was written. So a set of states is kept for each lock: how
/// many versions there may have been by then. Each event of the history (a command, what its reply
/// says or shows, a grant, a loss, a release, a version that was read) leaves those states in which
/// the document can have done the same after hidden steps. A hidden step writes a version by a
/// command that was sent before, or removes one with a lease that has run out. The set must never
/// become empty.
///
/// The arrows say which step an event was; this check says whether there is one at all.
namespace leasehold::model {

/// The sendings of removals.
using Removals = std::vector<Index>;

/// Whether a version can have been written by some event, and how.
struct Way {
  const char* why_not = nullptr;  ///< null: it can
  Index spends = kNone;           ///< the sending of a removal without a certain outcome
};

/// What can be written, and when: the rules by which one version of a lock's document follows
/// another.
class VersionRules {
 public:
  explicit VersionRules(const Digest& d)
      : d_(d),
        claimed_(d.facts.commands.size()),
        queued_(d.facts.lock_ids.size()),
        passes_on_(d.facts.names.size()) {
    const auto by_administrator = std::ranges::find_if(d.faults, [&](Index i) {
      constexpr std::array kKinds{"delete-document", "drop-collection", "lost-data"};
      return std::ranges::find(kKinds, d.at(i).fault) != kKinds.end();
    });
    if (by_administrator != d.faults.end()) administrator_ = *by_administrator;
    for (Id name = 0; name < d.facts.names.size(); ++name) {
      Version v = 0;
      for (const Change& change : d.truth[name]) {
        ++v;
        const Index claim = d.claim(change.event);
        if (claim != kNone) claimed_[d.fact(claim).command] = v;
      }
      if (!d.places[name].empty()) note_queue(name);
    }
    for (const auto& removals : d.deletes) {
      for (const SendDigest& one : removals) {
        const Fact& send = d.fact(one.send);
        if (send.verb == Verb::pass_on) passes_on_[send.name].push_back(one);
      }
    }
  }

  /// Removals in `spent` have been executed already.
  [[nodiscard]] Way way(Versions line, Version v, Index now, const Removals& spent) const {
    return line[v - 1].gone ? gone(line, v, now, spent) : put(line, v, now, spent);
  }

  /// The version that the reply to this command claims: of a removal; 0: none.
  [[nodiscard]] Version claimed_by(Id command) const { return claimed_[command]; }

 private:
  /// Notes the queue at each version: both are in the server's order.
  void note_queue(Id name) {
    std::vector<Id> standing, heads;
    auto place = d_.places[name].begin();
    const auto see_heads = [&] {
      const bool known = standing.empty() || std::ranges::count(heads, standing.front()) > 0;
      if (!known) heads.push_back(standing.front());
    };
    const auto see_until = [&](std::int64_t order) {
      for (; place != d_.places[name].end() && d_.at(*place).order <= order; ++place) {
        const Fact& e = d_.fact(*place);
        std::erase(standing, e.owner);
        const auto last = static_cast<std::int64_t>(standing.size());
        if (e->count > 0) standing.insert(standing.begin() + std::min(e->count - 1, last), e.owner);
        see_heads();
      }
    };
    bool is_free = false;
    for (const Change& change : d_.truth[name]) {
      const auto order = d_.at(change.event).order;
      see_until(change.gone ? order : order - 1);
      if (change.gone) {
        heads.clear();
        see_heads();
      } else {
        change.each_written([&](Id owner, Id lock_id) {
          queued_[lock_id] = std::ranges::count(standing, owner) > 0;
          if (is_free) offered_[lock_id] = heads;
        });
      }
      is_free = change.gone;
    }
  }

  [[nodiscard]] Way put(Versions line, Version v, Index now, const Removals& spent) const {
    const Change& change = line[v - 1];
    if (!change.readers.empty()) return of_readers(line, v, now, spent);
    if (d_.writers[change.lock_id].send == kNone) return {};  // of a client that is not ours
    if (written_by(d_, d_.fact(change.event).name, change.lock_id) != v) {
      return {"it has the lockId of an earlier one"};
    }
    const Way rest = readers_gone(line, v, now, spent);
    if (rest.why_not != nullptr) return rest;
    const Way own = by_itself(line, v, now, {change.owner, change.lock_id});
    if (own.why_not == nullptr) return own;
    const Way given = passed_on(line, v, now, spent, change.lock_id);
    return given.why_not == nullptr ? given : own;
  }

  /// Whether readers can have come, been renewed and gone so by one write: one by its own command,
  /// or those of the queue that a release admitted.
  [[nodiscard]] Way of_readers(Versions line, Version v, Index now, const Removals& spent) const {
    const Change& after = line[v - 1];
    const auto twice = [&](const ReaderEntry& r) { return after.reader(r.owner) != &r; };
    if (std::ranges::any_of(after.readers, twice)) return {"a reader stands in it twice"};
    const auto numbered = [&](const ReaderEntry& r) {
      return std::ranges::count(after.readers, r.slot, &ReaderEntry::slot) > 1;
    };
    if (d_.room(after.text) > 0 && std::ranges::any_of(after.readers, numbered)) {
      return {"two permits have one number"};
    }
    const auto written = std::ranges::count(after.readers, true, &ReaderEntry::written);
    Way way;
    for (const ReaderEntry& r : after.readers) {
      if (!r.written) continue;
      if (d_.writers[r.lock_id].send == kNone) return {"it has a reader that no process sent"};
      if (written_by(d_, d_.fact(after.event).name, r.lock_id) != v) {
        return {"it has the lockId of an earlier one"};
      }
      const Way own = by_itself(line, v, now, r);
      if (own.why_not == nullptr && written == 1) continue;
      const Way given = passed_on(line, v, now, spent, r.lock_id);
      if (given.why_not != nullptr) return own.why_not == nullptr ? given : own;
      way = given;
    }
    const Way rest = readers_gone(line, v, now, spent);
    return rest.why_not != nullptr || way.spends == kNone ? rest : way;
  }

  /// Whether the readers that this version has no more can have gone by it: one by its release, the
  /// others because their leases have run out, or all because they were observed.
  [[nodiscard]] Way readers_gone(Versions line, Version v, Index now, const Removals& spent) const {
    Way way;
    if (v == 1) return way;
    const Change &before = line[v - 2], &after = line[v - 1];
    const Index writer = d_.writers[after.lock_id].send;
    for (const ReaderEntry& r : gone_readers(before, after)) {
      if (is_over(d_, r.lock_id, now)) continue;
      if (writer != kNone && d_.fact(writer).other_owner == r.owner) continue;  // it gave it
      const Way left = removed(r.owner, after.event, now, spent, false);
      if (left.why_not != nullptr) return {"a reader went that neither left nor was over"};
      way = left;
    }
    return way;
  }

  /// Whether the command with this lockId can have written it.
  [[nodiscard]] Way by_itself(Versions line, Version v, Index now, const ReaderEntry& own) const {
    const Change& after = line[v - 1];
    const SendDigest& writer = d_.writers[own.lock_id];
    const Fact& send = d_.fact(writer.send);
    if (writer.send >= now) return {"its command was not sent yet"};
    if (writer.reply != kNone && says_not_executed(d_.fact(writer.reply))) {
      return {"its command was answered as not executed"};
    }
    if (held_at(line, v - 1, own.owner)) return {};
    if (send.verb == Verb::extend) return {"it extends a lock that is not its owner's"};
    if (send.verb == Verb::hand_over) {
      if (held_at(line, v - 1, send.other_owner)) return {};
      return {"it hands over a lock that is neither its giver's nor its receiver's"};
    }
    if (v == 1 || line[v - 2].gone) return {};
    const Change& before = line[v - 2];
    const rules::Room room = d_.room(after.text);
    if (rules::excludes(room, d_.room(before.text))) return taken(before, after, now);
    if (rules::may_join(own.passed != kNone, after.readers.size() <= most_in(room))) return {};
    return {"one joins the others although another waits, or there is no room"};
  }

  /// Whether this answer says that the command wrote nothing. If the command was an attempt, the
  /// lock is another's, and only a release may still give it the lock.
  [[nodiscard]] static bool says_not_executed(const Fact& reply) {
    if (reply.outcome == Outcome::done) return reply->matched == 0;
    return reply.outcome == Outcome::duplicate_key || reply.outcome == Outcome::failed_before;
  }

  /// Whether it can have been taken over from another owner, which seems to be dead.
  [[nodiscard]] Way taken(const Change& before, const Change& after, Index now) const {
    const Fact& send = d_.fact(d_.writers[after.lock_id].send);
    const Event &old_put = d_.at(before.event), &put = d_.at(after.event);
    const bool dated = old_put.expires_at_ms != 0 && put.acquired_at_ms != 0;
    const bool expired = !dated || rules::is_expired(old_put.expires_at_ms, put.acquired_at_ms);
    if (!rules::may_take(send.observed == before.text, expired)) {
      return {"it takes a lock of another that is neither given, observed nor expired"};
    }
    if (has_run_out(before, now)) return {};
    return {"it takes a lock of another before a lease can have run since its last write"};
  }

  /// The owners with a release that can have given this lock away. A free lock may have been
  /// offered to the first entry of its queue, which gives up. When that entry has expired, the lock
  /// may have been offered to the next one.
  [[nodiscard]] std::vector<Id> givers(Versions line, Version v, Id lock_id) const {
    const Id holder = holder_at(line, v - 1);
    const Index claim = d_.claim(line[v - 1].event);
    if (holder != kNoText && line[v - 2].readers.empty()) return {holder};
    if (claim != kNone) return {d_.fact(claim).owner};
    if (holder != kNoText) {
      std::vector<Id> readers;
      for (const ReaderEntry& r : line[v - 2].readers) readers.push_back(r.owner);
      return readers;
    }
    const auto offered = offered_.find(lock_id);
    return offered == offered_.end() ? std::vector<Id>{} : offered->second;
  }

  /// Whether a call that leaves, and holds nothing, can have admitted those that wait to a free
  /// lock, or to the readers that hold it.
  [[nodiscard]] bool left_by_another(Index change, Index now) const {
    const Fact& put = d_.fact(change);
    return std::ranges::any_of(passes_on_[put.name], [&](const SendDigest& one) {
      return one.send < now && (d_.unanswered(one) || d_.at(one.reply).order == put->order);
    });
  }

  /// Whether a release of its holder can have given it to an entry of the queue, if the history
  /// records its queue.
  [[nodiscard]] Way passed_on(Versions line, Version v, Index now, const Removals& spent,
                              Id lock_id) const {
    const Change& after = line[v - 1];
    const Index asked = d_.writers[lock_id].send;
    const Fact& send = d_.fact(asked);
    if (asked >= now || send.verb != Verb::acquire) return {"no call asked for it so"};
    if (!d_.places[send.name].empty() && !queued_[lock_id]) {
      return {"it goes to no entry of the queue"};
    }
    const bool excludes_none = v > 1 && (line[v - 2].gone || !line[v - 2].readers.empty());
    if (excludes_none && left_by_another(after.event, now)) return {};
    for (const Id giver : givers(line, v, lock_id)) {
      const Way way = removed(giver, after.event, now, spent, true);
      if (way.why_not == nullptr) return way;
    }
    return {"no release of its holder can have given it away"};
  }

  /// The TTL monitor is tried first, because it may delete any number of times; a removal is
  /// executed once.
  [[nodiscard]] Way gone(Versions line, Version v, Index now, const Removals& spent) const {
    const Index event = line[v - 1].event;
    if (holder_at(line, v - 1) == kNoText) return {};
    const Change& before = line[v - 2];
    if (!before.readers.empty()) {
      const Way way = readers_gone(line, v, now, spent);
      return administrator_ < now ? Way{nullptr, way.spends} : way;
    }
    const bool claimed = d_.claim(event) != kNone;
    if (!claimed && has_run_out(before, now)) return {};
    const Way way = removed(before.owner, event, now, spent, false);
    if (way.why_not == nullptr) return way;
    if (claimed) return {"a removal by another process says that it did it"};
    return administrator_ < now ? Way{} : way;
  }

  /// Whether a removal of this owner, or only one that passes the lock on, can have made the
  /// change.
  [[nodiscard]] Way removed(Id owner, Index change, Index now, const Removals& spent,
                            bool passes_on) const {
    for (const SendDigest& removal : d_.deletes[owner]) {
      if (passes_on && d_.fact(removal.send).verb != Verb::pass_on) continue;
      if (!can_have_done(removal, change, now)) continue;
      if (d_.claim(change) != kNone) return {};
      if (std::ranges::count(spent, removal.send) == 0) return {nullptr, removal.send};
    }
    return {"no removal of its holder can have done it, and its lease has not run out"};
  }

  /// If a reply claims the change, only the removal with that reply. Otherwise a removal that has
  /// no certain outcome, or a repeated one, which is answered with a later time.
  [[nodiscard]] bool can_have_done(const SendDigest& removal, Index change, Index now) const {
    if (removal.send >= now) return false;
    const Index claim = d_.claim(change);
    if (claim != kNone) return removal.reply == claim;
    if (d_.unanswered(removal)) return true;
    const Fact& reply = d_.fact(removal.reply);
    return reply.outcome == Outcome::done && reply->matched > 0 &&
           claimed_by(reply.command) == 0 && reply->order > d_.at(change).order;
  }

  /// Whether a lease can have run since this was written, by whatever clock.
  [[nodiscard]] bool has_run_out(const Change& put, Index now) const {
    if (put.readers.empty()) return is_over(d_, put.lock_id, now);
    return std::ranges::all_of(put.readers, [&](const ReaderEntry& r) {
      return is_over(d_, r.lock_id, now);
    });
  }

  const Digest& d_;
  std::vector<Version> claimed_;  ///< by command
  std::vector<bool> queued_;      ///< by lockId: its owner stood in the queue just before
  std::vector<std::vector<SendDigest>> passes_on_;  ///< by name
  /// By lockId that follows a free lock: the owners that stood first since it was free. Each may
  /// have been offered the lock.
  std::unordered_map<Id, std::vector<Id>> offered_;
  Index administrator_ = kNone;  ///< the first event that removed documents so
};

class VersionStates {
 public:
  explicit VersionStates(const Digest& d)
      : d_(d),
        rules_(d),
        by_then_(d.facts.all.size()),
        extension_(d.sessions.size(), kNone),
        acknowledged_(d.sessions.size()) {
    for (const auto& line : d.truth) {
      locks_.push_back({line});
      for (Version v = 1; v <= line.size(); ++v) by_then_[line[v - 1].event] = v;
    }
  }

  void see(Index i, const Fact& e) {
    if (e.name != kNoText && locks_[e.name].too_many) {
      return found_.leave_open(Open::other, "lock '" + d_.name(e.name) + "': more than " +
                                                std::to_string(kMost) +
                                                " states are possible at once");
    }
    switch (e.kind) {
      case Kind::send: return sent(i, e);
      case Kind::reply: return replied(i, e);
      case Kind::granted: return granted(i, e);
      case Kind::extended: return extended(i, e);
      case Kind::lost: return lost(i, e);
      case Kind::released: return released(i, e);
      case Kind::put:
      case Kind::gone: ++found_.checked; return need(i, e, locks_[e.name], by_then_[i]);
      default: return;
    }
  }

  /// Counts: `hidden_steps`, `old_primaries` (replies that show what was over before their command
  /// was sent), and `largest_set`.
  [[nodiscard]] Finding result() {
    found_.counts["hidden_steps"] = hidden_steps_;
    found_.counts["largest_set"] = largest_set_;
    found_.counts["old_primaries"] = old_primaries_;
    found_.excused[static_cast<std::size_t>(Excuse::disturbance)] = old_primaries_ + rolled_back_;
    return std::move(found_);
  }

 private:
  static constexpr std::size_t kMost = 512;  ///< states that are kept at once
  static constexpr const char* kItsOwners = "the document was its owner's all the time";

  /// The states that a lock's document may be in: its oplog says which versions of it there will
  /// be, but not when each was written.
  struct Lock {
    Versions line;
    Version lowest = 0;
    /// One state for each version from the lowest on, with as few executed removals without an
    /// answer as explain it. INVARIANT: not empty.
    std::vector<Removals> spent = std::vector<Removals>(1);
    /// More are possible than are kept: the state of this lock is unknown from then on.
    bool too_many = false;

    [[nodiscard]] Version highest() const {
      return lowest + static_cast<Version>(spent.size()) - 1;
    }
    /// Keeps the states in which this version was written. REQUIRES: there is one.
    void keep_from(Version v) {
      if (v <= lowest) return;
      spent.erase(spent.begin(), spent.begin() + (v - lowest));
      lowest = v;
    }
  };

  /// Takes the hidden steps that are possible by now, from every state.
  void grow(Lock& lock, Index now) {
    auto& spent = lock.spent;
    for (std::size_t k = 0; k < spent.size() && lock.lowest + k < lock.line.size(); ++k) {
      const auto next = lock.lowest + static_cast<Version>(k) + 1;
      const Way way = rules_.way(lock.line, next, now, spent[k]);
      if (way.why_not != nullptr) continue;
      auto by = spent[k];
      if (way.spends != kNone) by.push_back(way.spends);
      if (k + 1 < spent.size()) {
        if (by.size() < spent[k + 1].size()) spent[k + 1] = std::move(by);
        continue;
      }
      lock.too_many |= spent.size() == kMost;
      if (lock.too_many) break;
      ++hidden_steps_;
      spent.push_back(std::move(by));
    }
    largest_set_ = std::max(largest_set_, static_cast<std::int64_t>(spent.size()));
  }

  // Clients

  void sent(Index i, const Fact& e) {
    if (e.name == kNoText) return;
    ++found_.checked;
    by_then_[i] = locks_[e.name].lowest;
    if (leaves_lock(e)) return;
    if (e.verb == Verb::extend) extension_[e.session] = i;
    stays(i, e);
    if (first_sending(d_, e.lock_id, i) != kNone) {
      accuse(i, e, "an earlier command writes the same lockId");
    }
  }

  void stays(Index i, const Fact& e) {
    if (farewell(d_, e.owner, i) == kNone) return;
    accuse(i, e, "its owner has left the lock before");
  }

  void replied(Index i, const Fact& e) {
    const Index send = d_.commands[e.command].send;
    if (send >= i || e.outcome != Outcome::done) return;
    const Fact& asked = d_.fact(send);
    Lock& lock = locks_[asked.name];
    if (asked.name == kNoText || asked.verb == Verb::extend || lock.too_many) return;
    ++found_.checked;
    if (leaves_lock(asked)) {
      if (e->matched > 0) return removed(i, asked, lock, send);
    } else if (e->matched > 0) {
      return need(i, asked, lock, written_by(d_, asked.name, asked.lock_id));
    }
    if (is_of_an_old_primary(e, lock, send)) return;
    if (e.lock_id != kNoText) return saw(i, asked, lock, send);
    const bool none = asked.verb == Verb::hand_over || asked.verb == Verb::pass_on;
    const bool gives = asked.verb == Verb::hand_over;
    if (none) see_without(i, asked, lock, {send, asked.owner, asked.other_owner, gives});
  }

  void granted(Index i, const Fact& e) {
    stays(i, e);
    if (d_.session_of(e).shares != kNone) return;
    const Version v = written_by(d_, e.name, e.lock_id);
    if (v != 0 && d_.at(locks_[e.name].line[v - 1].event).order != e->token) {
      accuse(i, e, "its token is not the time of its write");
    }
    if (e.verb != Verb::pass_on && !acknowledged(d_, d_.writers[e.lock_id].send, i)) {
      accuse(i, e, "no reply says that it won");
    }
    written(i, e, v);
  }

  void extended(Index i, const Fact& e) {
    if (!acknowledged(d_, d_.writers[e.lock_id].send, i)) {
      accuse(i, e, "no reply says that it was executed");
    }
    written(i, e, written_by(d_, e.name, e.lock_id));
  }

  /// A grant or an extension: its own write was executed.
  void written(Index i, const Fact& e, Version v) {
    ++found_.checked;
    acknowledged_[e.session] = e->sent_ns;
    need(i, e, locks_[e.name], v);
  }

  /// A server said that the document has another owner or is gone, after the last extension was
  /// sent.
  void lost(Index i, const Fact& e) {
    const Id owner = owner_of(d_, e);
    const Index asked = extension_[e.session];
    if (e.outcome != Outcome::not_owner || owner == kNoText || asked == kNone) return;
    ++found_.checked;
    if (stood_without(i, locks_[e.name], {asked, owner, owner})) return;
    if (!was_taken_for_a_while(e)) return accuse(i, e, kItsOwners);
    ++rolled_back_;
  }

  /// An administrator took the lock by a write that was rolled back. Until then a read shows it,
  /// and a loss is final. An own write that was sent later and acknowledged refutes that.
  [[nodiscard]] bool was_taken_for_a_while(const Fact& e) const {
    return std::ranges::any_of(d_.faults, [&](Index fault) {
      const Event& force = d_.at(fault);
      const auto began = d_.fact(fault).at_ns;
      return force.fault == "force-release" && force.victim == d_.name(e.name) &&
             acknowledged_[e.session] < began && began <= e.at_ns &&
             written_by(d_, e.name, d_.fact(fault).lock_id) == 0 &&
             d_.servers.meet({began, e.at_ns});
    });
  }

  void released(Index i, const Fact& e) {
    const Id owner = owner_of(d_, e);
    if (owner == kNoText || e.outcome == Outcome::unknown) return;
    if (d_.session_of(e).leaves_it_to_others) return;  // it sends nothing
    const bool left = e.outcome == Outcome::released;
    ++found_.checked;
    for (const SendDigest& one : d_.farewells(owner)) {
      if (!d_.done(one.reply) || (d_.at(one.reply).matched > 0) != left) continue;
      if (left) return;
      return see_without(i, e, locks_[e.name], {one.send, owner, owner});
    }
    accuse(i, e, left ? "no reply says that a release found its document"
                      : "no reply says that a release found nothing");
  }

  // States

  /// A removal says that it found the document of its owner. A repeated removal is answered with a
  /// later time than its write. Or its owner was offered a free lock, and no other call waits: then
  /// the lock stays free.
  void removed(Index i, const Fact& asked, Lock& lock, Index send) {
    const Version claimed = rules_.claimed_by(asked.command);
    if (claimed != 0) return need(i, asked, lock, claimed);
    grow(lock, i);
    for (Version v = by_then_[send] + 1; v <= lock.highest(); ++v) {
      for (const Id own : {asked.owner, asked.other_owner}) {
        const bool went = held_at(lock.line, v - 1, own) && !held_at(lock.line, v, own);
        if (went) return lock.keep_from(v);
      }
    }
    if (asked.verb == Verb::pass_on) return see_without(i, asked, lock, {send});
    accuse(i, asked, "no document of its owner can have gone by then");
  }

  /// This version was written by now. If that is impossible, it goes on from there.
  void need(Index i, const Fact& e, Lock& lock, Version v) {
    if (v == 0) return accuse(i, e, "its write is in no oplog");
    if (v > lock.highest()) grow(lock, i);
    if (v <= lock.highest()) return lock.keep_from(v);
    const Way way = rules_.way(lock.line, lock.highest() + 1, i, {});
    accuse(i, e, way.why_not == nullptr ? "a removal is executed once" : way.why_not);
    lock.lowest = v;
    lock.spent.assign(1, {});
  }

  /// A reply shows this lockId in the document: between the sending and now it stood there. A
  /// release that gives up may find the document of a free lock, which names the offered owner.
  void saw(Index i, const Fact& asked, Lock& lock, Index send) {
    const Id shown = d_.fact(i).lock_id;
    const Version low = by_then_[send];
    Version v = written_by(d_, asked.name, shown);
    if (v != 0 && v < low && !d_.facts.readers[shown].empty()) {
      // The text of readers comes again when those leave who came since.
      const auto again = std::ranges::find(lock.line.subspan(low - 1), shown, &Change::text);
      v = again == lock.line.end() ? v : static_cast<Version>(again - lock.line.begin()) + 1;
    }
    // A free document names whom the lock is offered, whose own write may come later.
    const auto at = d_.at(i).order;
    if (v != 0 && at != 0 && at < d_.at(lock.line[v - 1].event).order) v = 0;
    if (v != 0 && v >= low) {
      grow(lock, i);
      if (v <= lock.highest()) return lock.keep_from(v);
    }
    if (asked.verb == Verb::pass_on) return see_without(i, asked, lock, {send});
    if (v != 0 && v < low) {
      if (is_of_an_old_primary(d_.fact(i), lock, send, moved_)) return;
      return accuse(i, asked, "it shows what was over when it was sent");
    }
    if (v != 0) return need(i, asked, lock, v);
    const bool ours = d_.writers[shown].send != kNone;
    if (ours) accuse(i, asked, "it shows what is in no oplog");
  }

  /// Whether the reply comes from a primary that was cut off: its newest write is older than the
  /// document by the sending. Such a primary exists only while something is disturbed. A router
  /// that asked the shard that had the document before may answer with a later time of that.
  bool is_of_an_old_primary(const Fact& reply, const Lock& lock, Index send, bool routed = false) {
    const Version known = by_then_[send];
    if (known == 0) return false;
    const Fact& missing = d_.fact(lock.line[known - 1].event);
    if (reply->order >= missing->order && !routed) return false;
    const Span since{missing.at_ns - d_.allowed.truth_lag_ns, reply.at_ns};
    if (!d_.servers.meet(since)) return false;
    ++old_primaries_;
    return true;
  }

  struct Sight {
    Index since;  ///< the sending
    Id owner = kNoText, other = kNoText;  ///< did not have the document; none: it was free
    bool hands_over = false;  ///< it finds no owner among several readers
  };

  /// Whether at some time between the sending and now the document belonged to neither of these
  /// owners; then what is known begins there.
  bool stood_without(Index i, Lock& lock, const Sight& sight) {
    grow(lock, i);
    for (Version v = by_then_[sight.since]; v <= lock.highest(); ++v) {
      const bool own = held_at(lock.line, v, sight.owner) || held_at(lock.line, v, sight.other);
      const bool unseen = sight.hands_over && v != 0 && lock.line[v - 1].is_of_several();
      const bool other = sight.owner != kNoText && (!own || unseen);
      if (holder_at(lock.line, v) != kNoText && !other) continue;
      lock.keep_from(v);
      return true;
    }
    return false;
  }

  void see_without(Index i, const Fact& e, Lock& lock, const Sight& sight) {
    if (stood_without(i, lock, sight)) return;
    accuse(i, e, sight.owner == kNoText ? "it shows what was not there at any time" : kItsOwners);
  }

  /// `of` has the name of the lock, which a reply lacks.
  void accuse(Index i, const Fact& of, const char* why) {
    violate(found_, "lock '" + d_.name(of.name) + "': " + described(i) + ": " + why, {i});
  }

  /// "acquire 7 of p1 is sent".
  [[nodiscard]] std::string described(Index i) const {
    const Event& e = d_.at(i);
    if (e.kind == Kind::put || e.kind == Kind::gone) {
      return "version " + std::to_string(by_then_[i]) + " of its document cannot have been written";
    }
    if (e.kind == Kind::send || e.kind == Kind::reply) {
      const Event& send = d_.at(std::min(d_.commands[d_.fact(i).command].send, i));
      return send.verb + ' ' + std::to_string(send.command) + " of " + send.process +
             (e.kind == Kind::send ? " is sent" : " is answered");
    }
    return "session " + std::to_string(e.session) + " of " + e.process + " is " +
           to_string(e.kind) + (e.outcome.empty() ? "" : " as " + e.outcome);
  }

  const Digest& d_;
  const VersionRules rules_;
  Finding found_ = finding(Check::refinement);
  std::vector<Lock> locks_;  ///< by name
  /// By event: of a sending, the lowest version by then; of a change, its version.
  std::vector<Version> by_then_;
  std::vector<Index> extension_;            ///< by session: the last that was sent
  std::vector<std::int64_t> acknowledged_;  ///< by session: when its last own write was sent
  const bool moved_ = std::ranges::any_of(
      d_.faults, [this](Index fault) { return d_.at(fault).fault == "move"; });
  std::int64_t hidden_steps_ = 0, largest_set_ = 0, old_primaries_ = 0, rolled_back_ = 0;
};

}  // namespace leasehold::model

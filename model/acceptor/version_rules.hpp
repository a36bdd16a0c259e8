#pragma once

#include <algorithm>
#include <array>
#include <unordered_map>
#include <vector>

#include "model/acceptor/known.hpp"

/// What can be written, and when: the rules by which one version of a lock's document follows
/// another.
namespace leasehold::model {

/// The sendings of removals.
using Removals = std::vector<Index>;

/// Whether a version can have been written by some event, and how.
struct Way {
  const char* why_not = nullptr;  ///< null: it can
  Index spends = kNone;           ///< the sending of a removal without a certain outcome
};

class VersionRules {
 public:
  explicit VersionRules(const Digest& d)
      : d_(d),
        claimed_(d.facts.commands.size()),
        queued_(d.facts.lock_ids.size()) {
    const auto by_administrator = std::ranges::find_if(d.faults, [&](Index i) {
      constexpr std::array kKinds{"delete-document", "drop-collection", "lost-data"};
      return std::find(kKinds.begin(), kKinds.end(), d.at(i).fault) != kKinds.end();
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
        queued_[change.lock_id] = std::ranges::count(standing, change.owner) > 0;
        if (is_free) offered_[change.lock_id] = heads;
      }
      is_free = change.gone;
    }
  }

  [[nodiscard]] Way put(Versions line, Version v, Index now, const Removals& spent) const {
    const Change& change = line[v - 1];
    if (d_.writers[change.lock_id].send == kNone) return {};  // of a client that is not ours
    if (written_by(d_, d_.fact(change.event).name, change.lock_id) != v) {
      return {"it has the lockId of an earlier one"};
    }
    const Way own = by_itself(line, v, now);
    if (own.why_not == nullptr) return own;
    const Way given = passed_on(line, v, now, spent);
    return given.why_not == nullptr ? given : own;
  }

  /// Whether the command with this lockId can have written it.
  [[nodiscard]] Way by_itself(Versions line, Version v, Index now) const {
    const Change& after = line[v - 1];
    const SendDigest& writer = d_.writers[after.lock_id];
    const Fact& send = d_.fact(writer.send);
    if (writer.send >= now) return {"its command was not sent yet"};
    if (writer.reply != kNone && says_not_executed(d_.fact(writer.reply))) {
      return {"its command was answered as not executed"};
    }
    const Id holder = holder_at(line, v - 1);
    if (holder == after.owner) return {};
    if (send.verb == Verb::extend) return {"it extends a lock that is not its owner's"};
    if (send.verb == Verb::hand_over) {
      if (holder != kNoText && holder == send.other_owner) return {};
      return {"it hands over a lock that is neither its giver's nor its receiver's"};
    }
    return v == 1 || line[v - 2].gone ? Way{} : taken(line[v - 2], after, now);
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
    if (!rules::may_take(send.observed == before.lock_id, expired)) {
      return {"it takes a lock of another that is neither given, observed nor expired"};
    }
    if (has_run_out(before, now)) return {};
    return {"it takes a lock of another before a lease can have run since its last write"};
  }

  /// The owners with a release that can have given this lock away. A free lock may have been
  /// offered to the first entry of its queue, which gives up. When that entry has expired, the lock
  /// may have been offered to the next one.
  [[nodiscard]] std::vector<Id> givers(Versions line, Version v) const {
    const Id holder = holder_at(line, v - 1);
    if (holder != kNoText) return {holder};
    const Index claim = d_.claim(line[v - 1].event);
    if (claim != kNone) return {d_.fact(claim).owner};
    const auto offered = offered_.find(line[v - 1].lock_id);
    return offered == offered_.end() ? std::vector<Id>{} : offered->second;
  }

  /// Whether a release of its holder can have given it to an entry of the queue, if the history
  /// records its queue.
  [[nodiscard]] Way passed_on(Versions line, Version v, Index now, const Removals& spent) const {
    const Change& after = line[v - 1];
    const Index asked = d_.writers[after.lock_id].send;
    const Fact& send = d_.fact(asked);
    if (asked >= now || send.verb != Verb::acquire) return {"no call asked for it so"};
    if (!d_.places[send.name].empty() && !queued_[after.lock_id]) {
      return {"it goes to no entry of the queue"};
    }
    for (const Id giver : givers(line, v)) {
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
    const auto holder = writer_of(d_, put.event);
    return !holder || d_.fact(now).at_ns >= earliest_end(d_, *holder);
  }

  const Digest& d_;
  std::vector<Version> claimed_;  ///< by command
  std::vector<bool> queued_;      ///< by lockId: its owner stood in the queue just before
  /// By lockId that follows a free lock: the owners that stood first since it was free. Each may
  /// have been offered the lock.
  std::unordered_map<Id, std::vector<Id>> offered_;
  Index administrator_ = kNone;  ///< the first event that removed documents so
};

}  // namespace leasehold::model

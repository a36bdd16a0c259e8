#include "model/refinement/version_rules.hpp"

#include <algorithm>
#include <array>

#include "model/spec/rules.hpp"
#include "model/verdict/finding.hpp"

namespace leasehold::model {
namespace {

/// Whether this fault removes documents as no client or TTL monitor would.
bool is_by_administrator(const Event& fault) {
  constexpr std::array kKinds{"delete-document", "drop-collection", "lost-data"};
  return std::find(kKinds.begin(), kKinds.end(), fault.fault) != kKinds.end();
}

/// Whether this answer says that the command wrote nothing. If the command was an attempt, the lock
/// is another's, and only a release may still give it the lock.
bool says_not_executed(const Fact& reply) {
  if (reply.outcome == Outcome::done) return reply->matched == 0;
  return reply.outcome == Outcome::duplicate_key || reply.outcome == Outcome::failed_before;
}

}  // namespace

VersionRules::VersionRules(const Digest& d)
    : d_(d),
      by_lock_id_(d.facts.lock_ids.size()),
      by_command_(d.facts.commands.size()),
      lock_of_(d.facts.lock_ids.size()),
      queued_(d.facts.lock_ids.size()),
      has_queue_(d.facts.names.size()) {
  const auto by_administrator = std::find_if(
      d.faults.begin(), d.faults.end(), [&](Index i) { return is_by_administrator(d.at(i)); });
  if (by_administrator != d.faults.end()) administrator_ = *by_administrator;
  for (Id name = 0; name < d.facts.names.size(); ++name) {
    note(name, d.truth[name]);
    note_queue(name, d.truth[name]);
  }
}

void VersionRules::note(Id name, Versions line) {
  for (Version v = 1; v <= line.size(); ++v) {
    const Change& change = line[v - 1];
    if (!change.gone && by_lock_id_[change.lock_id] == 0) {
      by_lock_id_[change.lock_id] = v;
      lock_of_[change.lock_id] = name;
    }
    const Index claim = d_.claim(change.event);
    if (claim != kNone) by_command_[d_.fact(claim).command] = v;
  }
}

/// Notes the queue at each version: both are in the server's order.
void VersionRules::note_queue(Id name, Versions line) {
  const auto& places = d_.places[name];
  has_queue_[name] = !places.empty();
  if (places.empty()) return;
  std::vector<Id> standing, heads;
  auto place = places.begin();
  const auto see_heads = [&] {
    const bool known = standing.empty() || std::ranges::count(heads, standing.front()) > 0;
    if (!known) heads.push_back(standing.front());
  };
  const auto see_until = [&](std::int64_t order) {
    for (; place != places.end() && d_.at(*place).order <= order; ++place) {
      const Fact& e = d_.fact(*place);
      std::erase(standing, e.owner);
      const auto last = static_cast<std::int64_t>(standing.size());
      if (e->count > 0) standing.insert(standing.begin() + std::min(e->count - 1, last), e.owner);
      see_heads();
    }
  };
  bool is_free = false;
  for (const Change& change : line) {
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

Way VersionRules::way(Versions line, Version v, Moment now, const Removals& spent) const {
  return line[v - 1].gone ? gone(line, v, now, spent) : put(line, v, now, spent);
}

Way VersionRules::put(Versions line, Version v, Moment now, const Removals& spent) const {
  const Change& change = line[v - 1];
  if (d_.writers[change.lock_id].send == kNone) return {};  // of a client that is not ours
  if (written_by(d_.fact(change.event).name, change.lock_id) != v) {
    return {"it has the lockId of an earlier one"};
  }
  const Way own = by_itself(line, v, now);
  if (own.why_not == nullptr) return own;
  const Way given = passed_on(line, v, now, spent);
  return given.why_not == nullptr ? given : own;
}

/// Whether the command with this lockId can have written it.
Way VersionRules::by_itself(Versions line, Version v, Moment now) const {
  const Change& after = line[v - 1];
  const SendDigest& writer = d_.writers[after.lock_id];
  const Fact& send = d_.fact(writer.send);
  if (writer.send >= now.event) return {"its command was not sent yet"};
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

/// Whether it can have been taken over from another owner, which seems to be dead.
Way VersionRules::taken(const Change& before, const Change& after, Moment now) const {
  const Event& send = d_.at(d_.writers[after.lock_id].send);
  const Event &old_put = d_.at(before.event), &put = d_.at(after.event);
  const bool observed = send.observed_lock_id == d_.facts.lock_ids[before.lock_id];
  const bool dated = old_put.expires_at_ms != 0 && put.acquired_at_ms != 0;
  const bool expired = !dated || rules::is_expired(old_put.expires_at_ms, put.acquired_at_ms);
  if (!rules::may_take(observed, expired)) {
    return {"it takes a lock of another that is neither given, observed nor expired"};
  }
  if (has_run_out(before, now)) return {};
  return {"it takes a lock of another before a lease can have run since its last write"};
}

/// The owners with a release that can have given this lock away. A free lock may have been offered
/// to the first entry of its queue, which gives up. When that entry has expired, the lock may have
/// been offered to the next one.
std::vector<Id> VersionRules::givers(Versions line, Version v) const {
  const Id holder = holder_at(line, v - 1);
  if (holder != kNoText) return {holder};
  const Index claim = d_.claim(line[v - 1].event);
  if (claim != kNone) return {d_.fact(claim).owner};
  const auto offered = offered_.find(line[v - 1].lock_id);
  return offered == offered_.end() ? std::vector<Id>{} : offered->second;
}

/// Whether a release of its holder can have given it to an entry of the queue.
Way VersionRules::passed_on(Versions line, Version v, Moment now,
                            const Removals& spent) const {
  const Change& after = line[v - 1];
  const Index asked = d_.writers[after.lock_id].send;
  const Fact& send = d_.fact(asked);
  if (asked >= now.event || send.verb != Verb::acquire) return {"no call asked for it so"};
  if (has_queue_[send.name] && !queued_[after.lock_id]) return {"it goes to no entry of the queue"};
  for (const Id giver : givers(line, v)) {
    for (const SendDigest& removal : d_.deletes.of(giver)) {
      if (d_.fact(removal.send).verb != Verb::pass_on) continue;
      if (!can_have_done(removal, after.event, now)) continue;
      if (d_.claim(after.event) != kNone) return {};
      if (std::ranges::count(spent, removal.send) == 0) return {nullptr, removal.send};
    }
  }
  return {"no release of its holder can have given it away"};
}

/// The TTL monitor is tried first, because it may delete any number of times; a removal is executed
/// once.
Way VersionRules::gone(Versions line, Version v, Moment now, const Removals& spent) const {
  const Index event = line[v - 1].event;
  if (holder_at(line, v - 1) == kNoText) return {};
  const Change& before = line[v - 2];
  const bool claimed = d_.claim(event) != kNone;
  if (!claimed && has_run_out(before, now)) return {};
  for (const SendDigest& removal : d_.deletes.of(before.owner)) {
    if (!can_have_done(removal, event, now)) continue;
    if (claimed) return {};
    if (std::ranges::count(spent, removal.send) == 0) return {nullptr, removal.send};
  }
  if (claimed) return {"a removal by another process says that it did it"};
  if (administrator_ < now.event) return {};
  return {"no removal of its holder can have done it, and its lease has not run out"};
}

/// If a reply claims the change, only the removal with that reply. Otherwise a removal that has no
/// certain outcome, or a repeated one, which is answered with a later time.
bool VersionRules::can_have_done(const SendDigest& removal, Index change, Moment now) const {
  if (removal.send >= now.event) return false;
  const Index claim = d_.claim(change);
  if (claim != kNone) return removal.reply == claim;
  if (d_.unanswered(removal)) return true;
  const Fact& reply = d_.fact(removal.reply);
  return reply.outcome == Outcome::done && reply->matched > 0 && by_command_[reply.command] == 0 &&
         reply->order > d_.at(change).order;
}

/// Whether a lease can have run since this was written, by whatever clock.
bool VersionRules::has_run_out(const Change& put, Moment now) const {
  const auto holder = writer_of(d_, put.event);
  return !holder || now.at_ns >= earliest_end(d_, *holder);
}

}  // namespace leasehold::model

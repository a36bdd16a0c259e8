#pragma once

#include <algorithm>
#include <iterator>

#include "model/spec/lock.hpp"
#include "model/spec/rules.hpp"

/// What servers do with the requests of the abstract lock. Only lock.cpp includes it.
namespace leasehold::model::lock_world {

enum Violation : Byte {
  kNoViolation,
  kGivenAway,
  kForeignTaken,
  kFenceOrder,
  kFenceRefused,
  kToken,
  kRevived,
  kHeldTooLong,
  kOwnership,
  kUnrecognised,
  kPassed,
  kLeftBehind
};
struct Broken {
  Check guarantee;
  const char* text;
};
constexpr Broken kBroken[] = {
    {Check::form, ""},
    {Check::G1, "G1: a lease was given to another before it ran out"},
    {Check::G1, "G1: a lock of the .NET package was taken before its expiresAt"},
    {Check::G3, "G3: the resource accepts a write of an earlier holder after one of a later"},
    {Check::G3, "G3: the resource refuses its current holder"},
    {Check::G4, "G4: a token did not rise"},
    {Check::G5, "G5: held() of a lost handle was true again"},
    {Check::G5, "G5: held() is true past the deadline"},
    {Check::G6, "G6: another's lock was touched"},
    {Check::G7, "G7: a retry did not recognise its own win"},
    {Check::G7, "G7: a call that waits was passed, or waits for too many others"},
    {Check::G7, "G7: a release left its own entry behind"}};

/// Whether an extension of this owner is on its way.
inline bool is_extending(const World& w, Byte owner) {
  const Client& c = w.client[client_of(owner)];
  return std::any_of(std::begin(c.message), std::end(c.message),
                     [owner](const Message& m) { return m.slot == kExtend && m.owner == owner; });
}

/// Whether it holds within its lease, or will when it learns of a win that a majority has or may
/// still get.
inline bool counts_on_a_lease(const Client& c) {
  if (c.phase == kHeld && c.lease > 0) return true;
  if (c.waits() && c.notice.owner == c.owner && c.owner != 0 && c.notice.age < kLease) return true;
  if (c.awaited == 0) return false;
  const Message& m = c.message[c.awaited - 1];
  return m.slot == kWon && m.age < kLease;
}

/// The place of the next write among all writes: after every place that the state still contains.
inline Byte next_order(const World& w, const Scope& scope) {
  Byte greatest = 0;
  const auto look = [&](Byte order) { greatest = std::max(greatest, order); };
  each_order(w, look);
  if (scope.rules.token == Rules::Token::cluster_time) each_token(w, look);
  return byte(greatest + 1);
}

/// The reply shows the holder if the rules observe it: a lockId is worth observing only if each
/// command changes it.
inline void refuse(Message& m, const Document& d, const Rules& rules, const Scope& scope) {
  const bool foreign = d.owner != 0 && is_package(scope, client_of(d.owner));
  const bool observed = d.owner != 0 && rules.observes && (!foreign || rules.observes_foreign);
  m.slot = kRefused;
  m.seen_owner = observed ? d.owner : Byte{0};
  m.seen_beat = observed ? d.beat : Byte{0};
}

/// One step under way: of client i and of its message m, or of the servers. A primary executes a
/// request by the document, the rules of its sender and its own clock. The request becomes its
/// reply.
struct Execution {
  World& w;
  const Scope& scope;
  const LockAction action;
  Labels& labels;
  const int i = action.client;
  Client& c = w.client[i];
  Message& m = c.message[action.slot];
  const Rules& rules = rules_for(scope, i);
  const int waited = action.waited;
  const bool stale = action.act == LockAct::execute_stale;
  Document& d = stale ? w.stale : w.document;

  void took(Label label) const { labels.insert(label); }
  /// Records that the world breaks this, if the scope checks it. The first violation stays.
  void violate(Violation violation) const {
    const bool looked_at = scope.guarantees.contains(kBroken[violation].guarantee);
    if (w.violation == kNoViolation && looked_at) w.violation = violation;
  }

  /// The document changed from `before`: until a majority has it, a successor may not.
  void wrote(const Document& before) const {
    if (!scope.failovers) return;
    if (w.dirty == 0) w.committed = before;
    w.dirty = 1;
  }

  void execute() const {
    const Document before = d;
    const Message sent = m;
    if (w.dirty == 0) w.committed_clock = w.clock;
    switch (m.slot) {
      case kAcquire: execute_acquire(); break;
      case kRenewal: execute_renewal(); break;
      case kExtend: execute_extend(); break;
      case kHandOver: execute_hand_over(); break;
      default: execute_delete(); break;
    }
    const bool enlisted = !std::equal(d.waiting, std::end(d.waiting), before.waiting);
    const bool changed = d.owner != before.owner || d.beat != before.beat ||
                         d.until != before.until || m.slot == kWon || m.slot == kExtended;
    m.beat = 0;
    if (stale) return;
    if (is_reader(scope, i)) check_entries(before, sent);
    if ((changed && m.slot != kRefused && m.slot != kNoMatch) || enlisted) wrote(before);
    // A reply, of a refusal too, waits until a majority has the newest write.
    if (m.slot != kEmpty) m.committed = byte(w.dirty == 0);
  }

  /// A command of a reader that takes no lock leaves every other reader's entry that is not over;
  /// and a release leaves none of its own.
  void check_entries(const Document& before, const Message& sent) const {
    const bool took = sent.slot == kAcquire && !before.is_held_by(sent.owner) && d.readers() == 1;
    for (const Byte owner : {before.owner, before.other.owner}) {
      const bool stood = before.readers() > 0 && owner != 0 && owner != sent.owner &&
                         before.until_of(owner) > kDue - waited;
      if (stood && !took && !d.is_held_by(owner)) violate(kOwnership);
    }
    if (sent.slot == kDelete && d.is_held_by(sent.owner)) violate(kLeftBehind);
  }

  /// What is added to the lease of client `of`.
  [[nodiscard]] int margin(int of, bool extension = false) const {
    using Margin = Rules::Margin;
    const bool kept = rules.margin == Margin::in_document ||
                      (rules.margin == Margin::not_in_extensions && !extension) ||
                      (rules.margin == Margin::not_of_readers && !is_reader(scope, of));
    return kept ? scope.clock_margin : 0;
  }

  /// Client j was given the lock: does another client still count on it that j excludes?
  void check_grant(int j) const {
    for (int other = 0; other < scope.clients; ++other) {
      if (other == j || !rules::excludes(is_reader(scope, j), is_reader(scope, other))) continue;
      if (is_package(scope, other)) {
        const bool held = d.owner != 0 && client_of(d.owner) == other;
        if (held && d.until > kDue) violate(kForeignTaken);
      } else if (counts_on_a_lease(w.client[other])) {
        violate(kGivenAway);
      }
    }
  }

  void execute_acquire() const {
    const bool there = d.owner != 0;
    const bool ours = d.is_held_by(m.owner);
    const bool owner_seen = d.owner == m.seen_owner || !rules.compares_seen_owner;
    const bool beat_seen = d.beat == m.seen_beat || !rules.compares_seen_beat;
    const bool dead = m.seen_owner != 0 && there && owner_seen && beat_seen;
    const int until_given =
        d.until + (rules.margin == Rules::Margin::by_waiter ? scope.clock_margin : 0);
    // A client with a wall clock that is ahead finds documents expired too early; one with a clock
    // that is behind writes early dates.
    const int off = action.choice != 0 ? scope.skew : 0;
    const bool expired =
        rules.ignores_expiry ||
        (rules.expiry == Rules::Expiry::server_clock &&
         rules::is_expired(until_given, kDue - waited)) ||
        (rules.expiry == Rules::Expiry::client_clock && rules::is_expired(until_given, kDue + off));
    const bool takes = !there || rules::may_take(dead, expired);
    const bool joins = (!ours || !rules.recognises_own_entry) && !takes && join();
    if (!ours && !takes && !joins) return refuse_attempt();
    if (!stale && !ours) check_grant(i);
    took(Label::written);
    took(!there                     ? (w.top_order != 0 ? Label::inserted_again : Label::inserted)
         : joins                    ? Label::handed_over
         : !ours                    ? Label::taken_over
         : is_extending(w, d.owner) ? Label::own_retry_while_extending
                                    : Label::own_retry);
    const bool wall = rules.lock == Lock::insert_unique || rules.lock == Lock::set_on_insert;
    if (there && takes && !ours) lose_bounds();
    take_document(kDue - waited + kLease + margin(i) - (wall ? off : 0), joins);
  }

  /// Whether the attempt joins the readers that hold the lock, of which those that are over go.
  [[nodiscard]] bool join() const {
    if (!is_reader(scope, i) || d.readers() == 0) return false;
    Document left = d;
    remove_over(left, rules.drops_readers_early ? scope.clock_margin : 0);
    const int own = d.place_of(m.owner);
    const auto* const end = own < 0 ? std::end(d.waiting) : d.waiting + own;
    const bool passes = std::any_of(std::cbegin(d.waiting), end, [&](const Entry& entry) {
      return entry.owner != 0 && (scope.permits || !is_readers_place(entry));
    });
    if (!rules::may_join(passes && !rules.joins_past_writers, left.readers() < 2)) return false;
    if (passes) violate(kPassed);
    d = left;
    return true;
  }

  /// The readers' entries that are over go.
  void remove_over(Document& readers, int early = 0) const {
    for (const Byte owner : {readers.owner, readers.other.owner}) {
      if (rules::is_expired(int{readers.until_of(owner)}, kDue - waited + early)) {
        readers.remove_holder(owner);
      }
    }
  }

  [[nodiscard]] bool is_readers_place(const Entry& entry) const {
    const int of = client_of(entry.owner);
    return is_reader(scope, of) || (rules.reads_places_of_writers && is_older(scope, of));
  }

  /// The holder is neither dead nor expired: the attempt changes only the queue.
  void refuse_attempt() const {
    took(Label::found_held);
    const Client& holder = w.client[client_of(d.owner)];
    const Message* answer = holder.awaited == 0 ? nullptr : &holder.message[holder.awaited - 1];
    if (answer != nullptr && answer->slot == kWon && answer->age < m.age) took(Label::raced);
    const bool awaited = c.awaited == action.slot + 1;
    if (awaited && d.is_held_by(c.doubtful) && !is_package(scope, i)) violate(kUnrecognised);
    refuse(m, d, rules, scope);
    if (scope.queue > 0 && !is_package(scope, i)) enlist();
    if (rules.checks_the_winner) return;
    const Byte order = next_order(w, scope);
    m.slot = kWon;
    m.seen_owner = m.seen_beat = 0;
    m.order = order;
    m.token = tokens_are_orders(scope) ? Byte{0} : order;
  }

  /// A refused call leaves an entry. While the .NET package holds, no call enlists, because the
  /// package would not recognise its own lockId afterwards.
  void enlist() const {
    if (is_package(scope, client_of(d.owner)) || waited >= kPlace) return;
    const Entry entry{m.owner, 7, byte(kPlace - waited), m.age};
    if (const int place = d.place_of(m.owner); place >= 0) {  // kept, by the newer renewal
      if (entry.age <= d.waiting[place].age) d.waiting[place] = entry;
      return;
    }
    for (int p = 0; p < scope.queue; ++p) {
      if (d.waiting[p].owner != 0) continue;
      d.waiting[p] = entry;
      if (!counts_turns()) return;
      int others = 0;  // the writers before it, and for a writer one batch of readers
      for (int q = 0; q <= p; ++q) others += is_readers_place(d.waiting[q]) ? 0 : 1;
      w.patience[p] = byte(others);
      return;
    }
  }

  /// If the rules say so, a renewal does nothing when its place is gone.
  void execute_renewal() const {
    if (d.is_held_by(m.owner) || d.place_of(m.owner) >= 0) return execute_acquire();
    refuse(m, {}, rules, scope);
  }

  /// The receiver gets the lock if the giver still has it, or has it already.
  void execute_hand_over() const {
    const bool there = d.owner != 0;
    const bool ours = d.is_held_by(m.owner);
    const bool given = ours || (there && d.owner == m.seen_owner);
    const bool inserts = !there && rules.hand_over_inserts;
    if (!given && !inserts && (rules.hand_over_checks_owners || !there)) {
      m.slot = kNoMatch;
      m.seen_owner = 0;
      return;
    }
    if (!given) violate(kOwnership);
    if (!ours && !stale) check_grant(i);
    took(Label::handed_over);
    lose_bounds();
    take_document(kDue - waited + kLease + margin(i));
  }

  /// The message's owner gets the document, alone or beside the readers that hold it, and the reply
  /// says so.
  void take_document(int until, bool joins = false) const {
    using Beat = Rules::Beat;
    const bool ours = d.is_held_by(m.owner);
    if (ours && rules.never_lowers_expiry) until = std::max(until, int{d.until_of(m.owner)});
    const int counter = d.owner == 0 ? 1 : std::min(d.counter + (ours ? 0 : 1), 7);
    const int beat = rules.beat == Beat::counted_in_document       ? (ours ? d.beat + 1 : 1)
                     : rules.beat == Beat::restarted_by_extensions ? 1
                     : rules.beat == Beat::kept_by_retries         ? int{m.beat}
                                                                   : 7;
    if (rules.lock != Lock::leasehold) d = {};  // it replaces the document, its queue too
    if (const int place = d.place_of(m.owner); place >= 0) remove_place(w, d, place);
    if (!ours && !joins) d.remove_holder(d.other.owner), d.remove_holder(d.owner);
    hold(m.owner, until, byte(std::min(beat, 7)), joins);
    d.counter = byte(scope.rules.token == Rules::Token::counter ? counter : 0);
    const Byte read = m.token;  // of the cluster time, where the command has done so
    m.slot = kWon;
    m.order = next_order(w, scope);
    m.token = rules.token == Rules::Token::cluster_time && read != 0 ? read : token_for(m.order);
    m.seen_owner = m.seen_beat = 0;
  }

  /// This owner holds the document until then. A reader may be one more of them: `joins`.
  void hold(Byte owner, int until, Byte beat, bool joins = false) const {
    const bool first = d.owner == 0, reader = is_reader(scope, client_of(owner));
    const Byte date = byte(std::max(until, 0));
    if (first || rules.text_has_all_readers || owner == d.owner) d.beat = beat;
    if (first || !reader) {
      d.owner = owner;
      d.until = date;
    } else if (rules.expires_with_the_latest) {
      d.until = std::max(d.until, date);
    }
    if (!reader) return;
    if (first || (owner == d.owner && !joins)) {
      d.own_until = date;
    } else {
      d.other = {owner, date};
    }
  }

  /// The token of the write with this order.
  [[nodiscard]] Byte token_for(Byte order) const {
    if (rules.token == Rules::Token::counter) return d.counter;
    if (rules.token == Rules::Token::cluster_time) return order;
    if (rules.token != Rules::Token::operation_time || !scope.stale_primary) return 0;
    // The lowest that a primary with this count may give next: between all others.
    each_token(w, [](Byte& token) { token = byte(2 * token); });
    return stale ? ++w.stale_clock : ++w.clock;
  }

  void execute_extend() const {
    using Beat = Rules::Beat;
    const bool there = d.owner != 0;
    const bool inserts = !there && rules.extension_inserts;
    const bool matches = d.is_held_by(m.owner) || (there && !rules.extension_checks_owner);
    m.slot = matches || inserts ? kExtended : kNoMatch;
    if (m.slot == kNoMatch) return;
    took(d.until > kDue ? Label::extension_in_time : Label::extension_late);
    if (!d.is_held_by(m.owner)) {
      violate(kOwnership);
      d.owner = m.owner;
    }
    int until = kDue - waited + kLease + margin(i, true);
    if (rules.never_lowers_expiry && rules.margin != Rules::Margin::not_in_extensions) {
      until = std::max(until, int{d.until_of(m.owner)});
    }
    const bool keeps = rules.lock != Lock::leasehold || rules.beat == Beat::kept_by_extensions;
    hold(m.owner, until,
         keeps                                         ? d.beat
         : rules.beat == Beat::restarted_by_extensions ? Byte{1}
         : rules.beat == Beat::counted_in_document     ? byte(std::min(d.beat + 1, 7))
                                                       : Byte{7});
  }

  /// A delete; for a lock with a queue, the command that passes it on.
  void execute_delete() const {
    const bool own = rules::is_its_own(d.owner, m.owner, m.seen_owner);
    const bool knows_readers = scope.readers > 0 && !is_older(scope, i) && !is_package(scope, i);
    if (knows_readers) {
      leave();
    } else if (d.owner != 0 && (own || !rules.release_checks_owner)) {
      if (!own) violate(kOwnership);
      took(d.until <= kDue            ? Label::deleted_expired
           : is_extending(w, d.owner) ? Label::deleted_while_extending
                                      : Label::deleted);
      if (is_package(scope, i)) d = {};
      free_document();
    }
    if (rules.held_until_release_answered) {
      m.slot = kGone;
    } else {
      m = {};
    }
  }

  /// Nobody holds the document any more: it goes to the queue.
  void free_document() const {
    d.owner = d.own_until = 0;
    d.other = {};
    if (d.waiting[0].owner == 0) {
      d = {};
      return;
    }
    pass_on();
    if (is_older(scope, i)) return lose_bounds();
    if (!counts_turns()) return;
    for (int p = 0; p < kMaxPlaces; ++p) {
      if (d.waiting[p].owner == 0 || w.patience[p] == kUnbounded) continue;
      if (w.patience[p] == 0) violate(kPassed);
      w.patience[p] -= byte(w.patience[p] != 0);
    }
  }

  /// A release where there may be readers: its owners leave the readers and the queue, readers that
  /// are over go, and those who wait first get what is free then.
  void leave() const {
    const Document before = d;
    for (const Byte owner : {m.owner, m.seen_owner}) {
      if (const int place = d.place_of(owner); place >= 0) remove_place(w, d, place);
    }
    if (before.readers() > 0) remove_over(d);
    for (const Byte owner : {m.owner, m.seen_owner}) d.remove_holder(owner);
    const bool left = before.is_held_by(m.owner) || before.is_held_by(m.seen_owner);
    if (before.owner == 0) return;
    if (d.owner == 0 || (left && rules.leave_frees_others)) {
      took(before.until <= kDue ? Label::deleted_expired : Label::deleted);
      return free_document();
    }
    const bool beside = d.readers() > 0 || rules.leave_admits_beside_writers;
    if (d.readers() != before.readers()) {
      d.until = std::max(d.own_until, d.other.until);
      d.beat = 7;
    }
    if (beside && d.waiting[0].owner != 0 && is_readers_place(d.waiting[0])) pass_on();
  }

  /// Whether it is counted how many come before a call of the queue.
  [[nodiscard]] bool counts_turns() const {
    return scope.readers > 0 && !scope.permits && !scope.failovers && !stale;
  }

  /// The order of the queue was left.
  void lose_bounds() const {
    if (!counts_turns()) return;
    for (int p = 0; p < kMaxPlaces; ++p) {
      w.patience[p] = d.waiting[p].owner != 0 ? kUnbounded : Byte{0};
    }
  }

  /// Grants the first entry. If it is a reader's, and the giver knows of readers, then also the
  /// others of readers. One write grants them all.
  void pass_on() const {
    const bool first_reads = is_readers_place(d.waiting[0]);
    const Byte order = next_order(w, scope), token = token_for(order);
    bool is_first = true;
    for (int p = 0; p < kMaxPlaces && d.waiting[p].owner != 0;) {
      const bool admitted =
          rules::admits(is_first, first_reads, is_readers_place(d.waiting[p])) &&
          d.other.owner == 0 && (is_first || (rules.admits_all_readers && !is_older(scope, i)));
      const Entry granted = d.waiting[p];
      if (admitted && rules.granted_entry_leaves) {
        remove_place(w, d, p);
      } else {
        ++p;
      }
      if (admitted) grant(granted, order, token);
      is_first = false;
    }
  }

  /// Gives this entry's call the lock, and notifies it.
  void grant(const Entry& granted, Byte order, Byte token) const {
    const int receiver = client_of(granted.owner);
    if (!stale) check_grant(receiver);
    took(Label::handed_over);
    // The entry shows when it was dated: a reading of the clock after its renewal was sent.
    const int read = rules.grant_dated_by_entry ? std::min(waited, kPlace - granted.left) : waited;
    hold(granted.owner, kDue - read + kLease + margin(receiver),
         d.owner == 0 ? granted.beat : Byte{7});
    w.client[receiver].notice = {.owner = granted.owner,
                                 .age = granted.age,
                                 .token = token,
                                 .order = order,
                                 .committed = byte(!stale && !scope.failovers)};
  }
};

}  // namespace leasehold::model::lock_world

#include "model/abstract/lock_server.hpp"

#include <algorithm>

#include "model/abstract/lock_arrows.hpp"
#include "model/abstract/lock_questions.hpp"
#include "model/abstract/lock_violation.hpp"
#include "model/rules/rules.hpp"

namespace leasehold::model {

using namespace lock_world;

namespace {

/// The lowest token that a primary with this count may give next.
Byte next_token(World& w, Byte World::*clock) {
  const auto spread = [](Byte& token) { token = byte(2 * token); };
  for (Byte* token : {&w.top_token, &w.clock, &w.committed_clock, &w.stale_clock}) spread(*token);
  for (Client& c : w.client) {
    spread(c.token), spread(c.notice.token);
    for (Message& m : c.message) spread(m.token);
  }
  return ++(w.*clock);
}

}  // namespace

void LockServer::violate(World& w, int violation) const {
  lock_world::violate(w, violation, scope_);
}

void LockServer::commit(World& w) {
  w.dirty = 0;
  for (Client& c : w.client) {
    for (Message& m : c.message) m.committed |= byte(is_reply(m.slot) ? 1 : 0);
    c.notice.committed = c.notice.owner != 0 ? 1 : 0;
  }
}

void LockServer::fail_over(World& w) const {
  w.second ^= 1;
  w.since_failover = 0;
  if (scope_.stale_primary) {
    w.stale_runs = 1;
    w.stale = w.document;
  }
  w.stale_clock = w.clock;
  if (w.dirty != 0) {  // a write without a majority is rolled back
    w.document = w.committed;
    w.clock = w.committed_clock;
  }
  w.dirty = 0;
  // The same dates, by a clock that is ahead or behind.
  const int moved = w.second != 0 ? -scope_.skew : scope_.skew;
  if (w.document.owner != 0) {
    w.document.until = byte(std::max(w.document.until + moved, 0));
    for (Entry& entry : w.document.waiting) {
      if (entry.owner != 0) entry.left = byte(std::clamp(entry.left + moved, 0, kPlace + 1));
    }
  }
  for (int i = 0; i < scope_.clients; ++i) {
    Notice& notice = w.client[i].notice;
    if (notice.committed == 0 && scope_.rules.majority) notice = {};
    for (Message& m : w.client[i].message) {
      if (is_reply(m.slot) && m.committed == 0 && rules_for(scope_, i).majority) m = {};
    }
  }
}

void LockServer::run_out(const World& w) const {
  if (w.document.owner == 0 || w.document.until != kDue + 1) return;
  arrows_.took(is_extending(w, w.document.owner) ? arrow::document_ran_out_extending()
                                                 : arrow::document_ran_out());
}

void LockServer::ttl_pass(World& w) const {
  arrows_.took(arrow::ttl());
  const Document before = w.document;
  if (w.dirty == 0) w.committed_clock = w.clock;
  w.document = {};
  wrote(w, before);
}

int LockServer::margin(const Rules& rules, bool extension) const {
  if (rules.margin == Rules::Margin::in_document) return scope_.clock_margin;
  return rules.margin == Rules::Margin::not_in_extensions && !extension ? scope_.clock_margin : 0;
}

int LockServer::waiter_margin(const Rules& rules) const {
  return rules.margin == Rules::Margin::by_waiter ? scope_.clock_margin : 0;
}

void LockServer::execute(World& w, int i, int k, How how) const {
  Message& m = w.client[i].message[k];
  Document& d = how.stale ? w.stale : w.document;
  const Document before = d;
  if (w.dirty == 0) w.committed_clock = w.clock;
  switch (m.slot) {
    case kAcquire: execute_acquire(w, i, m, d, how); break;
    case kRenewal: execute_renewal(w, i, m, d, how); break;
    case kExtend: execute_extend(w, i, m, d, how.waited); break;
    case kHandOver: execute_hand_over(w, i, m, d, how.waited); break;
    default: execute_delete(w, i, m, d, how.waited); break;
  }
  const bool enlisted = !std::equal(d.waiting, std::end(d.waiting), before.waiting);
  const bool changed = d.owner != before.owner || d.beat != before.beat ||
                       d.until != before.until || m.slot == kWon || m.slot == kExtended;
  m.beat = 0;
  if (how.stale) return;
  if ((changed && m.slot != kRefused && m.slot != kNoMatch) || enlisted) wrote(w, before);
  // A reply, of a refusal too, waits until a majority has the newest write.
  m.committed = w.dirty == 0 ? 1 : 0;
}

/// The answers of the old primary to a client that awaits a majority, besides none. No majority
/// will ever have its writes, so clients learn of them only by a refusal. Hence its writes, and
/// when it finds a document expired, are left open. It shows the document of its cut-off.
void LockServer::answers_by_stale(const World& w, const Rules& rules, const Message& m,
                                  std::vector<Message>& out) const {
  Message answer = m;
  answer.beat = 0;
  answer.committed = 1;
  if (is_acquire(m.slot)) {
    refuse(answer, rules, {});
    out.push_back(answer);
    refuse(answer, rules, w.stale);
    if (w.stale.owner != m.owner && answer.seen_owner != 0) out.push_back(answer);
  }
  if (m.slot != kExtend || w.stale.owner == m.owner) return;
  answer.slot = kNoMatch;
  out.push_back(answer);
}

/// The document changed from `before`: until a majority has it, a successor may not.
void LockServer::wrote(World& w, const Document& before) const {
  if (!scope_.failovers) return;
  if (w.dirty == 0) w.committed = before;
  w.dirty = 1;
}

/// Client i was given the lock: does another client still count on it?
void LockServer::check_grant(World& w, int i, const Document& before) const {
  for (int j = 0; j < scope_.clients; ++j) {
    if (j == i) continue;
    if (is_package(scope_, j)) {
      const bool held = before.owner != 0 && client_of(before.owner) == j;
      if (held && before.until > kDue) violate(w, kForeignTaken);
    } else if (counts_on_a_lease(w.client[j])) {
      violate(w, kGivenAway);
    }
  }
}

/// The reply shows the holder if the rules observe it: a lockId is worth observing only if each
/// command changes it.
void LockServer::refuse(Message& m, const Rules& rules, const Document& d) const {
  const bool foreign = d.owner != 0 && is_package(scope_, client_of(d.owner));
  const bool observed = rules.observes && (!foreign || rules.observes_foreign);
  m.slot = kRefused;
  m.seen_owner = observed ? d.owner : Byte{0};
  m.seen_beat = m.seen_owner != 0 ? d.beat : Byte{0};
}

void LockServer::execute_acquire(World& w, int i, Message& m, Document& d, How how) const {
  const Rules& rules = rules_for(scope_, i);
  const bool there = d.owner != 0;
  const bool ours = there && d.owner == m.owner;
  const bool owner_seen = d.owner == m.seen_owner || !rules.compares_seen_owner;
  const bool beat_seen = d.beat == m.seen_beat || !rules.compares_seen_beat;
  const bool dead = m.seen_owner != 0 && there && owner_seen && beat_seen;
  const int until_given = d.until + waiter_margin(rules);
  // A client with a wall clock that is ahead finds documents expired too early; one with a clock
  // that is behind writes early dates.
  const bool expired = rules.ignores_expiry ||
                       (rules.expiry == Rules::Expiry::server_clock &&
                        rules::is_expired(until_given, kDue - how.waited)) ||
                       (rules.expiry == Rules::Expiry::client_clock &&
                        rules::is_expired(until_given, kDue + (how.clock_off ? scope_.skew : 0)));
  if (there && !ours && !rules::may_take(dead, expired))
    return refuse_attempt(w, i, m, d, how.waited);
  if (!how.stale && !ours) check_grant(w, i, d);
  const bool wall = rules.lock == Lock::insert_unique || rules.lock == Lock::set_on_insert;
  int until =
      kDue - how.waited + kLease + margin(rules, false) - (wall && how.clock_off ? scope_.skew : 0);
  if (ours && rules.never_lowers_expiry) until = std::max(until, int{d.until});
  arrows_.took(arrow::written());
  arrows_.took(!there  ? (w.top_order != 0 ? arrow::inserted_again() : arrow::inserted())
               : !ours ? arrow::taken_over()
               : is_extending(w, d.owner) ? arrow::own_retry_while_extending()
                                          : arrow::own_retry());
  take(w, m, d, rules, until);
}

/// The holder is neither dead nor expired: the attempt changes only the queue.
void LockServer::refuse_attempt(World& w, int i, Message& m, Document& d, int waited) const {
  const Rules& rules = rules_for(scope_, i);
  arrows_.took(arrow::held());
  const Client& holder = w.client[client_of(d.owner)];
  const Message* answer = holder.awaited == 0 ? nullptr : &holder.message[holder.awaited - 1];
  if (answer != nullptr && answer->slot == kWon && answer->age < m.age) {
    arrows_.took(arrow::raced());
  }
  const Client& c = w.client[i];
  const bool awaited = c.awaited != 0 && &c.message[c.awaited - 1] == &m;
  if (awaited && d.owner == c.doubtful && !is_package(scope_, i)) violate(w, kUnrecognised);
  refuse(m, rules, d);
  if (scope_.queue > 0 && !is_package(scope_, i)) enlist(m, d, waited);
  if (rules.checks_the_winner) return;
  m.slot = kWon;
  m.seen_owner = m.seen_beat = 0;
  m.token = m.order = next_order(w, scope_);
}

/// The receiver gets the lock if the giver still has it, or has it already.
void LockServer::execute_hand_over(World& w, int i, Message& m, Document& d, int waited) const {
  const Rules& rules = rules_for(scope_, i);
  const bool there = d.owner != 0;
  const bool ours = there && d.owner == m.owner;
  const bool given = ours || (there && d.owner == m.seen_owner);
  const bool inserts = !there && rules.hand_over_inserts;
  if (!given && !inserts && (rules.hand_over_checks_owners || !there)) {
    m.slot = kNoMatch;
    m.seen_owner = 0;
    return;
  }
  if (!given) violate(w, kOwnership);
  if (!ours && &d != &w.stale) check_grant(w, i, d);
  arrows_.took(arrow::handed_over());
  int until = kDue - waited + kLease + margin(rules, false);
  if (ours && rules.never_lowers_expiry) until = std::max(until, int{d.until});
  take(w, m, d, rules, until);
}

/// The token of the write with this order.
Byte LockServer::token_for(World& w, const Rules& rules, const Document& d, Byte order,
                           bool stale) const {
  if (rules.token == Rules::Token::counter) return d.counter;
  if (rules.token == Rules::Token::cluster_time) return order;
  if (rules.token != Rules::Token::operation_time || !scope_.stale_primary) return 0;
  return next_token(w, stale ? &World::stale_clock : &World::clock);
}

/// The message's owner gets the document, and the reply says so.
void LockServer::take(World& w, Message& m, Document& d, const Rules& rules, int until) const {
  const bool stale = &d == &w.stale;
  const bool there = d.owner != 0;
  const bool ours = there && d.owner == m.owner;
  const int counter = !there ? 1 : std::min(d.counter + (ours ? 0 : 1), 7);
  const bool counts = scope_.rules.token == Rules::Token::counter;
  const int kept = rules.beat == Rules::Beat::counted_in_document       ? (ours ? d.beat + 1 : 1)
                   : rules.beat == Rules::Beat::restarted_by_extensions ? 1
                   : rules.beat == Rules::Beat::kept_by_retries         ? int{m.beat}
                                                                        : 7;
  if (rules.lock != Lock::leasehold) d = {};  // it replaces the document, its queue too
  if (const int place = place_of(d, m.owner); place >= 0) remove_place(d, place);
  d.owner = m.owner;
  d.beat = byte(std::min(kept, 7));
  d.until = byte(std::max(until, 0));
  d.counter = byte(counts ? counter : 0);
  const Byte read = m.token;  // of the cluster time, where the command has done so
  m.slot = kWon;
  m.order = next_order(w, scope_);
  m.token = rules.token == Rules::Token::cluster_time && read != 0
                ? read
                : token_for(w, rules, d, m.order, stale);
  m.seen_owner = m.seen_beat = 0;
}

void LockServer::execute_extend(World& w, int i, Message& m, Document& d, int waited) const {
  const Rules& rules = rules_for(scope_, i);
  const bool there = d.owner != 0;
  const bool inserts = !there && rules.extension_inserts;
  const bool matches = d.owner == m.owner || (there && !rules.extension_checks_owner);
  m.slot = matches || inserts ? kExtended : kNoMatch;
  if (!matches && !inserts) return;
  arrows_.took(d.until > kDue ? arrow::extension_in_time() : arrow::extension_late());
  if (d.owner != m.owner) violate(w, kOwnership);
  int until = kDue - waited + kLease + margin(rules, true);
  if (rules.never_lowers_expiry && rules.margin != Rules::Margin::not_in_extensions) {
    until = std::max(until, int{d.until});
  }
  using Beat = Rules::Beat;
  const int beat = rules.lock != Lock::leasehold                 ? d.beat
                   : rules.beat == Beat::kept_by_extensions      ? d.beat
                   : rules.beat == Beat::restarted_by_extensions ? 1
                   : rules.beat == Beat::counted_in_document     ? std::min(d.beat + 1, 7)
                                                                 : 7;
  d.owner = m.owner;
  d.beat = byte(beat);
  d.until = byte(std::max(until, 0));
}

/// A delete; for a lock with a queue, the command that passes it on.
void LockServer::execute_delete(World& w, int i, Message& m, Document& d, int waited) const {
  const Rules& rules = rules_for(scope_, i);
  const bool own = d.owner == m.owner || d.owner == m.seen_owner;
  const bool matches = d.owner != 0 && (own || !rules.release_checks_owner);
  if (matches) {
    if (!own) violate(w, kOwnership);
    arrows_.took(d.until <= kDue            ? arrow::deleted_expired()
                 : is_extending(w, d.owner) ? arrow::deleted_while_extending()
                                            : arrow::deleted());
    if (is_package(scope_, i) || !pass_on(w, d, rules, waited)) d = {};
  }
  if (rules.held_until_release_answered) {
    m.slot = kGone;
  } else {
    m = {};
  }
}

}  // namespace leasehold::model

#include "model/abstract/lock_clients.hpp"

#include <algorithm>
#include <iterator>

#include "model/abstract/lock_arrows.hpp"
#include "model/abstract/lock_questions.hpp"
#include "model/abstract/lock_violation.hpp"
#include "model/rules/rules.hpp"

namespace leasehold::model {

using namespace lock_world;

void LockClients::send(Client& c, int k, const Message& message) {
  c.awaited = byte(k + 1);
  c.message[k] = message;
}

void LockClients::attempt(World& w, int i, int k) const {
  Client& c = w.client[i];
  const Rules& rules = rules_for(scope_, i);
  const bool asks = c.phase == kIdle;
  if (asks) {
    arrows_.took(arrow::create_lock());
    c.attempt_beat = 0;
  }
  arrows_.took(arrow::attempt());
  arrows_.took(asks ? arrow::first_attempt() : arrow::next_attempt());
  choose_owner(w, i, asks);
  Message m{.slot = c.enlisted != 0 ? kRenewal : kAcquire, .owner = c.owner};
  c.phase = kAttempting;
  if (c.giver != 0) {  // sent again as a hand-over
    return send(c, k, {.slot = kHandOver, .owner = c.owner, .seen_owner = c.giver});
  }
  if (rules.beat == Rules::Beat::kept_by_retries) {
    if (c.attempt_beat == 0) c.attempt_beat = 7;
    m.beat = c.attempt_beat;
  }
  const int must_see =
      rules::observer_span(kLease - kDrift, rules.observer_keeps_drift_margin ? kDrift : 0);
  if (rules.observes && c.sight_owner != 0 &&
      rules::is_presumed_dead(0, must_see, int{c.sight_age})) {
    m.seen_owner = c.sight_owner;
    m.seen_beat = c.sight_beat;
  }
  send(c, k, m);
}

/// Chooses the owner of the attempt, and from when a grant to that owner counts.
void LockClients::choose_owner(World& w, int i, bool asks) const {
  Client& c = w.client[i];
  const Rules& rules = rules_for(scope_, i);
  const bool fresh = (asks && rules.owner != Rules::Owner::per_process) ||
                     rules.owner == Rules::Owner::per_attempt || c.owner == 0;
  if (rules.owner == Rules::Owner::per_process) {
    c.owner = byte(i * kGenerations + 1);
  } else if (fresh) {
    c.owner = fresh_owner(w, i, scope_);
  }
  if (fresh) c.enlisted = 0;
  const bool first = fresh || rules.grant_counts == Rules::GrantCounts::from_newest_renewal;
  if (first && rules.grant_counts != Rules::GrantCounts::from_last_read) c.counted = 0;
}

void LockClients::extend(World& w, int i, int k) const {
  arrows_.took(arrow::extension_sent());
  send(w.client[i], k, {.slot = kExtend, .owner = w.client[i].owner});
}

void LockClients::release(World& w, int i, int k) const {
  Client& c = w.client[i];
  const Rules& rules = rules_for(scope_, i);
  arrows_.took(!is_held_by(w, i, scope_) ? arrow::release_lost()
               : c.awaited == 0          ? arrow::release()
                                         : arrow::release_while_extending());
  c.message[k] = {.slot = kDelete, .owner = c.owner};
  c.awaited = 0;
  if (rules.held_until_release_answered) {
    c.phase = kReleasing;
    c.awaited = byte(k + 1);
    return;
  }
  if (!rules.passes_on_while_held) end_holding(c);
}

void LockClients::hand_over(World& w, int i, int j, int k) const {
  Client& from = w.client[i];
  Client& receiver = w.client[j];
  const bool has_owner = receiver.phase == kWaiting && receiver.owner != 0;
  if (!has_owner) receiver.owner = fresh_owner(w, j, scope_);
  receiver.phase = kAttempting;
  receiver.giver = from.owner;
  send(receiver, k, {.slot = kHandOver, .owner = receiver.owner, .seen_owner = receiver.giver});
  arrows_.took(arrow::hand_over());
  if (rules_for(scope_, i).hands_over_while_held) return;
  from.awaited = 0;
  end_holding(from);
}

void LockClients::clean_up(Client& c, int k) {
  c.message[k] = {.slot = kDelete, .owner = c.to_delete};
  c.to_delete = 0;
  if (c.phase != kIdle) return;
  c.message[k].seen_owner = c.giver;
  c.giver = 0;
}

void LockClients::crash(Client& c) {
  Client anew;
  std::copy(std::begin(c.message), std::end(c.message), anew.message);
  c = anew;
}

void LockClients::time_out(World& w, int i) const {
  Client& c = w.client[i];
  if (c.phase == kAttempting) {
    arrows_.took(arrow::acquire_unknown());
    c.phase = kWaiting;
    c.doubtful = c.owner;
  } else {
    arrows_.took(c.lease > 0 ? arrow::extension_unknown() : arrow::extension_failed());
    if (rules_for(scope_, i).unknown_extension_moves_deadline) c.lease = kLease;
  }
  c.awaited = 0;
}

void LockClients::give_up(World& w, int i) const {
  Client& c = w.client[i];
  arrows_.took(c.phase == kWaiting ? arrow::give_up_waiting() : arrow::give_up_attempting());
  if (is_unsure(c) && rules_for(scope_, i).cleans_up) c.to_delete = c.owner;
  c.phase = kIdle;
  c.awaited = c.owner = c.doubtful = c.attempt_beat = 0;
}

void LockClients::run_out(const World& w) const {
  for (const Client& c : w.client) {
    if (c.phase != kHeld || c.lease != 1) continue;
    arrows_.took(c.awaited == 0 ? arrow::lease_ran_out() : arrow::extension_failed());
  }
}

void LockClients::deliver(World& w, int i, int k) const {
  Client& c = w.client[i];
  const Message m = c.message[k];
  c.message[k] = {};
  c.awaited = 0;
  switch (m.slot) {
    case kWon: return won(w, i, m, m.age);
    case kRefused: return refused(c, rules_for(scope_, i), m);
    case kExtended: return extended(w, i, m);
    case kNoMatch: return no_match(c, rules_for(scope_, i));
    default: return end_holding(c);  // the answer to a release
  }
}

/// The reply shows a holder. Its age goes on if owner and beat are as before.
void LockClients::refused(Client& c, const Rules& rules, const Message& m) const {
  arrows_.took(arrow::refused());
  c.phase = kWaiting;
  if (m.seen_owner != 0 && (c.sight_owner != m.seen_owner || c.sight_beat != m.seen_beat)) {
    c.sight_owner = m.seen_owner;
    c.sight_beat = m.seen_beat;
    c.sight_age = rules.sight_counts_from_sending ? m.age : Byte{0};
  }
  if (!rules.renewals_restore && m.seen_owner != 0) c.enlisted = 1;
}

/// An extension never revives a lost handle.
void LockClients::extended(World& w, int i, const Message& m) const {
  Client& c = w.client[i];
  const Rules& rules = rules_for(scope_, i);
  const int left = kLease - (rules.deadline_from_reply ? 0 : int{m.age});
  if (c.lease > 0 || !rules.has_deadline) {
    arrows_.took(arrow::extended());
    c.lease = std::max(c.lease, byte(std::max(left, 0)));
    c.due = std::max(c.due, byte(std::max(kLease - int{m.age}, 0)));
  } else if (rules.late_extension_revives && left > 0) {
    c.lease = byte(left);
    violate(w, kRevived, scope_);
  } else {
    arrows_.took(arrow::extension_failed());
  }
}

void LockClients::no_match(Client& c, const Rules& rules) const {
  if (c.phase == kAttempting) {  // nothing to hand over: it attempts for itself
    arrows_.took(arrow::nothing_to_hand_over());
    c.phase = kWaiting;
    c.giver = 0;
    return;
  }
  arrows_.took(arrow::extension_failed());
  c.lease = c.due = 0;
  if (rules.has_deadline) return;
  c.phase = kIdle;  // notified, and stops
  c.owner = c.token = c.order = 0;
}

void LockClients::won(World& w, int i, const Message& m, Byte counted) const {
  Client& c = w.client[i];
  const Rules& rules = rules_for(scope_, i);
  c.giver = 0;
  const int span =
      rules::holder_span(kLease + kDrift, rules.holder_keeps_drift_margin ? kDrift : 0);
  const int left = rules::deadline(rules.deadline_from_reply ? 0 : -int{counted}, span);
  if (left <= 0 && rules.has_deadline) {  // too late: given back, a fresh owner goes on
    arrows_.took(arrow::won_too_late());
    c.phase = kWaiting;
    if (c.to_delete == 0) c.to_delete = m.owner;
    c.doubtful = c.attempt_beat = 0;
    if (rules.fresh_owner_after_delete && rules.owner != Rules::Owner::per_process) c.owner = 0;
    return;
  }
  arrows_.took(arrow::won());
  c.phase = kHeld;
  c.lease = byte(std::clamp(left, 0, 3));
  c.due = byte(std::max(kLease - int{m.age}, 0));
  c.token = m.token;
  c.order = m.order;
  c.doubtful = 0;
  if (is_package(scope_, i)) {
    c.token = c.order = 0;  // comparable only among our own clients
    return;
  }
  shown_to_the_resource(w, i, m);
}

/// The fenced resource sees each grant as soon as its holder does, and remembers the latest.
void LockClients::shown_to_the_resource(World& w, int i, const Message& m) const {
  const Client& c = w.client[i];
  const Rules& rules = rules_for(scope_, i);
  const Byte token = tokens_are_orders(scope_) ? c.order : c.token;
  const bool falls = (m.order > w.top_order && token <= w.top_token) ||
                     (m.order < w.top_order && token >= w.top_token);
  const bool numbered = rules.token != Rules::Token::none && !tokens_are_orders(scope_);
  if (numbered && w.top_order != 0 && falls) violate(w, kToken, scope_);
  if (m.order <= w.top_order) return;
  w.top_order = m.order;
  w.top_token = numbered ? token : Byte{0};
}

/// The deadline counts from the sending of the renewal that the granted entry names. A grant to a
/// call that ended is given back.
void LockClients::hear(World& w, int i) const {
  Client& c = w.client[i];
  const Rules& rules = rules_for(scope_, i);
  const Notice notice = c.notice;
  c.notice = {};
  if (c.phase == kHeld && c.owner == notice.owner) return;  // it knew by a renewal
  const bool accepts = c.waits() && c.owner == notice.owner;
  if (!accepts && !(rules.accepts_ended_owners && c.phase != kHeld)) {
    if (c.to_delete == 0) c.to_delete = notice.owner;
    return;
  }
  using Counts = Rules::GrantCounts;
  const Byte counted = rules.grant_counts == Counts::from_its_renewal ? notice.age
                       : rules.grant_counts == Counts::from_notice    ? Byte{0}
                                                                      : c.counted;
  c.awaited = 0;
  c.owner = notice.owner;
  const Message grant{.slot = kWon,
                      .owner = notice.owner,
                      .token = notice.token,
                      .order = notice.order,
                      .age = notice.age};
  won(w, i, grant, counted);
}

}  // namespace leasehold::model

#include <algorithm>

#include "model/lock_arrows.hpp"
#include "model/lock_system.hpp"
#include "model/lock_violation.hpp"

/// What a client makes of the answers that reach it.
namespace leasehold::model {

using namespace lock_world;

Byte LockSystem::token_of(const Client& c) const {
  return tokens_are_orders(scope_) ? c.order : c.token;
}

void LockSystem::deliver(World& w, int i, int k) const {
  Client& c = w.client[i];
  const Rules& rules = rules_for(scope_, i);
  const Message m = c.message[k];
  c.message[k] = {};
  c.awaited = 0;
  switch (m.slot) {
    case kWon: return won(w, i, m, m.age);
    case kRefused:
      took(arrow::refused());
      c.phase = kWaiting;
      if (m.seen_owner != 0 && (c.sight_owner != m.seen_owner || c.sight_beat != m.seen_beat)) {
        c.sight_owner = m.seen_owner;
        c.sight_beat = m.seen_beat;
        c.sight_age = rules.sight_counts_from_sending ? m.age : Byte{0};
      }
      if (!rules.renewals_restore && m.seen_owner != 0) c.enlisted = 1;
      return;
    case kExtended: {
      const int left = kLease - (rules.deadline_from_reply ? 0 : int{m.age});
      if (c.lease > 0 || !rules.has_deadline) {
        took(arrow::extended());
        c.lease = std::max(c.lease, byte(std::max(left, 0)));
        c.due = std::max(c.due, byte(std::max(kLease - int{m.age}, 0)));
      } else if (rules.late_extension_revives && left > 0) {
        c.lease = byte(left);
        violate(w, kRevived);
      } else {
        took(arrow::extension_failed());
      }
      return;
    }
    case kNoMatch:
      if (c.phase == kAttempting) {  // nothing to hand over: it goes on for itself
        took(arrow::nothing_to_hand_over());
        c.phase = kWaiting;
        c.giver = 0;
        return;
      }
      took(arrow::extension_failed());
      c.lease = c.due = 0;
      if (!rules.has_deadline) {  // notified, and stops
        c.phase = kIdle;
        c.owner = c.token = c.order = 0;
      }
      return;
    default:  // the answer to a release
      return end_holding(c);
  }
}

/// `counted`: the age of what its deadline counts from.
void LockSystem::won(World& w, int i, const Message& m, Byte counted) const {
  Client& c = w.client[i];
  const Rules& rules = rules_for(scope_, i);
  c.giver = 0;
  const int left = kLease + (rules.holder_keeps_drift_margin ? 0 : 1) -
                   (rules.deadline_from_reply ? 0 : int{counted});
  if (left <= 0 && rules.has_deadline) {  // too late: given back, a fresh owner goes on
    took(arrow::won_too_late());
    c.phase = kWaiting;
    if (c.to_delete == 0) c.to_delete = m.owner;
    c.doubtful = c.attempt_beat = 0;
    if (rules.fresh_owner_after_delete && rules.owner != Rules::Owner::per_process) c.owner = 0;
    return;
  }
  took(arrow::won());
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
  const Byte token = token_of(c);
  const bool falls = (m.order > w.top_order && token <= w.top_token) ||
                     (m.order < w.top_order && token >= w.top_token);
  const bool numbered = rules.token != Rules::Token::none && !tokens_are_orders(scope_);
  if (numbered && w.top_order != 0 && falls) violate(w, kToken);
  if (m.order > w.top_order) {
    w.top_order = m.order;
    w.top_token = numbered ? token : Byte{0};
  }
}

}  // namespace leasehold::model

#pragma once

#include <algorithm>
#include <iterator>

#include "model/abstract/lock_world.hpp"

/// Questions about a world that several parts of the abstract lock share. Internal to it.
namespace leasehold::model::lock_world {

/// Whether an extension of this owner is on its way.
inline bool is_extending(const World& w, Byte owner) {
  const Client& c = w.client[client_of(owner)];
  return std::any_of(std::begin(c.message), std::end(c.message),
                     [owner](const Message& m) { return m.slot == kExtend && m.owner == owner; });
}

/// Whether held() of the client's handle is true.
inline bool is_held_by(const World& w, int i, const Scope& scope) {
  const Client& c = w.client[i];
  const Rules& rules = rules_for(scope, i);
  if (c.phase != kHeld && c.phase != kReleasing) return false;
  if (c.phase == kReleasing && !rules.held_until_release_answered) return false;
  return !rules.has_deadline || c.lease > 0;
}

/// Whether it holds within its lease, or will when it hears of a win that a majority has or may
/// still get.
inline bool counts_on_a_lease(const Client& c) {
  if (c.phase == kHeld && c.lease > 0) return true;
  if (c.waits() && c.notice.owner == c.owner && c.owner != 0 && c.notice.age < kLease) return true;
  if (c.awaited == 0) return false;
  const Message& m = c.message[c.awaited - 1];
  if (m.slot == kExtended && c.phase == kHeld) return c.lease > 0;
  return m.slot == kWon && m.age < kLease;
}

/// The place of the next write among all writes: after every place that the state still contains.
inline Byte next_order(const World& w, const Scope& scope) {
  const bool tokens_too = scope.rules.token == Rules::Token::cluster_time;
  Byte greatest = w.top_order;
  for (int i = 0; i < scope.clients; ++i) {
    const Client& c = w.client[i];
    greatest = std::max({greatest, c.order, c.notice.order});
    for (int k = 0; k < scope.messages; ++k) {
      greatest = std::max(greatest, c.message[k].order);
      if (tokens_too) greatest = std::max(greatest, c.message[k].token);
    }
  }
  return byte(greatest + 1);
}

}  // namespace leasehold::model::lock_world

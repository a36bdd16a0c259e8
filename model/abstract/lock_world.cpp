#include "model/abstract/lock_world.hpp"

#include <algorithm>

#include "model/abstract/lock_sized.hpp"

namespace leasehold::model::lock_world {

bool tokens_are_orders(const Scope& scope) {
  return scope.rules.token == Rules::Token::operation_time && !scope.stale_primary;
}

void age(World& w, const Scope& scope) {
  const auto older = [](Byte& age) { age = std::min(byte(age + 1), byte(kOldest)); };
  const auto less = [](Byte& left) { left = left == 0 ? left : byte(left - 1); };
  for (Document* d : {&w.document, &w.committed, &w.stale}) {
    less(d->until);
    for (Entry& entry : d->waiting) {
      if (entry.owner != 0) less(entry.left), older(entry.age);
    }
  }
  older(w.since_failover);
  for (int i = 0; i < scope.clients; ++i) {
    Client& c = w.client[i];
    less(c.lease), less(c.due), older(c.counted);
    if (c.notice.owner != 0) older(c.notice.age);
    if (c.sight_owner != 0) older(c.sight_age);
    for (int k = 0; k < scope.messages; ++k) {
      if (c.message[k].slot != kEmpty) older(c.message[k].age);
    }
  }
}

Byte fresh_owner(const World& w, int client, const Scope& scope) {
  std::uint32_t used = 0;
  sized(scope, [&](const auto& s) {
    each_owner(w, s, [&](Byte owner) { used |= 1u << owner; });
  });
  for (int g = 0; g < kGenerations; ++g) {
    const Byte owner = byte(client * kGenerations + g + 1);
    if ((used >> owner & 1) == 0) return owner;
  }
  return 0;
}

const Rules& package_rules() {
  static const Rules rules = rules_of(Lock::distributed_lock);
  return rules;
}

}  // namespace leasehold::model::lock_world

#include <algorithm>

#include "model/abstract/lock_arrows.hpp"
#include "model/abstract/lock_questions.hpp"
#include "model/abstract/lock_server.hpp"

/// The queue in the lock document: a refused call leaves an entry, a release grants the first.
namespace leasehold::model {

using namespace lock_world;

/// While the .NET package holds, no call enlists, because the package would not recognise its own
/// lockId afterwards.
void LockServer::enlist(const Message& m, Document& d, int waited) const {
  if (is_package(scope_, client_of(d.owner)) || waited >= kPlace) return;
  const Entry entry{m.owner, 7, byte(kPlace - waited), m.age};
  if (const int place = place_of(d, m.owner); place >= 0) {  // kept, by the newer renewal
    if (entry.age <= d.waiting[place].age) d.waiting[place] = entry;
    return;
  }
  for (int p = 0; p < scope_.queue; ++p) {
    if (d.waiting[p].owner != 0) continue;
    d.waiting[p] = entry;
    return;
  }
}

/// If the rules say so, a renewal does nothing when its place is gone.
void LockServer::execute_renewal(World& w, int i, Message& m, Document& d, How how) const {
  if (d.owner == m.owner || place_of(d, m.owner) >= 0) {
    return execute_acquire(w, i, m, d, {how.stale, how.waited});
  }
  refuse(m, rules_for(scope_, i), {});
}

/// Grants the first entry, and notifies its owner. False if no client waits.
bool LockServer::pass_on(World& w, Document& d, const Rules& rules, int waited) const {
  const Entry granted = d.waiting[0];
  if (granted.owner == 0) return false;
  const bool stale = &d == &w.stale;
  const int receiver = client_of(granted.owner);
  if (!stale) check_grant(w, receiver, d);
  arrows_.took(arrow::handed_over());
  // The entry shows when it was dated: a reading of the clock after its renewal was sent.
  const int read = rules.grant_dated_by_entry ? std::min(waited, kPlace - granted.left) : waited;
  d.owner = granted.owner;
  d.beat = granted.beat;
  d.until = byte(kDue - read + kLease + margin(rules, false));
  if (rules.granted_entry_leaves) remove_place(d, 0);
  Notice& notice = w.client[receiver].notice;
  notice = {.owner = granted.owner, .age = granted.age, .order = next_order(w, scope_)};
  notice.token = token_for(w, rules, d, notice.order, stale);
  notice.committed = !stale && !scope_.failovers ? 1 : 0;
  return true;
}

}  // namespace leasehold::model

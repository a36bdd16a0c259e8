#include <algorithm>

#include "model/lock_arrows.hpp"
#include "model/lock_system.hpp"
#include "model/lock_violation.hpp"

/// The queue in the lock document: who was refused leaves an entry, a release grants the first.
namespace leasehold::model {

using namespace lock_world;

/// Beside a holder of the .NET package nobody enlists: it would not know its own lockId again.
void LockSystem::enlist(const Message& m, Document& d, int waited) const {
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

/// Where the rules say so, a renewal whose place is gone does nothing.
void LockSystem::execute_renewal(World& w, int i, Message& m, Document& d, int waited) const {
  if (d.owner == m.owner || place_of(d, m.owner) >= 0) {
    return execute_acquire(w, i, m, d, waited, false);
  }
  refuse(m, rules_for(scope_, i), {});
}

/// Grants the first entry, and notifies its owner. False if nobody waits.
bool LockSystem::pass_on(World& w, Document& d, const Rules& rules, int waited) const {
  const Entry granted = d.waiting[0];
  if (granted.owner == 0) return false;
  const bool stale = &d == &w.stale;
  const int receiver = client_of(granted.owner);
  if (!stale) check_grant(w, receiver, d);
  took(arrow::handed_over());
  // The entry shows when it was dated: a reading of the clock after its renewal was sent.
  const int read = rules.grant_dated_by_entry ? std::min(waited, kPlace - granted.left) : waited;
  d.owner = granted.owner;
  d.beat = granted.beat;
  d.until = byte(kDue - read + kLease + margin(rules, false));
  if (rules.granted_entry_leaves) remove_place(d, 0);
  Notice& notice = w.client[receiver].notice;
  notice = {.owner = granted.owner, .age = granted.age, .order = next_order(w)};
  notice.token = token_for(w, rules, d, notice.order, stale);
  notice.committed = !stale && !scope_.failovers ? 1 : 0;
  return true;
}

void LockSystem::queue_steps(const World& w, int i, Out& out) const {
  const Client& c = w.client[i];
  const Rules& rules = rules_for(scope_, i);
  const auto go = [&](Act act, auto change) {
    change(out.emplace_back(w, Action{act, byte(i), 0, 0}).first);
  };
  const bool told = c.notice.owner != 0 && (c.notice.committed != 0 || !rules.majority);
  if (told) go(Act::hear, [&](World& n) { hear(n, i); });
  const bool reads_empty = rules.grant_counts == Rules::GrantCounts::from_last_read;
  // Who has not heard cannot tell whether it will; only an empty answer of the stream shows it.
  const bool shows = !scope_.losses_late || reads_empty;
  if (c.notice.owner != 0 && scope_.losses && shows) {
    go(Act::lose_notice, [&](World& n) { n.client[i].notice = {}; });
  }
  // An empty answer shows what a majority has, or what an old primary has.
  const bool reads = reads_empty && c.waits();
  if (reads && (!told || w.stale_runs != 0)) {
    go(Act::read_stream, [&](World& n) { n.client[i].counted = 0; });
  }
}

/// Its deadline counts from the sending of the very renewal that the granted entry names. What was
/// granted to a call that ended is given back.
void LockSystem::hear(World& w, int i) const {
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

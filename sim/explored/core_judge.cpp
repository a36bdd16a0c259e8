#include "sim/explored/core_judge.hpp"

#include <algorithm>

#include "model/rules/rules.hpp"
#include "sim/explored/core_server.hpp"

namespace leasehold::sim::explored {
namespace {

using namespace terms;

/// Nothing if there is no document, or if its lockId is not of our form.
std::optional<core::Owner> owner_of(const Document& document) {
  if (!document) return std::nullopt;
  const auto parts = core::parse_lock_id(*document->find("lockId")->as<std::string>());
  return parts ? std::optional(parts->owner) : std::nullopt;
}

/// Also of a call of this process that is over: any of the process's owners counts.
bool belongs_to(const Document& document, unsigned process) {
  const auto owner = owner_of(document);
  return owner && owner->high >> kOwnerShift == process + 1;
}

/// Compared as a server stores them.
bool equal(const Document& a, const Document& b) {
  if (!a || !b) return !a && !b;
  return *a == *b;
}

}  // namespace

/// As an acquire compares: at that time it is over.
bool is_over(const Document& document, std::int64_t now_ms) {
  return model::rules::is_expired(document->find("expiresAt")->as<simulated::Date>()->ms, now_ms);
}

/// As `held()` answers: by the clock, whether the loss was reported or not. A paused holder counts,
/// because it goes on where it was. A crashed one does not, because no process is left to ask.
bool CoreJudge::holds(const World& w, unsigned process, std::size_t which) const {
  const Actor& a = states_.actor(w, process);
  const User& user = a.users[which];
  return user.holds && !a.crashed &&
         model::rules::is_held(scope_.clock(process, w.tick), user.deadline);
}

bool CoreJudge::two_hold(const World& w) const {
  // Counted for each lock, because a process may hold both, with one user each.
  std::array<unsigned, kLocks> holders{};
  for (unsigned process = 0; process < 2; ++process) {
    for (std::size_t u = 0; u < kUsers; ++u)
      holders[scope_.lock_of(u)] += holds(w, process, u) ? 1 : 0;
  }
  return std::any_of(holders.begin(), holders.end(), [](unsigned count) { return count > 1; });
}

void CoreJudge::judge_state(World& to) const {
  if (to.broken == none && two_hold(to)) to.broken = g2;
}

/// Whether another call than this owner's holds the lock, also a call of a process that crashed:
/// before the deadline on its own clock it may act. Two calls of one crashed process are not
/// compared, because the owners of its dead calls are not kept.
bool CoreJudge::another_holds(const World& w, std::size_t lock, core::Owner owner) const {
  for (unsigned process = 0; process < 2; ++process) {
    if (states_.actor(w, process).crashed && owner.high >> kOwnerShift == process + 1) continue;
    for (std::size_t u = 0; u < kUsers; ++u) {
      const User& user = states_.actor(w, process).users[u];
      const bool holds =
          user.holds && model::rules::is_held(scope_.clock(process, w.tick), user.deadline);
      if (holds && scope_.lock_of(u) == lock && user.owner != owner) return true;
    }
  }
  return false;
}

void CoreJudge::judge_acquire(World& to, const core::AcquireCommand& acquire,
                              const Change& change) const {
  const auto& [lock, before, after] = change;
  const auto old_owner = owner_of(before);
  // A refused attempt may have joined the queue.
  if (owner_of(after) != acquire.owner) return;
  if (another_holds(to, lock, acquire.owner) && to.broken == none) to.broken = g1;
  // A write over one's own document: an earlier attempt had won, and its answer was lost.
  if (old_owner == acquire.owner) {
    seen_ |= 1u << own_win;
  } else if (old_owner) {
    seen_ |= 1u << (acquire.observed ? takeover_observed : takeover_by_clock);
  }
}

void CoreJudge::judge_write(World& to, const Message& by, const Documents& before) const {
  const Documents& after = states_.documents(to.documents);
  for (std::size_t lock = 0; lock < kLocks; ++lock) {
    if (equal(before[lock], after[lock])) continue;
    judge_change(to, by, {lock, before[lock], after[lock]});
  }
}

/// By the document's owner before and after: what the write did, whatever was meant by it.
void CoreJudge::judge_change(World& to, const Message& by, const Change& change) const {
  const auto& [lock, before, after] = change;
  const auto old_owner = owner_of(before);
  const auto& body = by.command->body;
  const auto require = [&](bool condition, Broken broken) {
    if (!condition && to.broken == none) to.broken = broken;
  };
  if (const auto* acquire = std::get_if<core::AcquireCommand>(&body)) {
    judge_acquire(to, *acquire, change);
  } else if (const auto* gone = std::get_if<core::DeleteCommand>(&body)) {
    // The adapter's query names the owner; here what it deleted is compared.
    require(model::rules::is_its_own(old_owner, gone->owner, gone->or_owner), g6);
  } else if (const auto* extend = std::get_if<core::ExtendCommand>(&body)) {
    const auto& all = extend->statements;
    const auto of_lock = std::find_if(all.begin(), all.end(), [&](const auto& statement) {
      return statement.name == kNames[change.lock];
    });
    // A statement must not touch a document of no lock in its batch.
    require(of_lock != all.end() && model::rules::is_its_own(old_owner, of_lock->owner), g6);
  } else if (const auto* given = std::get_if<core::HandOverCommand>(&body)) {
    // The receiver's own owner is right too: the command is sent again when its answer was lost.
    require(model::rules::is_its_own(old_owner, given->from, given->owner), g6);
    require(!another_holds(to, lock, given->owner), g1);
    seen_ |= 1u << handed_over;
  } else if (const auto* passed = std::get_if<core::PassOnCommand>(&body)) {
    if (owner_of(after) == old_owner) return;  // only an entry of the queue was removed
    require(model::rules::is_its_own(old_owner, passed->owner, passed->or_owner), g6);
    if (after && owner_of(after)) seen_ |= 1u << passed_on;
  }
}

/// The lease with both clocks' drift, a pause between attempts, two attempts, and one tick because
/// timers are noticed at ticks only; another for a clock that is slow.
unsigned CoreJudge::takeover_ticks() const {
  return kLeaseTicks + 1 + 2 + 2 + (scope_.drifts() ? 1 : 0);
}

/// All that was due in this tick has been done, because time would not go on otherwise.
void CoreJudge::judge_user(World& to, unsigned process, const User& user) const {
  // By its own clock, as its user would ask.
  if (user.holds && !model::rules::is_held(scope_.clock(process, to.tick), user.deadline)) {
    to.broken = g5;
  }
  // A fault or a write may start the wait anew, because a holder that extends is alive.
  const auto since = std::max({user.waits_since, to.fault_at, to.written_at});
  if (user.asks() && to.tick - since >= takeover_ticks()) to.broken = g7;
}

/// Calls, commands and clean-ups are over: no process would delete what is still there.
void CoreJudge::judge_left(World& to, unsigned process) const {
  const Actor& a = states_.actor(to, process);
  const unsigned late =  // a request cannot be called back, and may win when all is over
      1u << static_cast<unsigned>(CoreFault::late) | 1u << static_cast<unsigned>(CoreFault::inside);
  const bool over = a.is_outside() && a.awaited.empty() && a.core.departures_left() == 0;
  if (!over || (to.faults & late) != 0) return;
  for (const Document& left : states_.documents(to.documents)) {
    // A document that could not be deleted for two leases frees itself, as a crashed holder's does.
    if (belongs_to(left, process) && !is_over(left, CoreServer::clock_ms(to))) to.broken = orphan;
  }
}

/// What has to be true before time goes on.
void CoreJudge::judge_tick(World& to) const {
  if (to.broken != none) return;
  for (unsigned process = 0; process < 2; ++process) {
    const Actor& a = states_.actor(to, process);
    // A process that takes no step cannot be notified, and waits for nothing.
    if (a.crashed || a.paused) continue;
    for (const User& user : a.users) judge_user(to, process, user);
    judge_left(to, process);
  }
}

}  // namespace leasehold::sim::explored

#include "core/release/departures.hpp"

#include <algorithm>
#include <utility>

#include "core/check.hpp"
#include "core/document/lock_queue.hpp"
#include "core/document/lock_readers.hpp"

namespace leasehold::core {
namespace {

/// Doubling goes no further: a server that is back is asked again within this.
constexpr std::chrono::seconds kLongestPause{5};

}  // namespace

Departure Departure::of(const std::string& name, Owner owner, const LockOptions& options,
                        LocalInstant now) {
  Departure departure;
  departure.name = name;
  departure.owner = owner;
  departure.timeout = options.effective_operation_timeout();
  departure.give_up_at = two_leases_from(now, options.expiry);
  return departure;
}

/// It names the owner, so that another's document is not touched, whatever became of the lock
/// since. That makes it safe to send again.
decltype(Command::body) Departure::delete_command() const {
  if (by == By::pass_on) return PassOnCommand{name, owner, or_owner, offers, room};
  return DeleteCommand{name, owner, or_owner, true};
}

/// It names both owners: sent again, it finds what it may have written before.
decltype(Command::body) Departure::hand_over_command(std::string lock_id) const {
  return HandOverCommand{
      receiver->session,     name, owner, *or_owner, std::move(lock_id), receiver->expiry,
      receiver->clock_margin};
}

std::string Departure::receivers_lock_id(std::uint64_t beat, const std::string& holder) const {
  return written_lock_id(*or_owner, receiver->expiry, beat, holder, receiver->room);
}

/// A pass-on shows the document as it was before, with all that read.
bool Departure::has_left(const Reply& reply) const {
  if (by != By::pass_on) return reply.matched > 0;
  const auto had = [&reply](Owner one) {
    return names_owner(holding_of(reply.documents.front(), one).lock_id, one);
  };
  return !reply.documents.empty() && (had(owner) || (or_owner && had(*or_owner)));
}

/// The first is a quarter of the timeout, so that a caller that waits for its release may still
/// be notified of the second try.
Duration Departure::pause_after_failure(LocalInstant now) const {
  const auto first =
      std::clamp<Duration>(timeout / 4, std::chrono::milliseconds(10), std::chrono::seconds(1));
  const auto pause = std::min<Duration>(first * (1 << failures), kLongestPause);
  return std::min(pause, give_up_at - now);
}

/// An empty queue says little: waiters of a lock that changes hands often come and go.
void Departures::see(const std::string& name, const LockDocument& document, LocalInstant now) {
  if (!document.queue.empty()) waited_.keep(name, now);
  const Room held = room_of(document.lock_id);
  const Room room = held != 0 ? held : room_wanted_in(document.queue);
  if (room != 0) shared_.keep(name, {now, room});
}

/// For as long as a rival is remembered. A queue that is overlooked costs the release one command
/// more (Departure::By).
bool Departures::passes_on(const std::string& name, LocalInstant now) const {
  const auto* const at = waited_.find(name);
  return at != nullptr && now - *at < kRivalMemory;
}

Room Departures::leaves_to(Room own, const std::string& name, LocalInstant now) const {
  if (own != 0) return own;
  const auto* const seen = shared_.find(name);
  return seen != nullptr && now - seen->first < kRivalMemory ? seen->second : Room();
}

/// A release passes the lock on where calls queued lately, or read, and a reader always does: its
/// document is not its own. Elsewhere the release deletes the document, but only if there is no
/// queue: a holder that wins no refused attempt sees no document for hours.
Departure Departures::leaving(const std::string& name, Owner owner, const LockOptions& options,
                              Room room, LocalInstant now) const {
  Departure departure = Departure::of(name, owner, options, now);
  departure.room = leaves_to(room, name, now);
  if (departure.room != 0 || passes_on(name, now)) departure.by = Departure::By::pass_on;
  return departure;
}

/// The owner of a lock that was held or lost has to go. Its token is the time at which the document
/// was its own for certain: what a primary says that knows only of times before is no answer.
Departure Departures::departure_of(const HeldLock& lock, LocalInstant now) const {
  Departure departure = leaving(lock.name, lock.owner, lock.options, lock.room, now);
  departure.known_at = lock.token;
  departure.resend = lock.late_commands;
  return departure;
}

/// What an ended call may have won has to go, and its entry in the lock's queue: a pass-on takes
/// out both.
Departure Departures::departure_of(const AcquireCall& call, LocalInstant now) const {
  Departure departure = leaving(call.name, call.owner, call.options, call.room, now);
  if (call.enlists) departure.by = Departure::By::pass_on;
  departure.known_at = call.place.stood_at();
  departure.resend = call.may_own();
  return departure;
}

/// `offers` is used by a pass-on alone: after a delete any process may have the lock anyway.
Departure Departures::release_of(const HeldLock& lock, SessionId session, Step step) {
  Departure departure = departure_of(lock, step.now);
  departure.reporting = session;
  departure.offers = lock.had_its_turns();
  // A late attempt of it would leave an entry: a release could pass the lock to this owner.
  if (lock.late_commands && queues(lock.options)) remember(lock.name, lock.owner, lock.options);
  return departure;
}

/// Each owner departs once: it is dead from then on, and no other call has it.
void Departures::remember(const std::string& name, Owner owner, const LockOptions& options) {
  departed_.keep(owner, {name, options.effective_operation_timeout(), options.expiry});
}

void Departures::release(const HeldLock& lock, SessionId session, SendingStep step) {
  start(release_of(lock, session, step), step);
}

/// The hand-over waits for an answer as long as the shorter timeout of giver and receiver.
void Departures::hand_over(DepartureId id, const HeldLock& lock, SessionId session, SessionId to,
                           const AcquireCall& receiver, SendingStep step) {
  LEASEHOLD_CHECK(to != 0 && lock.name == receiver.name);
  const LockOptions& options = receiver.options;
  Departure giver = release_of(lock, session, step);
  giver.or_owner = receiver.owner;
  giver.receiver = {to, options.expiry, options.clock_margin, receiver.room};
  // If the receiver ends, it may have become one of several readers.
  if (receiver.room != 0) giver.room = receiver.room;
  if (giver.room != 0) giver.by = Departure::By::pass_on;
  giver.timeout = std::min(giver.timeout, options.effective_operation_timeout());
  send(add(id, std::move(giver), step), step);
}

/// The release of the handle sends another delete later, which finds nothing and reports so.
void Departures::give_back(const HeldLock& lock, SendingStep step) {
  start(departure_of(lock, step.now), step);
}

/// A hand-over that was under way becomes a delete, of both owners. An attempt that is under way is
/// waited for: its answer says whether there is anything to delete, and a delete that overtook it
/// would find nothing.
void Departures::ended(const AcquireCall& call, SendingStep step) {
  if (call.enlists) remember(call.name, call.owner, call.options);
  if (const auto* receiving = call.in<AcquireCall::Receiving>()) {
    stop_hand_over(receiving->hand_over, step);
  }
  const auto* attempting = call.in<AcquireCall::Attempting>();
  if (attempting != nullptr && attempting->command != 0) {
    Departure departure = departure_of(call, step.now);
    departure.awaits_attempt = true;
    departure.outcome_uncertain = call.may_own();
    departure.command = attempting->command;
    // From here on the answer is the departure's alone.
    PendingCommand& attempt = step.pending.at(attempting->command);
    attempt.sessions.clear();
    attempt.departure = add(new_id(), std::move(departure), step);
  } else if (call.may_own() || call.place.stands()) {
    start(departure_of(call, step.now), step);
  }
}

/// The document is there for certain, so it is deleted, and once more for what is on its way.
void Departures::won_too_late(const AcquireCall& call, SendingStep step) {
  Departure departure = departure_of(call, step.now);
  departure.resend = true;
  if (call.enlists) remember(call.name, call.owner, call.options);
  start(std::move(departure), step);
}

/// The lock is given back at once, or others would wait for its lease. Most events are of this
/// provider's own writes, of owners that are not remembered here. Each grant is seen once: several
/// late attempts of one owner may be granted it one after the other.
void Departures::granted(const NamedOwner& named, Owner owner, SendingStep step) {
  auto* const departed = departed_.find(owner);
  if (departed == nullptr || named.at <= departed->granted_at) return;
  departed->granted_at = named.at;
  const auto give_up_at = two_leases_from(step.now, departed->expiry);
  // The event of its own win may come when its release is under way already.
  if (granted_since(owner, give_up_at, step)) return;
  start({.name = departed->name,
         .owner = owner,
         .by = Departure::By::pass_on,
         .room = leaves_to(room_of(named.document.lock_id), departed->name, step.now),
         .known_at = named.at,
         .timeout = departed->timeout,
         .give_up_at = give_up_at},
        step);
}

/// A resend against late requests is not waited for: the provider would hang for one timeout more
/// with nothing to show for it.
std::size_t Departures::left() const {
  const auto is_left = [](const auto& d) { return !d.second.acknowledged; };
  return static_cast<std::size_t>(std::ranges::count_if(departures_, is_left));
}

}  // namespace leasehold::core

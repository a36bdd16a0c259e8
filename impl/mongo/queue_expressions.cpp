#include "mongo/queue_expressions.hpp"

#include "core/document/lock_queue.hpp"
#include "core/limits.hpp"
#include "mongo/expressions.hpp"

namespace leasehold::mongo {
namespace {

using std::chrono::milliseconds;

/// The first release in so long leaves the lock free for a turn. A power of ten ms: compared by
/// digits.
constexpr int kDigitsOfTurn = core::kUntilDigits - 3;
/// Of the releases after shorter holdings at most one in four is the first in its second.
constexpr milliseconds kShortHolding(250);
constexpr std::int64_t kOwnerDigits = 32;
/// Of 16: an owner ends in a random hexadecimal digit, and in a lower one than this by such chance.
const char* const kEndsOfOfferedOwners = "4";

const char* const kMark = "~";

/// $$NOW and so much, as the digits of `until`.
Bson digits_of_now(milliseconds later = milliseconds(0)) {
  const Bson at = expression("$add", text("$$NOW"), number(later.count()));
  return one_argument("$toString", one_argument("$toLong", at));
}

/// [holder, entry, entry, ...]; [""] of a document that is not there.
const Bson& parts() {
  static const Bson all = [] {
    const Bson lock_id = expression("$ifNull", text("$lockId"), text(""));
    return expression("$split", nested(lock_id), text(kMark));
  }();
  return all;
}

/// `value`, of the document's last part, $$last, if that has the tickets; else `none`.
Bson of_tickets(const Bson& value, std::string_view none) {
  const Bson last = expression("$arrayElemAt", nested(parts()), number(-1));
  const Bson at = expression("$indexOfBytes", text("$$last"), text(core::kTicketsMark));
  const Bson are_there = expression("$eq", nested(at), number(0));
  return let("last", last, expression("$cond", nested(are_there), nested(value), text(none)));
}

/// The tickets as they are, behind a mark.
Bson same_tickets() {
  return of_tickets(expression("$concat", text(kMark), text("$$last")), "");
}

/// [+, taken, admitted]
const Bson& numbers_of_tickets() {
  static const Bson all = [] {
    const Bson last = of_tickets(expression("$concat", text("$$last")), "+.0.0");
    return expression("$split", nested(last), text("."));
  }();
  return all;
}

Bson ticket_number(int at) {
  return to_long(expression("$arrayElemAt", text("$$tickets"), number(at)));
}

/// Tickets with these numbers, behind a mark.
Bson tickets_of(const Bson& taken, const Bson& admitted) {
  const Bson digits_taken = one_argument("$toString", taken);
  const Bson digits_admitted = one_argument("$toString", admitted);
  Bson e;
  e.array("$concat", [&](Bson& list) {
    list.text("0", std::string(kMark) + std::string(core::kTicketsMark));
    list.copy("1", digits_taken).text("2", ".").copy("3", digits_admitted);
  });
  return e;
}

/// What becomes of the tickets, $$tickets, when a call without a place finds room or none. While
/// calls are outside, the second half of the places is for those whose turn is near. So a newcomer
/// does not overtake them; and as calls that do not come back leave more than half of the places
/// free, those hold up nothing.
struct TicketRules {
  Bson keeps_out;       ///< whether this call finds no room in $$queue
  Bson refused, joins;  ///< the tickets then, behind a mark

  explicit TicketRules(const core::AcquireCommand& command) {
    const auto room = static_cast<std::int64_t>(command.queue_room);
    const Bson taken = ticket_number(1), admitted = ticket_number(2);
    const Bson size = one_argument("$size", "$$queue");
    const Bson outside = expression("$gt", nested(taken), nested(admitted));
    const Bson full = expression("$gte", nested(size), number(room));
    const Bson half = expression("$gte", nested(size), number((room + 1) / 2));
    const Bson next = expression("$add", nested(admitted), number(room));
    const auto too_early = [&] {
      if (!command.ticket) return expression("$and", nested(outside), nested(half));
      const Bson early = expression("$gt", number(*command.ticket), nested(next));
      return expression("$and", nested(outside), nested(half), nested(early));
    }();
    keeps_out = expression("$or", nested(full), nested(too_early));
    const Bson one_taken = expression("$add", nested(taken), number(1));
    const Bson one_admitted = expression("$add", nested(admitted), number(1));
    refused = command.ticket ? same_tickets() : tickets_of(one_taken, admitted);
    const Bson same = same_tickets();
    const Bson changed = tickets_of(taken, one_admitted);
    joins = expression("$cond", nested(outside), nested(changed), nested(same));
  }
};

const Bson& entries() {
  static const Bson all =
      expression("$slice", nested(parts()), number(1), number(core::kMostInQueue));
  return all;
}

/// Of the entry $$e.
Bson is_alive() {
  static const Bson now = digits_of_now(), latest = digits_of_now(core::kLongestEntry);
  const Bson not_over = expression("$gt", text("$$e"), nested(now));
  const Bson in_reason = expression("$lt", text("$$e"), nested(latest));
  return expression("$and", nested(not_over), nested(in_reason));
}

Bson is_of(std::string_view comparison, core::Owner owner) {
  const Bson prefix = literal(to_hex(owner) + '.');
  const Bson index = expression("$indexOfBytes", text("$$e"), nested(prefix));
  return expression(comparison, nested(index), number(core::kEntryLockIdAt));
}

Bson filtered(const Bson& condition) {
  Bson e;
  e.doc("$filter",
        [&](Bson& f) { f.copy("input", entries()).text("as", "e").copy("cond", condition); });
  return e;
}

Bson entries_alive() {
  static const Bson alive = is_alive();
  return filtered(alive);
}

Bson entries_alive_without(core::Owner owner) {
  static const Bson alive = is_alive();
  const Bson of_others = is_of("$ne", owner);
  return filtered(expression("$and", nested(alive), nested(of_others)));
}

template <typename First, typename List>
Bson joined(First first, List list) {
  static const Bson next = expression("$concat", text("$$value"), text(kMark), text("$$this"));
  Bson e;
  e.doc("$reduce", [&](Bson& r) {
    list(r, "input");
    first(r, "initialValue");
    r.copy("in", next);
  });
  return e;
}

Bson with_tickets(const Bson& lock_id) {
  static const Bson same = same_tickets();
  return expression("$concat", nested(lock_id), nested(same));
}

/// The lockIds of the .NET package have 32 bytes and no dot.
const Bson& is_our_form() {
  static const Bson ours = [] {
    const Bson type = one_argument("$type", "$lockId");
    const Bson is_text = expression("$eq", nested(type), text("string"));
    const Bson first_dot = expression("$indexOfBytes", text("$lockId"), text("."));
    const Bson in_place = expression("$eq", nested(first_dot), number(kOwnerDigits));
    return expression("$and", nested(is_text), nested(in_place));
  }();
  return ours;
}

Bson with_lock_id(const Bson& lock_id) {
  Bson changed;
  changed.copy("lockId", lock_id);
  return expression("$mergeObjects", text("$$ROOT"), nested(changed));
}

Bson only_if_ours(const Bson& document) {
  return expression("$cond", nested(is_our_form()), nested(document), text("$$ROOT"));
}

Bson beat_of_entry() {
  constexpr int kBeat = 5;  // until, stands, lasts, owner, lease, beat
  const Bson split = expression("$split", text("$$e"), text("."));
  return to_long(expression("$arrayElemAt", nested(split), number(kBeat)));
}

/// The ms since 1970 of $acquiredAt, as text.
Bson digits_of_given() {
  Bson as_long;
  as_long.doc("$convert", [&](Bson& c) {
    c.text("input", "$acquiredAt").text("to", "long").int64("onError", 0).int64("onNull", 0);
  });
  return one_argument("$toString", as_long);
}

Bson second_of(const Bson& digits) {
  return expression("$substrBytes", nested(digits), number(0), number(kDigitsOfTurn));
}

/// Whether a release leaves the lock free for calls that poll: if the lock was given in another
/// second than this one. After a longer holding most releases are in another second; then it is
/// left free for a quarter of the owners in its queue alone. So at most about one release in four
/// costs the gap, whatever the holdings, and the change of a leader usually has none.
Bson is_turn_of_all() {
  const Bson given = digits_of_given(), now = digits_of_now();
  const Bson second_given = second_of(given), second_now = second_of(now);
  const Bson in_another = expression("$ne", nested(second_now), nested(second_given));
  const Bson long_ago = digits_of_now(-kShortHolding);
  const Bson was_short = expression("$gt", nested(given), nested(long_ago));
  constexpr auto kEndOfOwner = static_cast<int>(core::kEntryLockIdAt + kOwnerDigits - 1);
  const Bson end = expression("$substrBytes", text("$$head"), number(kEndOfOwner), number(1));
  const Bson by_chance = expression("$lt", nested(end), text(kEndsOfOfferedOwners));
  const Bson enough = expression("$or", nested(was_short), nested(by_chance));
  return expression("$and", nested(in_another), nested(enough));
}

constexpr std::int64_t kLongAgo = 0;  ///< 1970: the lock is free

/// The queue is empty: as after a delete. The lockId has no owner, so no late extension revives it.
Bson freed_document(const Bson& token) {
  Bson d;
  d.text("_id", "$_id").text("lockId", "").text("acquiredAt", "$acquiredAt");
  d.date("expiresAt", kLongAgo).copy("fencingToken", token);
  return d;
}

/// The number that stands so far behind the beginning of the entry $$head.
Bson number_in_head(int at, int digits) {
  const Bson text_there = expression("$substrBytes", text("$$head"), number(at), number(digits));
  return to_long(text_there);
}

/// A release may have begun before the attempt that left $$head was even sent, and executes after
/// it all the same: $$NOW is of when a command began. A grant is dated no earlier than its entry,
/// because its receiver counts from that attempt and would else rely on a lease that others see
/// expired.
Bson granted_at() {
  const Bson until = number_in_head(0, core::kUntilDigits);
  const Bson stands = number_in_head(core::kStandsAt, core::kSpanDigits);
  const Bson dated = expression("$subtract", nested(until), nested(stands));
  const Bson now = one_argument("$toLong", "$$NOW");
  const Bson behind = expression("$subtract", nested(dated), nested(now));
  const Bson ahead = expression("$max", number(0), nested(behind));
  return expression("$add", text("$$NOW"), nested(ahead));
}

/// To $$queue's first, $$head: it gets the lock; or it is offered the lock, which is free then. An
/// entry that is offered it stays the first in the queue, because another call may be quicker.
Bson given_document(bool offers, const Bson& token) {
  static const Bson lock_id =
      expression("$substrBytes", text("$$head"), number(core::kEntryLockIdAt), number(-1));
  static const Bson rest =
      expression("$slice", text("$$queue"), number(1), number(core::kMostInQueue));
  static const Bson granted = granted_at();
  static const Bson in_force = [] {
    const Bson lasts = number_in_head(core::kLastsAt, core::kSpanDigits);
    return expression("$add", nested(granted), nested(lasts));
  }();
  static const Bson turn = is_turn_of_all();
  static const Bson rest_unless_offered =
      expression("$cond", nested(turn), text("$$queue"), nested(rest));
  const Bson queue = with_tickets(offers ? joined(nested(lock_id), text("$$queue"))
                                         : joined(nested(lock_id), nested(rest_unless_offered)));
  Bson d;
  d.text("_id", "$_id").copy("lockId", queue);
  d.copy("acquiredAt", granted);
  if (offers) {
    d.date("expiresAt", kLongAgo);
  } else {
    d.doc("expiresAt", [&](Bson& e) {
      e.array("$cond", [&](Bson& c) { c.copy("0", turn).date("1", kLongAgo).copy("2", in_force); });
    });
  }
  d.copy("fencingToken", token);
  return d;
}

}  // namespace

Bson followed_by_queue(const std::string& lock_id, core::Owner without) {
  const Bson first = literal(lock_id);
  const Bson others = entries_alive_without(without);
  return with_tickets(joined(nested(first), nested(others)));
}

Bson followed_by_same_queue(const std::string& lock_id) {
  static const Bson at = expression("$indexOfBytes", text("$lockId"), text(kMark));
  static const Bson queue = [] {
    const Bson found = expression("$gte", text("$$at"), number(0));
    const Bson from_mark = expression("$substrBytes", text("$lockId"), text("$$at"), number(-1));
    return expression("$cond", nested(found), nested(from_mark), text(""));
  }();
  const Bson first = literal(lock_id);
  const Bson tail = let("at", at, queue);
  return expression("$concat", nested(first), nested(tail));
}

Bson holders_lock_id() { return expression("$arrayElemAt", nested(parts()), number(0)); }

Bson queued_document(const core::AcquireCommand& command) {
  const Bson until = digits_of_now(*command.queues_for);
  const auto lasts = command.lease + command.margin;
  const Bson rest = literal(core::entry_without_until(*command.queues_for, lasts, command.lock_id));
  const Bson entry = expression("$concat", nested(until), nested(rest));

  // A late command of an earlier beat does not take the place of a later one.
  const auto parsed = core::parse_lock_id(command.lock_id);
  const auto beat = static_cast<std::int64_t>(parsed ? parsed->beat : 0);
  const Bson own = is_of("$eq", command.owner), beat_there = beat_of_entry();
  const Bson earlier = expression("$lt", nested(beat_there), number(beat));
  const Bson replaces = expression("$and", nested(own), nested(earlier));
  const Bson one = expression("$cond", nested(replaces), nested(entry), text("$$e"));
  const Bson alive = entries_alive();
  Bson queue;
  queue.doc("$map", [&](Bson& m) { m.copy("input", alive).text("as", "e").copy("in", one); });

  const Bson holder = holders_lock_id();
  const Bson whole = joined(nested(holder), text("$$queue"));
  const Bson own_part = literal('.' + to_hex(command.owner) + '.');
  const Bson own_at = expression("$indexOfBytes", text("$$whole"), nested(own_part));
  const Bson stands = expression("$gte", nested(own_at), number(0));
  const TicketRules tickets(command);
  const Bson refused = expression("$concat", text("$$whole"), nested(tickets.refused));
  const Bson longer = expression("$concat", text("$$whole"), text(kMark), nested(entry));
  const Bson joins = expression("$concat", nested(longer), nested(tickets.joins));
  const Bson comes =
      expression("$cond", nested(tickets.keeps_out), nested(refused), nested(joins));
  const Bson same = expression("$concat", text("$$whole"), nested(same_tickets()));
  const Bson lock_id = expression("$cond", nested(stands), nested(same), nested(comes));
  const Bson with_numbers = let("tickets", numbers_of_tickets(), lock_id);
  const Bson type = one_argument("$type", "$expiresAt");
  const Bson sound = expression("$eq", nested(type), text("date"));
  const Bson waiting =
      only_if_ours(with_lock_id(let("queue", queue, let("whole", whole, with_numbers))));
  return expression("$cond", nested(sound), nested(waiting), text("$$ROOT"));
}

Bson passed_on_document(const core::PassOnCommand& command, const Bson& token) {
  static const Bson head = expression("$arrayElemAt", text("$$queue"), number(0));
  static const Bson empty_queue = [] {
    const Bson size = one_argument("$size", "$$queue");
    return expression("$eq", nested(size), number(0));
  }();
  static const Bson alive = is_alive();
  const core::Owner other = command.or_owner.value_or(command.owner);
  const Bson not_one = is_of("$ne", command.owner), not_other = is_of("$ne", other);
  const Bson queue =
      filtered(expression("$and", nested(alive), nested(not_one), nested(not_other)));
  const Bson freed = freed_document(token);
  const Bson given = let("head", head, given_document(command.offers, token));
  const Bson left = expression("$cond", nested(empty_queue), nested(freed), nested(given));

  const Bson is_one = mine(command.owner), is_other = mine(other);
  const Bson holds = expression("$or", nested(is_one), nested(is_other));
  const Bson holder = holders_lock_id();
  const Bson not_waiting = with_lock_id(with_tickets(joined(nested(holder), text("$$queue"))));
  const Bson after = expression("$cond", nested(holds), nested(left), nested(not_waiting));
  return only_if_ours(let("queue", queue, after));
}

}  // namespace leasehold::mongo

#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "model/containers/enum_set.hpp"

/// The format of a history as two tables: what each field means, and which fields each kind of
/// event has. The JSON, the check of the form and the page in model/README.md follow them.
namespace leasehold::model {

enum class Kind : std::uint8_t {
  run,
  start,
  crash,
  exit,
  pause,
  resume,
  stall,
  congestion,
  no_majority,
  fault,
  heal,
  finish,
  ask,
  send,
  reply,
  granted,
  extended,
  lost,
  held,
  notified,
  release,
  released,
  ended,
  write,
  wire,
  put,
  gone,
  place,
  reread,
  stored,
  protocol
};

/// All that an event may say beside its time and kind: the members of Event, by their names.
enum class Field : std::uint8_t {
  process,
  session,
  command,
  write_number,
  name,
  victim,
  owner,
  giver,
  also_owner,
  lock_id,
  seen_lock_id,
  observed_lock_id,
  token,
  order,
  stored_token,
  acquired_at_ms,
  expires_at_ms,
  from_ns,
  wall_ms,
  sent_ns,
  deadline_ns,
  give_up_ns,
  single_attempt,
  first_asked_ns,
  first_answered_ns,
  last_asked_ns,
  outcome,
  matched,
  count,
  exit_status,
  signal,
  verb,
  fault,
  begins,
  ends,
  amount,
  suspended,
  healed,
  lock,
  live,
  seed,
  lateness_ns,
  truth_lag_ns,
  ttl_period_ms,
  fault_echo_ms,
  clock_drift_ppm,
  expiry_ms,
  clock_margin_ms,
  longest_pause_ms,
  operation_timeout_ms,
  max_holding_ms,
  max_drift_ppm,
  message
};
using FieldSet = EnumSet<Field>;

struct AboutField {
  Field field;
  const char* name;
  const char* meaning;
};

/// In the order of the enumerators. A field of `_ns` that names a time is of the harness's clock.
inline constexpr std::array kAboutFields{
    AboutField{Field::process, "process", "a process; a restarted one has another name"},
    AboutField{Field::session, "session",
               "an acquire call and the lock that it won; of a hand-over the one that receives"},
    AboutField{Field::command, "command", "the number of a command, in its process"},
    AboutField{Field::write_number, "write_number",
               "the number of a write to the resource, in its process"},
    AboutField{Field::name, "name", "the name of the lock"},
    AboutField{Field::victim, "victim",
               "the process, member, link or lock that it hit; of a stall also the machine"},
    AboutField{Field::owner, "owner",
               "the owner that the command or grant is for, or the one that the document names"},
    AboutField{Field::giver, "giver", "of a hand-over: the owner that gives"},
    AboutField{Field::also_owner, "also_owner",
               "of a delete: another owner whose document goes as well"},
    AboutField{Field::lock_id, "lock_id", "the lockId that the command writes, or wrote"},
    AboutField{Field::seen_lock_id, "seen_lock_id",
               "the lockId of the holder that the reply shows"},
    AboutField{Field::observed_lock_id, "observed_lock_id",
               "of an attempt: the lockId of the holder that it presumes dead"},
    AboutField{Field::token, "token", "the fencing token"},
    AboutField{Field::order, "order", "the oplog time of the write"},
    AboutField{Field::stored_token, "stored_token", "the document's fencingToken after the write"},
    AboutField{Field::acquired_at_ms, "acquired_at_ms",
               "the document's acquiredAt after the write: a server's date, in ms since 1970"},
    AboutField{Field::expires_at_ms, "expires_at_ms",
               "the date on which it says that it expires: likewise; of a foreign lock, too; of a "
               "place until when the entry was good"},
    AboutField{Field::from_ns, "from_ns",
               "since when it did not run, or there was no majority, until the event; a document "
               "was written then or later"},
    AboutField{Field::wall_ms, "wall_ms",
               "the primary's date of the write, in ms since 1970; 0: not said"},
    AboutField{
        Field::sent_ns, "sent_ns",
        "when the command or write was sent; of a worker's answer: it was said then or later"},
    AboutField{Field::deadline_ns, "deadline_ns", "the deadline that the holder has from it"},
    AboutField{Field::give_up_ns, "give_up_ns", "when the call times out; 0: never"},
    AboutField{Field::single_attempt, "single_attempt", "the call makes one attempt, and ends"},
    AboutField{Field::first_asked_ns, "first_asked_ns",
               "the first question was asked then or later (stamped before it)"},
    AboutField{Field::first_answered_ns, "first_answered_ns",
               "the first answer had come by then (stamped after it)"},
    AboutField{Field::last_asked_ns, "last_asked_ns",
               "the last question was asked then or later (stamped before it)"},
    AboutField{Field::outcome, "outcome", "what came of it, in the words of its kind"},
    AboutField{
        Field::matched, "matched",
        "how many documents it found; of what asks for the lock 1 if the one seen is its own; of a "
        "queue how many stand in it then"},
    AboutField{
        Field::count, "count",
        "how many: answers, commands or entries; of a call that joins a queue its place, 1 is the "
        "first"},
    AboutField{Field::exit_status, "exit_status", "the status that the process exited with"},
    AboutField{Field::signal, "signal", "the signal that killed it"},
    AboutField{
        Field::verb, "verb",
        "the command: acquire, extend, hand-over, pass-on, look, delete, index or stream; of "
        "`wire` the server's name of it; of `granted` pass-on, if a release of another "
        "process gave the lock to an entry of its queue"},
    AboutField{Field::fault, "fault", "the kind of the fault"},
    AboutField{Field::begins, "begins", "it lasts from here"},
    AboutField{Field::ends, "ends", "it lasted until here"},
    AboutField{Field::amount, "amount", "how large the fault is, in the unit of its kind"},
    AboutField{Field::suspended, "suspended", "with its machine, and its clocks too"},
    AboutField{Field::healed, "healed", "the call was made when all faults were over"},
    AboutField{Field::lock, "lock", "which lock was run"},
    AboutField{Field::live, "live", "in the live world; else in the virtual one"},
    AboutField{Field::seed, "seed", "the seed of the plan"},
    AboutField{Field::lateness_ns, "lateness_ns", "how late a process that runs may be"},
    AboutField{Field::truth_lag_ns, "truth_lag_ns", "how late the truth is read at most"},
    AboutField{Field::ttl_period_ms, "ttl_period_ms",
               "the TTL monitor's period; 0: what the world allows is not said"},
    AboutField{Field::fault_echo_ms, "fault_echo_ms",
               "how long after a fault servers and clients may not know of it"},
    AboutField{Field::clock_drift_ppm, "clock_drift_ppm",
               "how much the process's clock runs fast; 0: not said"},
    AboutField{Field::expiry_ms, "expiry_ms", "LockOptions::expiry"},
    AboutField{Field::clock_margin_ms, "clock_margin_ms", "LockOptions::clock_margin"},
    AboutField{Field::longest_pause_ms, "longest_pause_ms",
               "the longest pause between two attempts"},
    AboutField{Field::operation_timeout_ms, "operation_timeout_ms",
               "the longest that one command takes"},
    AboutField{Field::max_holding_ms, "max_holding_ms", "LockOptions::max_holding; 0: no limit"},
    AboutField{Field::max_drift_ppm, "max_drift_ppm", "LockOptions::max_drift"},
    AboutField{Field::message, "message", "what was said of it, for people"},
};

struct AboutKind {
  Kind kind;
  const char* name;
  const char* meaning;
  FieldSet fields;
};

namespace about_kinds {
using enum Field;
/// In the order of the enumerators.
inline constexpr std::array kAll{
    AboutKind{Kind::run,
              "run",
              "the first line: what was run, and what its world allows",
              {lock, live, seed, lateness_ns, truth_lag_ns, ttl_period_ms, fault_echo_ms}},
    AboutKind{Kind::start, "start", "a process began", {process, clock_drift_ppm}},
    AboutKind{Kind::crash, "crash", "it was killed: it holds nothing from here on", {process}},
    AboutKind{Kind::exit,
              "exit",
              "a process, or the member `victim`, ended unasked: `outcome` = "
              "exited, killed, or did not end (and was stopped); `message` has its last words",
              {process, victim, outcome, exit_status, signal, message}},
    AboutKind{Kind::pause, "pause", "it was stopped ...", {process, suspended}},
    AboutKind{Kind::resume, "resume", "... and goes on", {process, suspended}},
    AboutKind{Kind::stall,
              "stall",
              "the process, by its own watchdog, or the machine or member `victim`, by the "
              "harness's, did not run",
              {process, victim, from_ns}},
    AboutKind{Kind::congestion,
              "congestion",
              "what the process had to send waited, from here on or until here, because all its "
              "workers were taken",
              {process, begins, ends}},
    AboutKind{Kind::no_majority,
              "no-majority",
              "until then no majority had what the newest primary had written, or there was no "
              "primary",
              {from_ns}},
    AboutKind{Kind::fault,
              "fault",
              "the harness did something to servers or links; `lock_id`: what an administrator "
              "writes into the lock `victim`, perhaps",
              {victim, fault, begins, ends, amount, lock_id}},
    AboutKind{Kind::heal, "heal", "no fault begins after this", {}},
    AboutKind{Kind::finish, "finish", "no process acts after this", {}},
    AboutKind{
        Kind::ask,
        "ask",
        "an acquire call, with its options",
        {process, session, name, give_up_ns, single_attempt, healed, expiry_ms, clock_margin_ms,
         longest_pause_ms, operation_timeout_ms, max_holding_ms, max_drift_ppm}},
    AboutKind{Kind::send,
              "send",
              "a command; one event for each lock in it",
              {process, session, command, name, owner, giver, also_owner, lock_id, observed_lock_id,
               verb}},
    AboutKind{
        Kind::reply,
        "reply",
        "what came back, one event a command: `outcome` = done, unknown, failed_before, "
        "duplicate_key or configuration",
        {process, command, owner, giver, also_owner, seen_lock_id, order, outcome, matched, verb}},
    AboutKind{Kind::granted,
              "granted",
              "the command with this `lock_id` won",
              {process, session, name, owner, lock_id, token, sent_ns, deadline_ns, verb}},
    AboutKind{Kind::extended,
              "extended",
              "a new deadline",
              {process, session, name, lock_id, sent_ns, deadline_ns}},
    AboutKind{Kind::lost,
              "lost",
              "`outcome` = deadline, not_owner or max_holding",
              {process, session, name, outcome}},
    AboutKind{
        Kind::held,
        "held",
        "what `held()` answered the handle's user, equal answers in a row: `outcome` = yes "
        "or no. Of yes the first answer and the last question are reported, of no the first of "
        "both",
        {process, session, name, outcome, count, first_asked_ns, first_answered_ns, last_asked_ns}},
    AboutKind{Kind::notified,
              "notified",
              "the handle's `lost()` fired: stamped inside the user's callback",
              {process, session, name, sent_ns}},
    AboutKind{Kind::release,
              "release",
              "the handle was asked to release: held() turned false just before",
              {process, session, name}},
    AboutKind{Kind::released,
              "released",
              "`outcome` = released, not_owner or unknown",
              {process, session, name, outcome}},
    AboutKind{Kind::ended,
              "ended",
              "the acquire call ended without the lock: `outcome` is the error's kind",
              {process, session, name, outcome, message}},
    AboutKind{Kind::write,
              "write",
              "to the fenced resource, until the event: `outcome` = accepted, refused or unknown",
              {process, session, write_number, name, token, sent_ns, outcome}},
    AboutKind{Kind::wire,
              "wire",
              "how many of one command the driver sent in this process's life",
              {process, verb, count}},
    AboutKind{Kind::put,
              "put",
              "server's truth: the lock document after a write; of a lock that is not ours "
              "by the fields that its author named",
              {name, lock_id, order, owner, stored_token, acquired_at_ms, expires_at_ms, from_ns,
               wall_ms}},
    AboutKind{Kind::gone,
              "gone",
              "server's truth: the lock document was deleted; of a lock that is not ours, or "
              "written as a free one",
              {name, order, owner, from_ns, wall_ms}},
    AboutKind{
        Kind::place,
        "place",
        "server's truth: a waiting call joined the lock's queue, at the place `count`, or left it "
        "(no `count`), served or not; `lock_id` is the entry's, as it was renewed last",
        {name, lock_id, order, count, matched, expires_at_ms}},
    AboutKind{Kind::reread,
              "reread",
              "the oplog once more, at the end: `outcome` = kept (`count` entries), vanished (one "
              "that a majority had) or unread (`message` says why)",
              {outcome, count, order, message}},
    AboutKind{Kind::stored,
              "stored",
              "server's truth: an accepted write to the fenced resource",
              {process, write_number, name, owner, token, order}},
    AboutKind{
        Kind::protocol,
        "protocol",
        "a worker of another lock broke the protocol of scenarios/WORKERS.md, and was ended: "
        "`outcome` = line, ended or hang, or never_ready if it never was; `message` says what was "
        "wrong",
        {process, outcome, message}},
};
}  // namespace about_kinds

[[nodiscard]] constexpr const AboutKind& about(Kind kind) {
  return about_kinds::kAll[static_cast<std::size_t>(kind)];
}
[[nodiscard]] constexpr const char* to_string(Kind kind) { return about(kind).name; }
[[nodiscard]] constexpr const char* to_string(Field field) {
  return kAboutFields[static_cast<std::size_t>(field)].name;
}

}  // namespace leasehold::model

#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <variant>

#include "model/containers/enum_set.hpp"

/// The format of a history: an event, and two tables, what each field of it means and which fields
/// each kind of event has. The JSON, its schema, the check of the form and the page in
/// model/README.md follow them.
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
  slow,
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
  permit,
  permit_end,
  all,
  all_end,
  call,
  returned,
  write,
  wire,
  put,
  gone,
  place,
  reread,
  stored,
  protocol
};

/// One event. The fields that its kind has not (`about`) are at their default, and those are not in
/// the JSON. Each member but time and kind has a row in `kAboutFields`, and so is a field.
struct Event {
  std::int64_t at_ns = 0;
  Kind kind = Kind::run;

  std::string process;
  std::int64_t session = 0;
  std::int64_t command = 0;
  std::int64_t call = 0;
  std::int64_t write_number = 0;
  std::string name;
  std::string victim;
  std::string owner;
  std::string giver;
  std::string also_owner;
  std::string lock_id;
  std::string seen_lock_id;
  std::string observed_lock_id;
  std::int64_t token = 0;
  std::int64_t order = 0;
  std::int64_t stored_token = 0;
  std::int64_t acquired_at_ms = 0;
  std::int64_t expires_at_ms = 0;

  std::int64_t from_ns = 0;
  std::int64_t wall_ms = 0;
  std::int64_t sent_ns = 0;
  std::int64_t deadline_ns = 0;
  std::int64_t give_up_ns = 0;
  bool single_attempt = false;
  std::int64_t first_asked_ns = 0;
  std::int64_t first_answered_ns = 0;
  std::int64_t last_asked_ns = 0;

  std::string outcome;
  std::int64_t matched = 0;
  std::int64_t count = 0;
  std::int64_t exit_status = 0;
  std::int64_t signal = 0;
  std::string verb;

  std::string fault;
  bool begins = false;
  bool ends = false;
  std::int64_t amount = 0;
  bool suspended = false;
  bool healed = false;
  bool leads = false;

  std::string lock;
  bool live = false;
  std::uint64_t seed = 0;
  std::int64_t lateness_ns = 0;
  std::int64_t truth_lag_ns = 0;
  std::int64_t ttl_period_ms = 0;
  std::int64_t fault_echo_ms = 0;

  std::int64_t clock_drift_ppm = 0;
  std::int64_t workers = 0;
  std::int64_t expiry_ms = 0;
  std::int64_t clock_margin_ms = 0;
  std::int64_t longest_pause_ms = 0;
  std::int64_t operation_timeout_ms = 0;
  std::int64_t max_holding_ms = 0;
  std::int64_t holdings_in_a_row = 0;
  std::int64_t max_drift_ppm = 0;
  std::string message;

  bool operator==(const Event&) const = default;
};

/// What an event may say beside its time and kind. The JSON's type follows that of the member.
struct AboutField {
  using Member = std::variant<std::string Event::*, std::int64_t Event::*, std::uint64_t Event::*,
                              bool Event::*>;
  Member member;
  const char* name;
  const char* meaning;
  bool big = false;  ///< may be beyond 2^53
};
inline constexpr bool kBig = true;

/// In the order of the JSON. A field of `_ns` that names a time is of the harness's clock.
inline constexpr std::array kAboutFields{
    AboutField{&Event::process, "process", "a process; a restarted one has another name"},
    AboutField{&Event::session, "session",
               "an acquire call and the lock that it won; of a hand-over the one that receives"},
    AboutField{&Event::command, "command", "the number of a command, in its process"},
    AboutField{&Event::call, "call",
               "the number of a user's call, in its process"},
    AboutField{&Event::write_number, "write_number",
               "the number of a write to the resource, in its process"},
    AboutField{&Event::name, "name", "the name of the lock"},
    AboutField{&Event::victim, "victim",
               "the process, member, link or lock that it hit; of a stall also the machine"},
    AboutField{&Event::owner, "owner",
               "the owner that the command or grant is for, or the one that the document names"},
    AboutField{&Event::giver, "giver", "of a hand-over: the owner that gives"},
    AboutField{&Event::also_owner, "also_owner",
               "of a delete: another owner whose document goes as well"},
    AboutField{&Event::lock_id, "lock_id", "the lockId that the command writes, or wrote"},
    AboutField{&Event::seen_lock_id, "seen_lock_id",
               "the lockId of the holder that the reply shows"},
    AboutField{&Event::observed_lock_id, "observed_lock_id",
               "of an attempt: the lockId of the holder that it presumes dead"},
    AboutField{&Event::token, "token", "the fencing token", kBig},
    AboutField{&Event::order, "order", "the oplog time of the write", kBig},
    AboutField{&Event::stored_token, "stored_token", "the document's fencingToken after the write",
               kBig},
    AboutField{&Event::acquired_at_ms, "acquired_at_ms",
               "the document's acquiredAt after the write: a server's date, in ms since 1970"},
    AboutField{&Event::expires_at_ms, "expires_at_ms",
               "the date on which it says that it expires, in ms since 1970; of a foreign lock, "
               "too; of a place until when the entry was good"},
    AboutField{&Event::from_ns, "from_ns",
               "since when it did not run, there was no majority or a command had no answer, until "
               "the event; a document was written then or later; of `return` and `crash` since "
               "when other functions of the user kept the thread that calls back"},
    AboutField{&Event::wall_ms, "wall_ms",
               "the primary's date of the write, in ms since 1970; 0: not said"},
    AboutField{&Event::sent_ns, "sent_ns",
               "when the command or write was sent; of a worker's answer: it was said then or "
               "later"},
    AboutField{&Event::deadline_ns, "deadline_ns",
               "the deadline that the holder has from it; of `held` until when `remaining()` said "
               "that it is held, if none before said so long; of `return` until when `ensure()` "
               "was asked to keep it held, from then on"},
    AboutField{&Event::give_up_ns, "give_up_ns", "when the call times out; 0: never"},
    AboutField{&Event::single_attempt, "single_attempt", "the call makes one attempt, and ends"},
    AboutField{&Event::first_asked_ns, "first_asked_ns",
               "the first question was asked then or later (stamped before it)"},
    AboutField{&Event::first_answered_ns, "first_answered_ns",
               "the first answer had come by then (stamped after it)"},
    AboutField{&Event::last_asked_ns, "last_asked_ns",
               "the last question was asked then or later (stamped before it)"},
    AboutField{&Event::outcome, "outcome", "what came of it, in the words of its kind"},
    AboutField{&Event::matched, "matched",
               "how many documents it found; of what asks for the lock 1 if the one seen is its "
               "own; of a queue how many stand in it then"},
    AboutField{&Event::count, "count",
               "how many: answers, commands, entries, permits or locks; of a call that joins a "
               "queue its place, 1 is the first"},
    AboutField{&Event::exit_status, "exit_status", "the status that the process exited with"},
    AboutField{&Event::signal, "signal", "the signal that killed it"},
    AboutField{&Event::verb, "verb",
               "the command: acquire, extend, hand-over, pass-on, look, delete, index or stream; "
               "of `wire` the server's name of it; of `granted` pass-on, if a release of another "
               "process gave the lock to an entry of its queue; of `call` the public function"},
    AboutField{&Event::fault, "fault", "the kind of the fault"},
    AboutField{&Event::begins, "begins", "it lasts from here"},
    AboutField{&Event::ends, "ends", "it lasted until here"},
    AboutField{&Event::amount, "amount", "how large the fault is, in the unit of its kind"},
    AboutField{&Event::suspended, "suspended", "with its machine, and its clocks too"},
    AboutField{&Event::healed, "healed", "the call was made when all faults were over"},
    AboutField{&Event::leads, "leads", "its calls stand for election"},
    AboutField{&Event::lock, "lock", "which lock was run"},
    AboutField{&Event::live, "live", "in the live world; else in the virtual one"},
    AboutField{&Event::seed, "seed", "the seed of the plan", kBig},
    AboutField{&Event::lateness_ns, "lateness_ns", "how late a process that runs may be"},
    AboutField{&Event::truth_lag_ns, "truth_lag_ns", "how late the truth is read at most"},
    AboutField{&Event::ttl_period_ms, "ttl_period_ms",
               "the TTL monitor's period; 0: what the world allows is not said"},
    AboutField{&Event::fault_echo_ms, "fault_echo_ms",
               "how long after a fault servers and clients may not know of it"},
    AboutField{&Event::clock_drift_ppm, "clock_drift_ppm",
               "how much the process's clock runs fast; 0: not said"},
    AboutField{&Event::workers, "workers",
               "how many of the process's commands may be under way at once; 0: not said"},
    AboutField{&Event::expiry_ms, "expiry_ms", "LockOptions::expiry"},
    AboutField{&Event::clock_margin_ms, "clock_margin_ms", "LockOptions::clock_margin"},
    AboutField{&Event::longest_pause_ms, "longest_pause_ms",
               "the longest pause between two attempts"},
    AboutField{&Event::operation_timeout_ms, "operation_timeout_ms",
               "the longest that one command takes"},
    AboutField{&Event::max_holding_ms, "max_holding_ms", "LockOptions::max_holding; 0: no limit"},
    AboutField{&Event::holdings_in_a_row, "holdings_in_a_row",
               "how often in a row its process may have the lock by handing it on; 0: not known"},
    AboutField{&Event::max_drift_ppm, "max_drift_ppm", "LockOptions::max_drift"},
    AboutField{&Event::message, "message", "what was said of it, for people"},
};

/// A field, by its place in `kAboutFields`.
enum class Field : std::uint8_t {};
using FieldSet = EnumSet<Field>;

/// `field(&Event::session)`. A member without a row does not compile.
template <typename T>
consteval Field field(T Event::*member) {
  for (std::size_t i = 0; i < kAboutFields.size(); ++i) {
    const auto* same = std::get_if<T Event::*>(&kAboutFields[i].member);
    if (same != nullptr && *same == member) return static_cast<Field>(i);
  }
  throw "kAboutFields has no row of this member";
}
template <typename... T>
consteval FieldSet fields(T Event::*... members) {
  return {field(members)...};
}
[[nodiscard]] constexpr const AboutField& about(Field field) {
  return kAboutFields[static_cast<std::size_t>(field)];
}
[[nodiscard]] constexpr const char* to_string(Field field) { return about(field).name; }

struct AboutKind {
  Kind kind;
  const char* name;
  const char* meaning;
  FieldSet fields;
};

namespace about_kinds {
using E = Event;
/// In the order of the enumerators.
inline constexpr std::array kAll{
    AboutKind{Kind::run,
              "run",
              "the first line: what was run, and what its world allows",
              fields(&E::lock, &E::live, &E::seed, &E::lateness_ns, &E::truth_lag_ns,
                     &E::ttl_period_ms, &E::fault_echo_ms)},
    AboutKind{Kind::start,
              "start",
              "a process began",
              fields(&E::process, &E::clock_drift_ppm, &E::workers, &E::leads)},
    AboutKind{Kind::crash,
              "crash",
              "it was killed: it holds nothing from here on",
              fields(&E::process, &E::from_ns)},
    AboutKind{Kind::exit,
              "exit",
              "a process, or the member `victim`, ended unasked: `outcome` = crashed (by a signal "
              "of its own), exited, did not end (and was stopped), killed (by somebody else) or "
              "ended at its start; `message` has its last words",
              fields(&E::process, &E::victim, &E::outcome, &E::exit_status, &E::signal,
                     &E::message)},
    AboutKind{Kind::pause, "pause", "it was stopped ...", fields(&E::process, &E::suspended)},
    AboutKind{Kind::resume, "resume", "... and goes on", fields(&E::process, &E::suspended)},
    AboutKind{Kind::stall,
              "stall",
              "the process, by its own watchdog, or the machine or member `victim`, by the "
              "harness's, did not run",
              fields(&E::process, &E::victim, &E::from_ns)},
    AboutKind{Kind::congestion,
              "congestion",
              "what the process had to send waited, from here on or until here, because all its "
              "workers were taken",
              fields(&E::process, &E::begins, &E::ends)},
    AboutKind{Kind::no_majority,
              "no-majority",
              "until then no majority had what the newest primary had written, or there was no "
              "primary",
              fields(&E::from_ns)},
    AboutKind{Kind::slow,
              "slow",
              "until then a command of the process was under way to the member `victim`, and no "
              "answer came: servers or links kept it",
              fields(&E::process, &E::victim, &E::from_ns)},
    AboutKind{Kind::fault,
              "fault",
              "the harness did something to servers or links; `lock_id`: what an administrator "
              "writes into the lock `victim`, perhaps",
              fields(&E::victim, &E::fault, &E::begins, &E::ends, &E::amount, &E::lock_id)},
    AboutKind{Kind::heal, "heal", "no fault begins after this", fields()},
    AboutKind{Kind::finish, "finish", "no process acts after this", fields()},
    AboutKind{
        Kind::ask,
        "ask",
        "an acquire call, with its options",
        fields(&E::process, &E::session, &E::name, &E::give_up_ns, &E::single_attempt, &E::healed,
               &E::expiry_ms, &E::clock_margin_ms, &E::longest_pause_ms, &E::operation_timeout_ms,
               &E::max_holding_ms, &E::holdings_in_a_row, &E::max_drift_ppm)},
    AboutKind{Kind::send,
              "send",
              "a command; one event for each lock in it",
              fields(&E::process, &E::session, &E::command, &E::name, &E::owner, &E::giver,
                     &E::also_owner, &E::lock_id, &E::observed_lock_id, &E::verb)},
    AboutKind{
        Kind::reply,
        "reply",
        "what came back, one event a command: `outcome` = done, unknown, failed_before, "
        "duplicate_key or configuration",
        fields(&E::process, &E::command, &E::owner, &E::giver, &E::also_owner, &E::seen_lock_id,
               &E::order, &E::outcome, &E::matched, &E::verb)},
    AboutKind{Kind::granted,
              "granted",
              "the command with this `lock_id` won",
              fields(&E::process, &E::session, &E::name, &E::owner, &E::lock_id, &E::token,
                     &E::sent_ns, &E::deadline_ns, &E::verb)},
    AboutKind{Kind::extended,
              "extended",
              "a new deadline",
              fields(&E::process, &E::session, &E::name, &E::lock_id, &E::sent_ns,
                     &E::deadline_ns)},
    AboutKind{Kind::lost,
              "lost",
              "`outcome` = deadline, not_owner or max_holding",
              fields(&E::process, &E::session, &E::name, &E::outcome)},
    AboutKind{
        Kind::held,
        "held",
        "what `held()` answered the handle's user, equal answers in a row: `outcome` = yes "
        "or no. Of yes the first answer and the last question are reported, of no the first of "
        "both",
        fields(&E::process, &E::session, &E::name, &E::deadline_ns, &E::outcome, &E::count,
               &E::first_asked_ns, &E::first_answered_ns, &E::last_asked_ns)},
    AboutKind{Kind::notified,
              "notified",
              "the handle's `lost()` fired: stamped inside the user's callback",
              fields(&E::process, &E::session, &E::name, &E::sent_ns)},
    AboutKind{Kind::release,
              "release",
              "the handle was asked to release: held() turned false just before",
              fields(&E::process, &E::session, &E::name)},
    AboutKind{Kind::released,
              "released",
              "`outcome` = released, not_owner or unknown",
              fields(&E::process, &E::session, &E::name, &E::outcome)},
    AboutKind{Kind::ended,
              "ended",
              "the acquire call ended without the lock: `outcome` is the error's kind",
              fields(&E::process, &E::session, &E::name, &E::outcome, &E::message)},
    AboutKind{Kind::permit,
              "permit",
              "a call for one of the `count` permits of the semaphore `name`, whose slots are the "
              "locks `name`#0, `name`#1 ...: the acquire calls of its process for them are its own",
              fields(&E::process, &E::call, &E::name, &E::count, &E::give_up_ns,
                     &E::single_attempt, &E::healed, &E::expiry_ms, &E::longest_pause_ms,
                     &E::operation_timeout_ms, &E::max_drift_ppm)},
    AboutKind{Kind::permit_end,
              "permit-end",
              "its answer: `outcome` = granted, and `name` is the slot's lock, or the error's kind",
              fields(&E::process, &E::call, &E::name, &E::outcome)},
    AboutKind{Kind::all,
              "all",
              "of each of the `count` locks for which one call asks at once, by acquire_all",
              fields(&E::process, &E::call, &E::name, &E::count, &E::give_up_ns,
                     &E::single_attempt, &E::healed, &E::expiry_ms, &E::longest_pause_ms,
                     &E::operation_timeout_ms, &E::max_holding_ms, &E::max_drift_ppm)},
    AboutKind{Kind::all_end,
              "all-end",
              "its answer, of each: `outcome` = granted, with this token, or the error's kind",
              fields(&E::process, &E::call, &E::name, &E::token, &E::outcome)},
    AboutKind{Kind::call,
              "call",
              "a user calls `verb` of the public interface: try_acquire, acquire_async, release, "
              "release_async or ensure; `session`: of the handle",
              fields(&E::process, &E::session, &E::call, &E::name, &E::give_up_ns,
                     &E::single_attempt, &E::verb)},
    AboutKind{Kind::returned,
              "return",
              "it returned, or called back: `outcome` = granted (with the handle's `session` and "
              "token) or the error's kind, what the release found, yes or no",
              fields(&E::process, &E::session, &E::call, &E::name, &E::token, &E::from_ns,
                     &E::deadline_ns, &E::outcome)},
    AboutKind{Kind::write,
              "write",
              "to the fenced resource, until the event: `outcome` = accepted, refused or unknown",
              fields(&E::process, &E::session, &E::write_number, &E::name, &E::token, &E::sent_ns,
                     &E::outcome)},
    AboutKind{Kind::wire,
              "wire",
              "how many of one command the driver sent in this process's life",
              fields(&E::process, &E::verb, &E::count)},
    AboutKind{Kind::put,
              "put",
              "server's truth: the lock document after a write; of a lock that is not ours "
              "by the fields that its author named",
              fields(&E::name, &E::lock_id, &E::order, &E::owner, &E::stored_token,
                     &E::acquired_at_ms, &E::expires_at_ms, &E::from_ns, &E::wall_ms)},
    AboutKind{Kind::gone,
              "gone",
              "server's truth: the lock document was deleted; of a lock that is not ours, or "
              "written as a free one",
              fields(&E::name, &E::order, &E::owner, &E::from_ns, &E::wall_ms)},
    AboutKind{
        Kind::place,
        "place",
        "server's truth: a waiting call joined the lock's queue, at the place `count`, or left it "
        "(no `count`), served or not; `lock_id` is the entry's, as it was renewed last",
        fields(&E::name, &E::lock_id, &E::order, &E::count, &E::matched, &E::expires_at_ms)},
    AboutKind{Kind::reread,
              "reread",
              "the oplog once more, at the end: `outcome` = kept (`count` entries), vanished (one "
              "that a majority had) or unread (`message` says why)",
              fields(&E::outcome, &E::count, &E::order, &E::message)},
    AboutKind{Kind::stored,
              "stored",
              "server's truth: an accepted write to the fenced resource",
              fields(&E::process, &E::write_number, &E::name, &E::owner, &E::token, &E::order)},
    AboutKind{
        Kind::protocol,
        "protocol",
        "a worker of another lock broke the protocol of scenarios/WORKERS.md, and was ended: "
        "`outcome` = line, ended or hang, or never_ready if it never was; `message` says what was "
        "wrong",
        fields(&E::process, &E::outcome, &E::message)},
};
}  // namespace about_kinds

[[nodiscard]] constexpr const AboutKind& about(Kind kind) {
  return about_kinds::kAll[static_cast<std::size_t>(kind)];
}
[[nodiscard]] constexpr const char* to_string(Kind kind) { return about(kind).name; }

}  // namespace leasehold::model

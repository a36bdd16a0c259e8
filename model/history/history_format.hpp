#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <tuple>

#include "model/containers/enum_set.hpp"

/// The format of a history, in two tables: what an event may say beside its time and kind, and what
/// of that each kind has. The JSON, its schema, the check of the form and the page in
/// model/README.md follow them.
namespace leasehold::model {

/// The fields, in the order of the JSON. A field of `_ns` that names a time is of the harness's
/// clock.
#define LEASEHOLD_FIELDS(FIELD)                                                                   \
  FIELD(text, process, "a process; a restarted one has another name")                             \
  FIELD(number, session, "an acquire call and the lock that it won; of a hand-over the one that " \
       "receives")                                                                                \
  FIELD(number, command, "the number of a command, in its process")                               \
  FIELD(number, call, "the number of a user's call, in its process")                              \
  FIELD(number, write_number, "the number of a write to the resource, in its process")            \
  FIELD(text, name, "the name of the lock")                                                       \
  FIELD(text, victim, "the process, member, link or lock that it hit; of a stall also the "       \
       "machine")                                                                                 \
  FIELD(text, owner, "the owner that the command or grant is for, or the one that the document "  \
       "names")                                                                                   \
  FIELD(text, giver, "of a hand-over: the owner that gives")                                      \
  FIELD(text, also_owner, "of a delete: another owner whose document goes as well")               \
  FIELD(text, lock_id, "the lockId that the command writes, or wrote")                            \
  FIELD(text, seen_lock_id, "the lockId of the holder that the reply shows")                      \
  FIELD(text, observed_lock_id, "of an attempt: the lockId of the holder that it presumes dead")  \
  FIELD(digits, token, "the fencing token")                                                       \
  FIELD(digits, order, "the oplog time of the write")                                             \
  FIELD(digits, stored_token, "the document's fencingToken after the write")                      \
  FIELD(number, acquired_at_ms, "the document's acquiredAt after the write: a server's date, in " \
       "ms since 1970")                                                                           \
  FIELD(number, expires_at_ms, "the date on which it says that it expires, in ms since 1970; of " \
       "a foreign lock, too; of a place until when the entry was good")                           \
  FIELD(number, from_ns, "since when it did not run, there was no majority or a command had no "  \
       "answer, until the event; a document was written then or later; of `return` and `crash` "  \
       "since when other functions of the user kept the thread that calls back")                  \
  FIELD(number, wall_ms, "the primary's date of the write, in ms since 1970; 0: not said")        \
  FIELD(number, sent_ns, "when the command or write was sent; of a worker's answer: it was said " \
       "then or later")                                                                           \
  FIELD(number, deadline_ns, "the deadline that the holder has from it; of `held` until when "    \
       "`remaining()` said that it is held, if none before said so long; of `return` until when " \
       "`ensure()` was asked to keep it held, from then on")                                      \
  FIELD(number, give_up_ns, "when the call times out; 0: never")                                  \
  FIELD(flag, single_attempt, "the call makes one attempt, and ends")                             \
  FIELD(flag, shared, "of a call or grant: it shares the lock, as its lockIds say; of `write`, "  \
       "`stored`: it read")                                                                       \
  FIELD(number, first_asked_ns, "the first question was asked then or later (stamped before it)") \
  FIELD(number, first_answered_ns, "the first answer had come by then (stamped after it)")        \
  FIELD(number, last_asked_ns, "the last question was asked then or later (stamped before it)")   \
  FIELD(text, outcome, "what came of it, in the words of its kind")                               \
  FIELD(number, matched, "how many documents it found; of what asks for the lock 1 if the one "   \
       "seen is its own; of a queue how many stand in it then")                                   \
  FIELD(number, count, "how many: answers, commands, entries or locks; of a call that "           \
       "joins a queue its place, 1 is the first")                                                 \
  FIELD(number, exit_status, "the status that the process exited with")                           \
  FIELD(number, signal, "the signal that killed it")                                              \
  FIELD(text, verb, "the command: acquire, extend, hand-over, pass-on, look, delete, index or "   \
       "stream; of `wire` the server's name of it; of `granted` pass-on, if a release of "        \
       "another process gave the lock to an entry of its queue; of `call` the public function")   \
  FIELD(text, fault, "the kind of the fault")                                                     \
  FIELD(flag, begins, "it lasts from here")                                                       \
  FIELD(flag, ends, "it lasted until here")                                                       \
  FIELD(number, amount, "how large the fault is, in the unit of its kind")                        \
  FIELD(flag, suspended, "with its machine, and its clocks too")                                  \
  FIELD(flag, healed, "the call was made when all faults were over")                              \
  FIELD(flag, leads, "its calls stand for election")                                              \
  FIELD(text, lock, "which lock was run")                                                         \
  FIELD(flag, live, "in the live world; else in the virtual one")                                 \
  FIELD(natural, seed, "the seed of the plan")                                                    \
  FIELD(number, lateness_ns, "how late a process that runs may be")                               \
  FIELD(number, truth_lag_ns, "how late the truth is read at most")                               \
  FIELD(number, ttl_period_ms, "the TTL monitor's period; 0: what the world allows is not said")  \
  FIELD(number, fault_echo_ms, "how long after a fault servers and clients may not know of it")   \
  FIELD(number, stream_lag_ms, "how late change streams report")                                  \
  FIELD(number, clock_drift_ppm, "how much the process's clock runs fast; 0: not said")           \
  FIELD(number, workers, "how many of the process's commands may be under way at once; 0: not "   \
       "said")                                                                                    \
  FIELD(number, expiry_ms, "LockOptions::expiry")                                                 \
  FIELD(number, clock_margin_ms, "LockOptions::clock_margin")                                     \
  FIELD(number, longest_pause_ms, "the longest pause between two attempts")                       \
  FIELD(number, operation_timeout_ms, "the longest that one command takes")                       \
  FIELD(number, max_holding_ms, "LockOptions::max_holding; 0: no limit")                          \
  FIELD(number, holdings_in_a_row, "how often in a row its process may have the lock by handing " \
       "it on; 0: not known")                                                                     \
  FIELD(number, max_drift_ppm, "LockOptions::max_drift")                                          \
  FIELD(text, message, "what was said of it, for people")

/// The kinds, each with its name in the JSON and its fields.
#define LEASEHOLD_KINDS(KIND)                                                                     \
  KIND(run, "run", "the first line: what was run, and what its world allows", lock, live, seed,   \
       lateness_ns, truth_lag_ns, ttl_period_ms, fault_echo_ms, stream_lag_ms)                    \
  KIND(start, "start", "a process began", process, clock_drift_ppm, workers, leads)               \
  KIND(crash, "crash", "it was killed: it holds nothing from here on", process, from_ns)          \
  KIND(exit, "exit", "a process, or the member `victim`, ended unasked: `outcome` = crashed (by " \
       "a signal of its own), exited, did not end (and was stopped), killed (by somebody else) "  \
       "or ended at its start; `message` has its last words", process, victim, outcome,           \
       exit_status, signal, message)                                                              \
  KIND(pause, "pause", "it was stopped ...", process, suspended)                                  \
  KIND(resume, "resume", "... and goes on", process, suspended)                                   \
  KIND(stall, "stall", "the process, by its own watchdog, or the machine or member `victim`, by " \
       "the harness's, did not run", process, victim, from_ns)                                    \
  KIND(congestion, "congestion", "what the process had to send waited, from here on or until "    \
       "here, because all its workers were taken", process, begins, ends)                         \
  KIND(no_majority, "no-majority", "until then no majority had what the newest primary had "      \
       "written, or there was no primary", from_ns)                                               \
  KIND(slow, "slow", "until then a command of the process was under way to the member `victim`, " \
       "and no answer came: servers or links kept it, or its driver, to no member", process,      \
       victim, from_ns)                                                                           \
  KIND(fault, "fault", "the harness did something to servers or links; `lock_id`: what an "       \
       "administrator writes into the lock `victim`, perhaps", victim, fault, begins, ends,       \
       amount, lock_id)                                                                           \
  KIND(heal, "heal", "no fault begins after this")                                                \
  KIND(finish, "finish", "no process acts after this")                                            \
  KIND(ask, "ask", "an acquire call, with its options", process, session, name, give_up_ns,       \
       single_attempt, shared, healed, expiry_ms, clock_margin_ms, longest_pause_ms,              \
       operation_timeout_ms, max_holding_ms, holdings_in_a_row, max_drift_ppm)                    \
  KIND(send, "send", "a command; one event for each lock in it", process, session, command, name, \
       owner, giver, also_owner, lock_id, observed_lock_id, verb)                                 \
  KIND(reply, "reply", "what came back, one event a command: `outcome` = done, unknown, "         \
       "failed_before, duplicate_key or configuration", process, command, owner, giver,           \
       also_owner, seen_lock_id, order, outcome, matched, verb)                                   \
  KIND(granted, "granted", "the command with this `lock_id` won", process, session, name, owner,  \
       lock_id, token, sent_ns, deadline_ns, verb, shared)                                        \
  KIND(extended, "extended", "a new deadline", process, session, name, lock_id, sent_ns,          \
       deadline_ns)                                                                               \
  KIND(lost, "lost", "`outcome` = deadline, not_owner or max_holding", process, session, name,    \
       outcome)                                                                                   \
  KIND(held, "held", "what `held()` answered the handle's user, equal answers in a row: "         \
       "`outcome` = yes or no. Of yes the first answer and the last question are reported, of "   \
       "no the first of both", process, session, name, deadline_ns, outcome, count,               \
       first_asked_ns, first_answered_ns, last_asked_ns)                                          \
  KIND(notified, "notified", "the handle's `lost()` fired: stamped inside the user's callback",   \
       process, session, name, sent_ns)                                                           \
  KIND(release, "release", "the handle was asked to release: held() turned false just before",    \
       process, session, name)                                                                    \
  KIND(released, "released", "`outcome` = released, not_owner or unknown", process, session,      \
       name, outcome)                                                                             \
  KIND(ended, "ended", "the acquire call ended without the lock: `outcome` is the error's kind",  \
       process, session, name, outcome, message)                                                  \
  KIND(all, "all", "of each of the `count` locks for which one call asks at once, by "            \
       "acquire_all", process, call, name, count, give_up_ns, single_attempt, healed, expiry_ms,  \
       longest_pause_ms, operation_timeout_ms, max_holding_ms, max_drift_ppm)                     \
  KIND(all_end, "all-end", "its answer, of each: `outcome` = granted, with this token, or the "   \
       "error's kind", process, call, name, token, outcome)                                       \
  KIND(call, "call", "a user calls `verb` of the public interface: try_acquire, acquire_async, "  \
       "release, release_async, downgrade or ensure; `session`: of the handle", process, session, \
       call, name, give_up_ns, single_attempt, verb, shared)                                      \
  KIND(returned, "return", "it returned, or called back: `outcome` = granted (with the handle's " \
       "`session` and token) or the error's kind, what the release found, yes or no", process,    \
       session, call, name, token, from_ns, deadline_ns, outcome)                                 \
  KIND(write, "write", "to the fenced resource, until the event: `outcome` = accepted, refused "  \
       "or unknown", process, session, write_number, name, token, sent_ns, outcome, shared)       \
  KIND(wire, "wire", "how many of one command the driver sent in this process's life", process,   \
       verb, count)                                                                               \
  KIND(put, "put", "server's truth: the lock document after a write, `lock_id` without its "      \
       "queue; of a lock that is not ours by the fields that its author named", name, lock_id,    \
       order, owner, stored_token, acquired_at_ms, expires_at_ms, from_ns, wall_ms)               \
  KIND(gone, "gone", "server's truth: the lock document was deleted; of a lock that is not "      \
       "ours, or written as a free one", name, order, owner, from_ns, wall_ms)                    \
  KIND(place, "place", "server's truth: a waiting call joined the lock's queue, at the place "    \
       "`count`, or left it (no `count`), served or not; `lock_id` is the entry's, as it was "    \
       "renewed last", name, lock_id, order, count, matched, expires_at_ms)                       \
  KIND(reread, "reread", "the oplog once more, at the end: `outcome` = kept (`count` entries), "  \
       "vanished (one that a majority had) or unread (`message` says why)", outcome, count,       \
       order, message)                                                                            \
  KIND(stored, "stored", "server's truth: an accepted write to the fenced resource", process,     \
       write_number, name, owner, token, order, shared)                                           \
  KIND(protocol, "protocol", "a worker of another lock broke the protocol of "                    \
       "scenarios/WORKERS.md, and was ended: `outcome` = line, ended or hang, or never_ready if " \
       "it never was; `message` says what was wrong", process, outcome, message)

/// `natural` numbers have no sign. They and `digits` may be beyond 2^53: the JSON has them as text.
enum class FieldType : std::uint8_t { text, number, digits, natural, flag };
template <FieldType type>
using Stored = std::tuple_element_t<
    static_cast<std::size_t>(type),
    std::tuple<std::string, std::int64_t, std::int64_t, std::uint64_t, bool>>;

#define ENUMERATOR_OF_FIELD(type, name, meaning) name,
enum class Field : std::uint8_t { LEASEHOLD_FIELDS(ENUMERATOR_OF_FIELD) };
#define ENUMERATOR_OF_KIND(kind, ...) kind,
enum class Kind : std::uint8_t { LEASEHOLD_KINDS(ENUMERATOR_OF_KIND) };
using FieldSet = EnumSet<Field>;

/// One event. The fields that its kind has not (`about`) are at their default, and those are not in
/// the JSON.
struct Event {
  std::int64_t at_ns = 0;
  Kind kind = Kind::run;
#define MEMBER(type, name, meaning) Stored<FieldType::type> name{};
  LEASEHOLD_FIELDS(MEMBER)

  bool operator==(const Event&) const = default;
};

/// Calls `use` with each field and its value.
template <typename EventType, typename Use>
void each_field(EventType& event, Use use) {
#define USE(type, name, meaning) use(Field::name, event.name);
  LEASEHOLD_FIELDS(USE)
}

struct AboutField {
  const char* name;
  FieldType type;
  const char* meaning;
};
#define ROW_OF_FIELD(type, name, meaning) AboutField{#name, FieldType::type, meaning},
inline constexpr std::array kAboutFields{LEASEHOLD_FIELDS(ROW_OF_FIELD)};

struct AboutKind {
  Kind kind;
  const char* name;
  const char* meaning;
  FieldSet fields;
};
namespace about_kinds {
using enum Field;
#define ROW_OF_KIND(kind, name, meaning, ...) AboutKind{Kind::kind, name, meaning, {__VA_ARGS__}},
inline constexpr std::array kAll{LEASEHOLD_KINDS(ROW_OF_KIND)};
}  // namespace about_kinds

[[nodiscard]] constexpr const AboutField& about(Field field) {
  return kAboutFields[static_cast<std::size_t>(field)];
}
[[nodiscard]] constexpr const AboutKind& about(Kind kind) {
  return about_kinds::kAll[static_cast<std::size_t>(kind)];
}
[[nodiscard]] constexpr const char* to_string(Field field) { return about(field).name; }
[[nodiscard]] constexpr const char* to_string(Kind kind) { return about(kind).name; }

}  // namespace leasehold::model

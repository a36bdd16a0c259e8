#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

/// What happened in a run, whichever world it ran in: one event a line, as JSON (JSON Lines).
///
/// Time: `at_ns` is the harness's one monotonic clock. Events of processes carry their own reading
/// of it; dates of servers are never compared with it. Order: by `at_ns`; the server's truth, which
/// has no such time, by `order` and in the place where the harness read it.
/// Numbers beyond 2^53 (tokens, orders) are decimal strings in JSON.
namespace leasehold::model {

enum class Kind {
  run,     ///< the first line: `detail` names lock and world, `lock_id` the seed; what its world
           ///< allows: `expiry_ms` the TTL monitor's period (0: not said), `sent_ns` how late a
           ///< process that runs may be, `until_ns` how late the truth is read, `timeout_ms` how
           ///< long servers stay busy after a fault
  start,   ///< a process began. Its name is used once: a restarted process has another.
           ///< `drift_ppm` how much its clock runs fast; 0: not said
  crash,   ///< it was killed: it holds nothing from here on
  exit,    ///< it ended and nobody had asked it to: `outcome` = exited (with status `matched`),
           ///< killed by signal N, or did not end (and was stopped); `detail` its last words. A
           ///< member has `name` instead
  pause,   ///< it was stopped (`detail` suspend: with its machine, and its clocks too) ...
  resume,  ///< ... and goes on
  stall,   ///< it did not run between `sent_ns` and `at_ns`, by its own watchdog; of no process:
           ///< the machine or the member in `name` did not, by the harness's
  fault,   ///< the harness did something to servers or links: `detail` says what, `name` to
           ///< whom, `matched` how much, `outcome` begins or ends if it lasts
  heal,    ///< no fault begins after this
  finish,  ///< no process acts after this
  ask,     ///< an acquire call: `until_ns` its time-out (0: one attempt; -1: none), its options;
           ///< `matched` the longest holding in ms, 0: no limit
  send,    ///< a command: `detail` = acquire, extend, hand-over, look, delete or index; one event
           ///< per lock. `session` of a hand-over is who receives
  reply,   ///< what came back: `outcome`, `matched`, `order`; one event per command. To an
          ///< acquire or hand-over: `lock_id` is the holder seen, `matched` 1 if it is the one sent
  granted,   ///< `token`, `lock_id` of the command that won, `sent_ns`, `until_ns` the deadline
  extended,  ///< `sent_ns`, `until_ns` the new deadline
  lost,      ///< `outcome` = deadline or not_owner
  held,  ///< what `held()` answered the handle's user, `matched` questions of one answer in a row.
         ///< `outcome` = yes: one came back by `sent_ns` (stamped after it), one was asked at
         ///< `until_ns` or later (stamped before it). no: the first was asked at `sent_ns` or
         ///< later, and came back by `until_ns`. A session may have several of yes
  notified,  ///< the handle's `lost()` fired: stamped inside the user's callback
  release,   ///< the handle was asked to release: held() turned false just before
  released,  ///< `outcome` = released, not_owner or unknown
  ended,     ///< the acquire call ended without the lock: `outcome` is the error's kind
  write,     ///< to the fenced resource, from `sent_ns` to `at_ns`: `outcome` = accepted, refused
             ///< or unknown
  wire,      ///< commands the driver sent in this process's life: `detail` the name, `matched` how
             ///< many
  put,       ///< server's truth: the lock document after a write, `order` its oplog time
  gone,      ///< server's truth: the lock document was deleted
  reread,    ///< the oplog once more, at the end: `outcome` = kept (`matched` entries), vanished
             ///< (one that a majority had, of `order`), or unread (`detail` says why)
  stored,    ///< server's truth: an accepted write to the fenced resource, by `owner`
};

[[nodiscard]] const char* to_string(Kind kind);

/// One event. Which fields mean something is said at its kind; the rest are at their default, and
/// not in the JSON.
struct Event {
  std::int64_t at_ns = 0;
  Kind kind = Kind::run;
  std::string process;
  std::int64_t session = 0;
  std::int64_t command = 0;
  std::string name;
  std::string owner;
  std::string other_owner;  ///< of a hand-over who gives; of a delete whose goes as well
  std::string lock_id;
  std::int64_t token = 0;
  std::int64_t order = 0;
  std::int64_t sent_ns = 0;
  std::int64_t until_ns = 0;
  std::string outcome;
  std::int64_t matched = 0;
  std::int64_t expiry_ms = 0;
  std::int64_t margin_ms = 0;
  std::int64_t poll_ms = 0;     ///< the longest pause between two attempts
  std::int64_t timeout_ms = 0;  ///< the longest that one command takes
  std::int64_t drift_ppm = 0;
  std::string detail;

  bool operator==(const Event&) const = default;
};

using History = std::vector<Event>;

/// One line, without its end.
[[nodiscard]] std::string to_json(const Event& event);

/// Throws std::runtime_error that says what is wrong with the line.
[[nodiscard]] Event event_from_json(const std::string& line);

void write(std::ostream& out, const History& history);

/// Throws std::runtime_error that names the line.
[[nodiscard]] History read(std::istream& in);

/// Sorts by time; events of one instant keep their order.
void sort_by_time(History& history);

/// Whether this send or reply is of a command that asks for the lock for its session: an attempt,
/// or a hand-over to it.
[[nodiscard]] bool asks_for_lock(const Event& event);

/// An `exit` in words: "p0.1 exited with status 3 although the harness had not stopped it".
[[nodiscard]] std::string describe_exit(const Event& event);

/// Who ended unasked, or not when asked, with its last words; empty: nobody. Such a run says
/// nothing of the lock.
[[nodiscard]] std::string harness_failure(const History& history);

/// The owner in a lockId of ours: what stands before the first dot.
[[nodiscard]] std::string owner_of(const std::string& lock_id);

}  // namespace leasehold::model

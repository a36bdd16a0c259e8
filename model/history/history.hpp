#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "model/containers/rare_text.hpp"
#include "model/history/history_format.hpp"

/// What happened in a run, live or virtual: one event a line, as JSON (JSON Lines).
///
/// Time: `at_ns` is the harness's one monotonic clock. Events of processes carry their own reading
/// of it; dates of servers are never compared with it. Order: by `at_ns`; the server's truth, which
/// has no such time, by `order` and in the place where the harness read it.
/// Numbers beyond 2^53 (tokens, orders, seeds) are decimal strings in JSON.
namespace leasehold::model {

/// The victim of a stall of the harness's machine, not of a member.
inline constexpr const char* kMachine = "machine";

/// One event. The fields that its kind has not (`about`) are at their default, and those are not in
/// the JSON.
struct Event {
  std::int64_t at_ns = 0;
  Kind kind = Kind::run;

  std::string process;
  std::int64_t session = 0;
  std::int64_t command = 0;
  std::int64_t write_number = 0;
  std::string name;
  RareText victim;
  std::string owner;
  RareText giver;
  RareText also_owner;
  std::string lock_id;
  RareText seen_lock_id;
  RareText observed_lock_id;
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

  RareText fault;
  bool begins = false;
  bool ends = false;
  std::int64_t amount = 0;
  bool suspended = false;
  bool healed = false;

  RareText lock;
  bool live = false;
  std::uint64_t seed = 0;
  std::int64_t lateness_ns = 0;
  std::int64_t truth_lag_ns = 0;
  std::int64_t ttl_period_ms = 0;
  std::int64_t fault_echo_ms = 0;

  std::int64_t clock_drift_ppm = 0;
  std::int64_t expiry_ms = 0;
  std::int64_t clock_margin_ms = 0;
  std::int64_t longest_pause_ms = 0;
  std::int64_t operation_timeout_ms = 0;
  std::int64_t max_holding_ms = 0;
  std::int64_t max_drift_ppm = 0;
  RareText message;

  bool operator==(const Event&) const = default;
};

/// Those that are not at their default.
[[nodiscard]] FieldSet fields_set(const Event& event);

/// Whether one of them is a field that its kind has not.
[[nodiscard]] bool has_stray_field(const Event& event);

/// How a field stands in the JSON.
enum class FieldType : std::uint8_t { text, number, digits, flag };
[[nodiscard]] FieldType type_of(Field field);

/// The JSON Schema of one line, for programs that write histories of their own:
/// scenarios/history.schema.json.
[[nodiscard]] std::string history_schema();

/// The same event as one of another kind: the fields that this kind has not are left out.
[[nodiscard]] Event as_kind(Kind kind, Event event);

using History = std::vector<Event>;

/// One line, without its end.
[[nodiscard]] std::string to_json(const Event& event);

/// Throws std::runtime_error that says what is wrong with the line, such as a field that the kind
/// has not.
[[nodiscard]] Event event_from_json(const std::string& line);

void write(std::ostream& out, const History& history);

/// Throws std::runtime_error that names the line.
[[nodiscard]] History read(std::istream& in);

/// Sorts by time; events of one instant keep their order.
void sort_by_time(History& history);

/// Whether this send or reply is of a command that asks for the lock for its session: an attempt,
/// or a hand-over to it.
[[nodiscard]] bool asks_for_lock(const Event& event);

/// Whether this send or reply is of a command by which owners leave the lock: a delete, or a
/// release that passes it on.
[[nodiscard]] bool leaves_lock(const Event& event);

/// An `exit` in words: "p0.1 exited with status 3 although the harness had not stopped it".
[[nodiscard]] std::string describe_exit(const Event& event);

/// The process that ended unasked, or did not end when asked, with its last words; empty: none. A
/// run with such a process says nothing of the lock.
[[nodiscard]] std::string harness_failure(const History& history);

/// The owner in a lockId of ours: what stands before the first dot.
[[nodiscard]] std::string owner_of(const std::string& lock_id);

}  // namespace leasehold::model

#pragma once

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

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

/// Those that are not at their default.
[[nodiscard]] FieldSet fields_set(const Event& event);

/// The JSON Schema of one line, for programs that write histories of their own:
/// scenarios/history.schema.json.
[[nodiscard]] std::string history_schema();

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

[[nodiscard]] constexpr bool is_users_call(Kind kind) {
  return kind == Kind::call || kind == Kind::returned;
}
/// Whether this send or reply is of a command that asks for the lock for its session: an attempt,
/// or a hand-over to it.
[[nodiscard]] bool asks_for_lock(const Event& event);

/// An `exit` in words: "p0.1 exited with status 3 although the harness had not stopped it".
[[nodiscard]] std::string describe_exit(const Event& event);

/// Whether the process of an `exit` ended by what it did, not by what was done to it: it crashed or
/// exited unasked, or did not end when asked.
[[nodiscard]] bool died_of_itself(const Event& exit);

/// The member that died, or the process that somebody else killed or that could not start, with its
/// last words; empty: none. A run with one says nothing of the lock.
[[nodiscard]] std::string harness_failure(const History& history);

/// The owner in a lockId of ours: what precedes the first dot.
[[nodiscard]] std::string owner_of(const std::string& lock_id);

/// The locks that the laboratory knows: ours, and the four published ones.
enum class Lock : std::uint8_t {
  leasehold,
  distributed_lock,
  document_level,
  insert_unique,
  set_on_insert
};

[[nodiscard]] std::string_view name_of(Lock lock);
[[nodiscard]] std::optional<Lock> lock_named(std::string_view name);
[[nodiscard]] const std::vector<Lock>& all_locks();

}  // namespace leasehold::model

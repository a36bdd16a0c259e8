#pragma once

#include <array>
#include <cstdint>
#include <istream>
#include <optional>
#include <string>
#include <vector>

#include "model/verdict/checkers.hpp"
#include "model/workers/promises.hpp"
#include "sim/live/system/mongo_client.hpp"
#include "sim/plan/plan.hpp"

/// What happened outside of the laboratory, read from the oplog and from logs.
namespace leasehold::properties {

/// What an application logged of a lock: scenarios/INCIDENTS.md.
inline constexpr std::array kLogWords{"asked",     "granted",  "refused",   "timed_out", "failed",
                                      "held",      "not_held", "lost",      "releasing", "released",
                                      "not_owner", "unknown",  "died"};
struct LogLine {
  std::int64_t at_ms = 0;  ///< since 1970, by the clock of its machine
  std::string process;
  std::string lock;  ///< empty if it died
  std::string call;  ///< which of the process's calls for this lock; empty: not said
  std::string is = "asked";  ///< one of those words
  std::int64_t token = 0;                ///< 0: not said
  std::int64_t lease_ms = 0;             ///< 0: not said
  std::optional<std::int64_t> timeout_ms;  ///< 0: one attempt
};

/// Each line is a JSON object or words. Empty lines and lines that begin with `#` are left out, and
/// so is white space around a line.
/// Throws std::runtime_error that names the line, the value and the rule.
[[nodiscard]] std::vector<LogLine> read_log(std::istream& in);

/// "2026-11-24T20:00:00.123Z", with +01:00 for Z; or s, ms, us or ns since 1970, which a number's
/// size shows. Throws std::runtime_error.
[[nodiscard]] std::int64_t date_ms(const std::string& text);
[[nodiscard]] std::string date_text(std::int64_t since_1970_ms);

struct IncidentOptions {
  /// The largest error of a stamp in either direction: each verdict allows for it.
  std::int64_t clock_error_ms = 100;
  std::int64_t lease_ms = 30'000;  ///< where the log does not say
  /// The promises of the lock that wrote the documents, which `document` names.
  model::Promises promises;
  bool own_documents = true;  ///< they are those of the production lock
};

/// The production lock's promises that an incident can show.
[[nodiscard]] model::Promises own_incident_promises(const std::string& collection);

struct Incident {
  model::History history;
  std::int64_t began_ms = 0;   ///< since 1970: when the history's clock was 0
  model::Promises promises;    ///< as far as logs can show them
  std::vector<std::string> left_out;  ///< what is not checked, and why
};

/// `entries` are of the locks' collection, in the oplog's order, as extended JSON. Stamps are moved
/// apart by the clocks' error, so that findings hold wherever the true times are. Throws
/// std::runtime_error for entries that are none.
[[nodiscard]] Incident read_incident(const std::vector<sim::live::Json>& entries,
                                     std::vector<LogLine> log, const IncidentOptions& options);

/// Checks G1, G2 and G6, and G4 if it is promised and tokens are in the logs.
[[nodiscard]] std::vector<model::Finding> judge_incident(const Incident& incident);

/// A story that repeats it with `lock`: the calls around the first violation, else all. A holder
/// that stopped extending is stopped, or cut off if it went on writing its log.
[[nodiscard]] sim::Plan incident_plan(const Incident& incident,
                                      const std::vector<model::Finding>& findings,
                                      const IncidentOptions& options, const std::string& lock);

}  // namespace leasehold::properties

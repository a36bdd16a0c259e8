#pragma once

#include <cstdint>
#include <istream>
#include <optional>
#include <string>
#include <vector>

namespace leasehold::properties {

/// What an application logged of a lock: scenarios/INCIDENTS.md.
struct LogLine {
  enum class Is {
    asked,
    granted,
    refused,
    timed_out,
    failed,
    held,
    not_held,
    lost,
    releasing,
    released,
    not_owner,
    unknown,
    died,
  };
  std::int64_t at_ms = 0;  ///< since 1970, by the clock of its machine
  std::string process;
  std::string lock;  ///< empty if it died
  std::string call;  ///< which of the process's calls for this lock; empty: not said
  Is is = Is::asked;
  std::int64_t token = 0;                ///< 0: not said
  std::int64_t lease_ms = 0;             ///< likewise
  std::optional<std::int64_t> timeout_ms;  ///< 0: one attempt
};
[[nodiscard]] const char* to_string(LogLine::Is is);

/// Each line is a JSON object or words. Empty lines and lines that begin with `#` are left out, and
/// so is white space around a line.
/// Throws std::runtime_error that names the line, the value and the rule.
[[nodiscard]] std::vector<LogLine> read_log(std::istream& in);

/// The line as words.
[[nodiscard]] std::string to_text(const LogLine& line);

/// "2026-11-24T20:00:00.123Z", with +01:00 for Z; or s, ms, us or ns since 1970, which a number's
/// size shows. Throws std::runtime_error.
[[nodiscard]] std::int64_t date_ms(const std::string& text);
[[nodiscard]] std::string date_text(std::int64_t since_1970_ms);

}  // namespace leasehold::properties

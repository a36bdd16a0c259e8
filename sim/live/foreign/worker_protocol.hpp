#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

/// The lines that the laboratory and a worker of any lock exchange, one JSON object each; see
/// scenarios/WORKERS.md and scenarios/worker.schema.json.
namespace leasehold::sim::live {

[[nodiscard]] std::string start_line(const std::string& process, const std::string& uri,
                                     const std::string& database, std::int64_t lease_ms);
[[nodiscard]] std::string acquire_line(std::int64_t id, const std::string& name,
                                       std::int64_t timeout_ms, bool shared = false);
[[nodiscard]] std::string ask_line(std::int64_t id);
[[nodiscard]] std::string release_line(std::int64_t id);
[[nodiscard]] std::string stop_line();

/// What a worker says.
struct Answer {
  enum class Is {
    ready,
    granted,
    refused,
    timed_out,
    failed,
    held,
    not_held,
    lost,
    released,
    not_owner,
    unknown
  };
  Is is = Is::ready;
  std::int64_t id = 0;
  std::optional<std::int64_t> at_ns;         ///< of CLOCK_BOOTTIME, taken before all else
  std::optional<std::int64_t> token;         ///< of a grant
  std::optional<std::int64_t> remaining_ms;  ///< of a grant: from `at_ns` on
  std::string why;                           ///< of what failed
};
[[nodiscard]] const char* to_string(Answer::Is is);

/// Throws std::runtime_error that says what is wrong with the line.
[[nodiscard]] Answer answer_from(const std::string& line);

/// Checks that each answer of one worker has a question. It has no clock and no I/O.
class Dialogue {
 public:
  enum class Question { acquire, ask, release };

  void started(std::int64_t at_ns) { asked_ns_ = at_ns; }
  /// REQUIRES: an acquire has a new id; a release or an `ask` has one that was granted.
  void asked(Question question, std::int64_t id, std::int64_t at_ns);
  /// Throws std::runtime_error that says what is wrong with the answer, received at `received_ns`.
  void heard(const Answer& answer, std::int64_t received_ns);

 private:
  enum class Phase { acquiring, ended, held, releasing, released };
  struct Call {
    Phase phase = Phase::acquiring;
    std::int64_t asked_ns = 0;  ///< the question that waits
    bool asks = false;          ///< an `ask` waits
    std::int64_t ask_ns = 0;
    bool lost = false;
  };

  std::int64_t asked_ns_ = 0;
  bool ready_ = false;
  std::map<std::int64_t, Call> calls_;
};

}  // namespace leasehold::sim::live

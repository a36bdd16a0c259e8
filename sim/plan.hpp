#pragma once

#include <cstdint>
#include <string>
#include <vector>

/// What a run does: the workload and the faults, in one value. It can be printed and read back, and
/// a run of it is repeated by giving it again.
namespace leasehold::sim {

/// How one simulated process behaves, again and again: acquire, write to the fenced resource, hold,
/// write, release.
struct ProcessPlan {
  std::int64_t expiry_ms = 1'000;
  std::int64_t wait_min_ms = 10;  ///< pause between attempts, uniform
  std::int64_t wait_max_ms = 800;
  std::int64_t hold_ms = 10;         ///< a usual holding lasts up to this
  int long_hold_percent = 5;         ///< holdings of 1 to 3 extension cadences
  int single_attempt_percent = 10;   ///< acquires that try once
  int cancel_percent = 5;            ///< acquires cancelled while they wait
  std::int64_t patience_ms = 2'000;  ///< time-outs of the rest are drawn up to this

  bool operator==(const ProcessPlan&) const = default;
};

/// Something that befalls the run at a time.
struct FaultPlan {
  enum class Kind {
    crash,    ///< SIGKILL of a process, of one that holds a lock if there is any; it starts again
    pause,    ///< SIGSTOP for `for_ms`, likewise
    step_up,  ///< another member becomes primary
  };
  Kind kind = Kind::crash;
  std::int64_t at_ms = 0;
  std::int64_t for_ms = 0;
  std::int64_t pick = 0;  ///< which one, modulo how many there are

  bool operator==(const FaultPlan&) const = default;
};

[[nodiscard]] const char* to_string(FaultPlan::Kind kind);

struct Plan {
  std::uint64_t seed = 0;          ///< of everything the processes draw while they run
  std::string lock = "leasehold";  ///< or a variant with a planted error
  int locks = 2;                   ///< names that are fought over
  std::int64_t clock_margin_ms = 1'000;
  std::int64_t faulty_ms = 8'000;  ///< how long faults are on; then all is healed
  std::vector<ProcessPlan> processes;
  std::vector<FaultPlan> faults;  ///< by time

  bool operator==(const Plan&) const = default;
};

[[nodiscard]] std::string to_json(const Plan& plan);

/// Throws std::runtime_error that says what is wrong.
[[nodiscard]] Plan plan_from_json(const std::string& text);

}  // namespace leasehold::sim

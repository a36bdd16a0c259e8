#pragma once

#include <cstdint>
#include <optional>
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
  std::int64_t drift_ppm = 0;        ///< how much its clock runs fast; virtual world only

  bool operator==(const ProcessPlan&) const = default;
};

/// Something that befalls the run at a time.
struct FaultPlan {
  enum class Kind {
    crash,    ///< SIGKILL of a process, of one that holds a lock if there is any; it starts again
    pause,    ///< SIGSTOP for `for_ms`, likewise
    step_up,  ///< another member becomes primary
    // From here on: in the virtual world only, so far.
    step_down,       ///< the primary leaves its office, with no successor ready
    kill_member,     ///< SIGKILL of the primary (pick even) or a secondary, for `for_ms`
    stop_member,     ///< SIGSTOP, likewise
    split_members,   ///< a member reaches no other for `for_ms`
    cut_link,        ///< a process reaches one member no more for `for_ms`
    slow_link,       ///< its messages take `amount` ms longer for `for_ms`
    lost_replies,    ///< its requests are executed, and nothing comes back, for `for_ms`
    late_requests,   ///< each request arrives once its sender has waited `amount` ms, for `for_ms`
    waiting_inside,  ///< commands wait `amount` ms in the server with the time of their start
    clock_jump,      ///< a member's clock moves by `amount` ms, at most half the margin from true
    ttl_off,         ///< no member runs the TTL monitor for `for_ms`
    slow_majority,   ///< replication takes `amount` ms longer for `for_ms`
    errors,          ///< the next `amount` commands get a transient error; pick odd: once executed
    wall_clock,      ///< a process's wall clock is off by `amount` ms for `for_ms`
  };
  Kind kind = Kind::crash;
  std::int64_t at_ms = 0;
  std::int64_t for_ms = 0;
  std::int64_t pick = 0;  ///< which one, modulo how many there are
  std::int64_t amount = 0;

  bool operator==(const FaultPlan&) const = default;
};

inline constexpr int kFaultKinds = static_cast<int>(FaultPlan::Kind::wall_clock) + 1;

/// Whether the live world has this fault.
[[nodiscard]] constexpr bool is_live(FaultPlan::Kind kind) {
  return kind <= FaultPlan::Kind::step_up;
}

[[nodiscard]] const char* to_string(FaultPlan::Kind kind);
/// Nothing for a name that none has.
[[nodiscard]] std::optional<FaultPlan::Kind> fault_named(const std::string& name);

struct Plan {
  std::uint64_t seed = 0;          ///< of everything the processes draw while they run
  std::string lock = "leasehold";  ///< or a variant with a planted error
  int locks = 2;                   ///< names that are fought over
  std::int64_t clock_margin_ms = 1'000;
  std::int64_t ttl_period_ms = 1'000;  ///< of the TTL monitor; virtual world only
  std::int64_t faulty_ms = 8'000;      ///< how long faults are on; then all is healed
  std::vector<ProcessPlan> processes;
  std::vector<FaultPlan> faults;  ///< by time

  bool operator==(const Plan&) const = default;
};

/// As a `.scn` file: one line for each thing, `#` begins a comment. Reads back to the same plan.
[[nodiscard]] std::string to_scn(const Plan& plan);

/// Throws std::runtime_error that names the line and what is wrong with it.
[[nodiscard]] Plan plan_from_scn(const std::string& text);

}  // namespace leasehold::sim

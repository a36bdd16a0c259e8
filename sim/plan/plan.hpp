#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/plan/fault.hpp"

/// What a run does: the workload and the faults, in one value. It can be printed and read back;
/// giving it again repeats the run.
namespace leasehold::sim {

/// The waiting strategies of the lock, by their names in a plan.
enum class Waiting { uniform, fixed, full_jitter, decorrelated, adaptive, queue };
inline constexpr int kWaitings = static_cast<int>(Waiting::queue) + 1;
[[nodiscard]] const char* to_string(Waiting waiting);

/// How one simulated process behaves, again and again: acquire, write to the fenced resource, hold,
/// write, release; with this many callers at once.
struct ProcessPlan {
  std::int64_t expiry_ms = 1'000;
  std::int64_t wait_min_ms = 10;  ///< pause between attempts
  std::int64_t wait_max_ms = 800;
  Waiting waiting = Waiting::uniform;  ///< fixed: the mean of the two; queue: renews its
                                       ///< place by the longer at the latest
  int callers = 1;
  int hand_overs = 8;               ///< in a row
  std::int64_t hold_ms = 10;        ///< a usual holding lasts up to this
  int long_hold_percent = 5;        ///< holdings of one extension cadence or more
  int long_hold_leases = 1;         ///< and up to this many leases: with 2 they live by extensions
  int single_attempt_percent = 10;  ///< acquires that try once
  int cancel_percent = 5;           ///< acquires cancelled while they wait
  std::int64_t acquire_timeout_ms = 2'000;  ///< time-outs of the rest are drawn up to this
  std::int64_t drift_ppm = 0;               ///< how much its clock runs fast
  std::int64_t max_holding_ms = 0;  ///< after which the lock itself ends a holding; 0: never
  std::int64_t max_drift_ppm = 5'000;      ///< that its lock allows for
  std::int64_t operation_timeout_ms = 0;   ///< 0: the lock's own
  std::int64_t extension_cadence_ms = 0;   ///< 0: the lock's own
  /// Every second caller has other options: this lease (0: all are alike), this margin and this
  /// longest holding (0: as the others), and the lock's own cadence and timeout.
  std::int64_t other_expiry_ms = 0, other_margin_ms = 0, other_max_holding_ms = 0;
  bool scripted = false;            ///< does what the plan's steps say, and nothing else
  std::int64_t queue_room = 64;     ///< maximum length of a lock's queue
  int workers = 0;  ///< commands under way at once; 0: three, of a scripted one one
  bool old_release = false;         ///< of the lock, without queues: it overwrites them
  int permits = 0;  ///< its calls are for one of so many permits of a semaphore; 0: for a lock
  int together = 0;    ///< its calls are for so many locks at once, by acquire_all; 0: for one
  bool leads = false;  ///< its calls stand for election, and lead for one term
  int reads_percent = 0;  ///< of its calls for one lock: they share it

  bool operator==(const ProcessPlan&) const = default;
};

/// Something that a caller does at a time, written by a person. A caller holds or awaits one lock
/// at a time: a step that does not fit is left out.
struct StepPlan {
  enum class Action {
    acquire,  ///< lock `lock`, for at most `acquire_timeout_ms` (0: one attempt)
    write,    ///< to the fenced resource, if it was granted the lock, whatever held() says
    release,  ///< if it was granted the lock
    cancel,   ///< the acquire that waits
  };
  Action action = Action::acquire;
  std::int64_t at_ms = 0;
  std::int64_t process = 0;  ///< by its place in the plan
  std::int64_t caller = 0;   ///< of that process
  std::int64_t lock = 0;
  std::int64_t acquire_timeout_ms = 0;
  bool reads = false;         ///< it shares the lock
  bool is_the_fault = false;  ///< the failure lies in this step: without it nothing goes wrong

  bool operator==(const StepPlan&) const = default;
};
[[nodiscard]] const char* to_string(StepPlan::Action action);

/// The heartbeat of a set that nobody configured.
inline constexpr int kOwnHeartbeat_ms = 2'000;

struct Plan {
  std::uint64_t seed = 0;          ///< of everything the processes draw while they run
  std::string lock = "leasehold";  ///< or a variant with a planted error
  int locks = 2;                   ///< names that are fought over
  std::int64_t clock_margin_ms = 1'000;
  std::int64_t ttl_period_ms = 1'000;  ///< of the TTL monitor; live it is a second, always
  /// A primary may take the others for dead, and step down, if its clock jumps by more.
  int election_timeout_ms = 1'000;
  int heartbeat_ms = 200;  ///< of members; live, from `kOwnHeartbeat_ms` on all settings are theirs
  // The virtual world alone has these, because a live set is what it is.
  bool shards = false;       ///< two behind routers; where faults hit servers the locks move
  bool ttl_at_once = false;  ///< a pass of the TTL monitor is one entry of the oplog, as since 6.1
  int failed_fetches = 0;    ///< of secondaries whose link to the primary breaks, in percent
  bool stray_commands = false;  ///< drivers learn of elections late, some commands even later
  int stream_lag_ms = 0;  ///< how late change streams report; -1: the role may open none
  std::int64_t faulty_ms = 8'000;  ///< how long faults are on; then all is healed
  std::vector<ProcessPlan> processes;
  std::vector<FaultPlan> faults;  ///< by time
  std::vector<StepPlan> steps;    ///< of scripted processes, by time

  bool operator==(const Plan&) const = default;
};

/// What is wrong with references of steps and faults to others; empty: nothing.
[[nodiscard]] std::string unsound(const Plan& plan);

/// Whether a person wrote every step, so that nothing runs beside them.
[[nodiscard]] bool is_scripted(const Plan& plan);

/// As a `.scn` file: one line for each thing, `#` begins a comment, a line "----" ends the plan.
/// Reads back to the same plan.
[[nodiscard]] std::string to_scn(const Plan& plan);

/// A hash of what `to_scn` says of them, one after the other: the same on every machine.
[[nodiscard]] std::string hash_of(const std::vector<Plan>& plans);

/// Throws std::runtime_error that names the line, the field, its value and what is allowed.
[[nodiscard]] Plan plan_from_scn(const std::string& text);

}  // namespace leasehold::sim

#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// The vocabulary of faults, which both worlds share: `FaultInjector` brings them about.
namespace leasehold::sim {

/// A fault that hits the run at a time.
struct FaultPlan {
  enum class Kind {
    crash,          ///< SIGKILL of a process; another starts, unless the process is scripted
    pause,          ///< SIGSTOP of a process for `for_ms`
    step_up,        ///< another member becomes primary
    step_down,      ///< the primary steps down, with no successor ready
    kill_member,    ///< SIGKILL of a member, for `for_ms`
    stop_member,    ///< SIGSTOP
    split_members,  ///< a member reaches no other for `for_ms`
    two_primaries,  ///< the same of the primary, while another is elected at once
    cut_link,       ///< a process reaches the primary no more for `for_ms`; without notice
    refuse_link,    ///< the same, and its connections are reset
    slow_link,      ///< its messages take `amount` ms longer for `for_ms`
    lost_replies,   ///< its requests are executed, and nothing comes back, for `for_ms`
    late_requests,  ///< each request arrives `amount` ms late, its sender gone or not, for `for_ms`
    waiting_inside,  ///< commands wait `amount` ms in the server with the time of their start
    clock_jump,      ///< a member's clock moves to `amount` ms from true time
    clock_drift,    ///< a member's clock runs `amount` ppm fast for `for_ms`; then it is true again
    ttl_off,        ///< no member runs the TTL monitor for `for_ms`
    slow_majority,  ///< replication takes `amount` ms longer for `for_ms`
    errors,         ///< the next `amount` commands within 2 s get a transient error; odd pick: once
                    ///< executed
    wall_clock,     ///< a process's wall clock is off by `amount` ms for `for_ms`
    kill_two,       ///< SIGKILL of two members at once, for `for_ms`
    kill_all,       ///< the same of all
    drop_index,     ///< an administrator drops the TTL index, and makes it again after `for_ms`
    change_index,   ///< and lets documents live `amount` s longer for `for_ms`
    lost_data,      ///< SIGKILL of `amount` members (0: one), which come back empty after `for_ms`
    drop_collection,  ///< an administrator drops the locks' collection
    delete_document,  ///< and deletes one lock's document, by `pick`
    suspend,          ///< as pause, of a process's whole machine: its clocks do not see it
    refuse_sync,      ///< a secondary fails to fetch for `for_ms`; it shuns its source for 10 s
    force_release,    ///< an administrator frees a lock that is held, as the command does
  };
  Kind kind = Kind::crash;
  std::int64_t at_ms = 0;
  std::int64_t for_ms = 0;
  /// Which one, modulo how many there are. A process: among those that hold a lock if there are
  /// any. A member: the primary if even.
  std::int64_t pick = 0;
  /// A clock goes at most half the clock margin from true time, unless the plan names the member.
  std::int64_t amount = 0;
  std::int64_t process = -1;  ///< this very one, by its place in the plan
  std::int64_t member = -1;   ///< this very one
  /// It begins right after this command was sent for the `nth` time from `at_ms` on: by `process`,
  /// or by any if that is not said. It then hits the sender. In the virtual world alone.
  enum class Command { none, acquire, extend, remove, hand_over, pass_on, look };
  Command on = Command::none;
  std::int64_t nth = 1;
  bool at_reply = false;  ///< it begins when the command's reply has come back instead

  bool operator==(const FaultPlan&) const = default;
};

/// What a kind does to the guarantees.
enum class Harm {
  none,        ///< all hold, whatever else happens: plans are generated with it
  alone,       ///< all hold as long as no other kind happens
  assumption,  ///< it breaks an assumption: only stories have it
};

/// The range of drawn numbers, both ends included; 0 to 0: the kind has no such number.
struct Range {
  std::int64_t low = 0, high = 0;
};

/// What a fault needs. Each includes those before it.
enum class Power {
  processes,  ///< over those that use the lock
  links,      ///< over what they and the members say to each other
  servers,    ///< over the members themselves, their documents, and their links with each other
};

/// All that is known of a kind, except how it is done.
struct AboutFault {
  FaultPlan::Kind kind;
  const char* name;
  /// What kinds have in common, as `--faults` names it.
  const char* group;
  Range for_ms = {};  ///< how long drawn ones last
  /// How large drawn ones are. Those of `clock_jump` depend on the plan's clock margin.
  Range amount = {};
  Power power = Power::servers;
  Harm harm = Harm::none;
  bool stops_writes = false;  ///< stops majority writes for a second or two
};

inline constexpr auto kAboutFaults = [] {
  using K = FaultPlan::Kind;
  constexpr auto kServers = Power::servers, kLinks = Power::links, kProcesses = Power::processes;
  constexpr Range kUsual{200, 2'500}, kSize{5, 900}, kAway{300, 3'000}, kOfIndex{500, 3'500};
  return std::to_array<AboutFault>({
      {K::crash, "crash", "process", {}, {}, kProcesses},
      {K::pause, "pause", "process", {100, 3'500}, {}, kProcesses},
      {K::step_up, "step-up", "failover"},
      {.kind = K::step_down, .name = "step-down", .group = "failover", .stops_writes = true},
      {K::kill_member, "kill-member", "failover", kAway, {}, kServers, Harm::none, true},
      {K::stop_member, "stop-member", "failover", kAway, {}, kServers, Harm::none, true},
      {K::split_members, "split-members", "network", kAway, {}, kServers, Harm::none, true},
      {K::two_primaries, "two-primaries", "network", kAway, {}, kServers, Harm::none, true},
      {K::cut_link, "cut-link", "network", kUsual, kSize, kLinks},
      {K::refuse_link, "refuse-link", "network", kUsual, kSize, kLinks},
      {K::slow_link, "slow-link", "network", kUsual, kSize, kLinks},
      {K::lost_replies, "lost-replies", "network", kUsual, kSize, kLinks},
      {K::late_requests, "late-requests", "network", kUsual, kSize, kLinks},
      {K::waiting_inside, "waiting-inside", "errors", kUsual, kSize},
      {K::clock_jump, "clock-jump", "clock"},
      {K::clock_drift, "clock-drift", "clock", {500, 3'000}, {-200'000, 200'000}},
      {K::ttl_off, "ttl-off", "ttl", kOfIndex},
      {K::slow_majority, "slow-majority", "majority", kUsual, kSize},
      {K::errors, "errors", "errors", {}, {1, 5}},
      {K::wall_clock, "wall-clock", "clock", {500, 4'000}, {-4'000, 4'000}, kProcesses},
      {K::kill_two, "kill-two", "failover", {300, 1'500}, {}, kServers, Harm::none, true},
      {K::kill_all, "kill-all", "failover", {300, 1'500}, {}, kServers, Harm::none, true},
      {K::drop_index, "drop-index", "ttl", kOfIndex},
      {K::change_index, "change-index", "ttl", kOfIndex, {1, 3'600}},
      // Longer than an election: an empty member must not vote for one that lags.
      {K::lost_data, "lost-data", "failover", {2'000, 3'000}, {}, kServers, Harm::alone},
      {K::drop_collection, "drop-collection", "administrator", {}, {}, kServers, Harm::assumption},
      {K::delete_document, "delete-document", "administrator", {}, {}, kServers, Harm::assumption},
      {K::suspend, "suspend", "process", {100, 3'500}, {}, kProcesses, Harm::assumption},
      {K::refuse_sync, "refuse-sync", "majority", {300, 1'000}, {}, kServers, Harm::none, true},
      {K::force_release, "force-release", "administrator"},
  });
}();
inline constexpr int kFaultKinds = static_cast<int>(kAboutFaults.size());

[[nodiscard]] constexpr const AboutFault& about(FaultPlan::Kind kind) {
  return kAboutFaults[static_cast<std::size_t>(kind)];
}

static_assert(std::ranges::all_of(kAboutFaults, [](const AboutFault& row) {
  return &row == &about(row.kind);
}), "one row for each kind, in their order");

[[nodiscard]] constexpr const char* to_string(FaultPlan::Kind kind) { return about(kind).name; }
/// As histories call it; "none".
[[nodiscard]] const char* to_string(FaultPlan::Command command);
inline constexpr int kTriggers = static_cast<int>(FaultPlan::Command::look) + 1;
/// Nothing for a name that none has.
[[nodiscard]] std::optional<FaultPlan::Kind> fault_named(const std::string& name);

[[nodiscard]] constexpr const char* group_of(FaultPlan::Kind kind) { return about(kind).group; }
/// Whether faults of this group befall a lock's documents, or the commands that write them.
[[nodiscard]] bool is_of_documents(std::string_view group);
/// Those that plans are generated with.
[[nodiscard]] const std::vector<std::string>& fault_groups();

[[nodiscard]] constexpr Harm harm_of(FaultPlan::Kind kind) { return about(kind).harm; }
/// Those that do no more than that, in their order.
[[nodiscard]] std::vector<FaultPlan::Kind> fault_kinds(Harm most);

/// What a history calls a member: "member-1".
[[nodiscard]] inline std::string member_name(int member) {
  return "member-" + std::to_string(member);
}

/// The member that it hits, of `members`, while `primary` is primary (-1: none is).
[[nodiscard]] int member_hit(const FaultPlan& fault, int primary, int members);

/// All members that it hits: the first by the rule of `member_hit`, the others after it.
[[nodiscard]] std::vector<int> members_hit(const FaultPlan& fault, int primary, int members);

/// Whether it takes members away for a while.
[[nodiscard]] bool takes_members(FaultPlan::Kind kind);

/// How far a clock fault moves the clock, in ms, or how fast the clock drifts, in ppm, with what
/// `amount` says of the margin kept.
[[nodiscard]] std::int64_t clock_amount(const FaultPlan& fault, std::int64_t clock_margin_ms);

/// The server's code for `errors`, one of those that pass.
[[nodiscard]] int error_code(const FaultPlan& fault);

[[nodiscard]] constexpr Power power_of(FaultPlan::Kind kind) { return about(kind).power; }

/// Whether it hits a process alone.
[[nodiscard]] inline bool hits_process(FaultPlan::Kind kind) {
  return power_of(kind) == Power::processes;
}

}  // namespace leasehold::sim

#include "sim/explored/core_scope.hpp"

#include <algorithm>

namespace leasehold::sim::explored {
namespace {

using namespace terms;

/// In the order of `CoreFault`.
constexpr std::array<const char*, kCoreFaults> kFaultNames{
    "lost request", "late request", "lost reply", "slow reply", "waiting inside",
    "error before", "error after",  "crash",      "pause",      "clock ahead",
    "cancel",       "rolled back",  "old primary"};

}  // namespace

const char* name_of(CoreFault fault) { return kFaultNames[static_cast<std::size_t>(fault)]; }

/// What a verdict is about: without it "holds" says nothing.
std::string describe(const CoreScope& scope) {
  std::string kinds;
  for (unsigned k = 0; k < kCoreFaults; ++k) {
    if ((scope.kinds >> k & 1) != 0)
      kinds += (kinds.empty() ? "" : ", ") + std::string(kFaultNames[k]);
  }
  std::string more;
  if (scope.users != std::array{1u, 1u}) {
    more += ", of " + std::to_string(scope.users[0]) + " and " + std::to_string(scope.users[1]) +
            " users each";
  }
  if (scope.two_locks) more += ", the second of another lock";
  if (scope.queue) more += ", standing in the lock's queue";
  if (scope.drifts()) {
    more += ", clocks too fast by " + std::to_string(scope.drift_permille[0]) + " and " +
            std::to_string(scope.drift_permille[1]) + " permille";
  }
  return "2 providers with " + std::to_string(scope.acquires[0]) + " and " +
         std::to_string(scope.acquires[1]) + " acquires" + more + ", " +
         std::to_string(scope.ticks) + " ticks with a lease of 3 and a margin of " +
         std::to_string(scope.margin_ticks) + ", up to " + std::to_string(scope.faults) +
         " of the faults " + kinds;
}

namespace {

constexpr std::uint64_t bits(std::initializer_list<Sight> sights) {
  std::uint64_t all = 0;
  for (const Sight sight : sights) all |= std::uint64_t{1} << sight;
  return all;
}
constexpr unsigned bits(std::initializer_list<CoreFault> faults) {
  unsigned all = 0;
  for (const CoreFault fault : faults) all |= 1u << static_cast<unsigned>(fault);
  return all;
}

// What must be seen with one user in each process and the usual faults.
constexpr auto kUsual = bits({takeover_observed, takeover_by_clock, own_win, notified_lost,
                              extension, ttl, late_ghost, given_up});
// No clock frees a dead holder's lock within the ticks: it has to be observed.
constexpr unsigned kDeadly = bits({CoreFault::crash, CoreFault::pause, CoreFault::lost_reply});
// Faults that tell a majority's data from a primary's own, and faults that hide it.
constexpr unsigned kBranches =
    bits({CoreFault::rolled_back, CoreFault::old_primary, CoreFault::lost_reply,
          CoreFault::error_after, CoreFault::crash});
// Faults that can part a batch from its answer. All kinds are too many states for memory.
constexpr unsigned kOfBatches =
    bits({CoreFault::late, CoreFault::lost_reply, CoreFault::crash, CoreFault::error_after,
          CoreFault::pause, CoreFault::old_primary});
constexpr unsigned kAllKinds = (1u << kCoreFaults) - 1;

}  // namespace

/// Long with one fault, short with two, so that each fits the memory and minutes of a test run.
const std::vector<NamedCoreScope>& core_scopes() {
  static const std::vector<NamedCoreScope> scopes{
      {"one-fault", {.ticks = 10, .faults = 1}, 3'969'913, kUsual},
      {"observed-only",
       {.ticks = 10, .faults = 1, .margin_ticks = 20, .kinds = kDeadly},
       681'447,
       bits({takeover_observed, own_win, notified_lost})},
      {"two-faults", {.ticks = 5, .faults = 2}, 13'803'287, kUsual},
      {"failover",
       {.ticks = 7, .faults = 2, .kinds = kBranches},
       3'202'238,
       bits({rolled_back_write, old_primary_denies, own_win})},
      {"two-users",
       {.ticks = 4, .faults = 1, .kinds = kAllKinds, .users = {2, 1}},
       4'767'247,
       bits({handed_over, own_win, notified_lost, late_ghost, old_primary_denies})},
      {"two-locks",
       {.ticks = 4, .faults = 1, .kinds = kOfBatches, .users = {2, 1}, .two_locks = true},
       8'489'305,
       bits({both_extended, own_win, notified_lost, late_ghost})},
      {"queue",
       {.ticks = 6, .faults = 1, .queue = true},
       1'895'964,
       bits({passed_on, own_win, notified_lost, late_ghost})},
      {"drift",
       {.ticks = 8, .faults = 1, .drift_permille = {-100, 100}},
       1'039'036,
       bits({takeover_observed, takeover_by_clock, notified_lost})}};
  return scopes;
}

const NamedCoreScope* core_scope_named(std::string_view name) {
  const auto& all = core_scopes();
  const auto found = std::find_if(all.begin(), all.end(),
                                  [&](const NamedCoreScope& one) { return one.name == name; });
  return found == all.end() ? nullptr : &*found;
}

}  // namespace leasehold::sim::explored

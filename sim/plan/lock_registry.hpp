#pragma once

#include <leasehold/lock_options.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "model/spec/check.hpp"
#include "sim/plan/plan.hpp"

namespace leasehold::published {
struct Recipe;
}
namespace leasehold::sim {

/// A deliberate bug in the production lock, between core and server, so that a run can fail. Each
/// but the last makes a lock that the checkers have to find out; the last makes a run that differs
/// from its repetition.
enum class Sabotage {
  none,
  deletes_without_owner,
  extends_without_owner,
  writes_for_one,  ///< w: 1, not a majority
  dies_deleting,   ///< the process, of a check of the lock
  reads_the_real_clock
};

/// A lock that a plan may name: the production lock, a published one, or the production lock with a
/// planted error.
struct LockUnderTest {
  std::string name;
  Sabotage sabotage = Sabotage::none;
  bool runs_live = true;
  const published::Recipe* recipe = nullptr;  ///< of a published lock alone

  [[nodiscard]] bool is_published() const { return recipe != nullptr; }
  [[nodiscard]] bool is_sabotaged() const { return sabotage != Sabotage::none; }
  /// The provider that it runs on (`published::provider_named`).
  [[nodiscard]] std::string provider() const { return is_published() ? name : "leasehold"; }
  /// Where its documents are.
  [[nodiscard]] std::string collection() const;
};

/// The one list of locks: all code that asks what a lock is uses this.
[[nodiscard]] const std::vector<LockUnderTest>& locks();
/// Throws std::runtime_error that lists all locks, if none has the name.
[[nodiscard]] const LockUnderTest& lock_under_test(std::string_view name);

/// The sentence by which the author of `lock` promises `guarantee`; empty: it does not promise it.
/// Those of the production lock are in GUARANTEES.md; a lock with a planted error promises nothing.
[[nodiscard]] std::string_view promise_of(std::string_view lock, model::Check guarantee);

/// The options of the locks of one of the process's callers. A published lock knows no margin.
[[nodiscard]] LockOptions options_of(const ProcessPlan& plan, const std::string& lock,
                                     std::int64_t clock_margin_ms, int caller = 0);

/// Whether its calls queue, and are notified by a change stream. The waiting strategy
/// decides it, as in the core. A published lock polls, whatever its strategy.
[[nodiscard]] bool waits_in_queue(const ProcessPlan& plan, const std::string& lock);

/// How many commands a process may have under way. A scripted process has a single connection
/// unless its plan says otherwise, so that a step's command finds one that stands.
[[nodiscard]] int workers_of(const ProcessPlan& plan);

/// The range from which a long holding of the process is drawn.
struct LongHolding {
  std::int64_t least_ms, most_ms;
};
[[nodiscard]] LongHolding long_holding(const ProcessPlan& plan, const LockOptions& options);

}  // namespace leasehold::sim

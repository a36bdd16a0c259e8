#pragma once

#include <leasehold/waiting.hpp>
#include <memory>
#include <string>
#include <vector>

namespace leasehold::bench {

/// The names that `--strategy` knows: the one table of strategies of the benches.
[[nodiscard]] std::vector<std::string> strategy_names();

/// A strategy by its name, or from a shared object (own_strategy.hpp) by its path. Throws
/// cli::UsageError.
[[nodiscard]] std::shared_ptr<const WaitingStrategy> strategy_named(const std::string& name);

/// A strategy that begins so is none, but the lock of a worker (`--worker`): its command follows.
inline constexpr std::string_view kWorker = "worker:";

/// Whether this is no strategy but a published lock of `impl/published` that another software uses
/// in the same collection: it polls, and knows of no queue. For `--beside` in the virtual world.
[[nodiscard]] inline bool is_lock(const std::string& name) { return name == "distributed-lock"; }

/// Its name in tables: a path's last part without its ending.
[[nodiscard]] std::string label_of(const std::string& strategy);

}  // namespace leasehold::bench

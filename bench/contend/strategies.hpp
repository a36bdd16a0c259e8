#pragma once

#include <leasehold/waiting.hpp>
#include <memory>
#include <string>
#include <vector>

namespace leasehold::bench {

/// The names that `--strategy` knows: the one table of strategies of the benches.
[[nodiscard]] std::vector<std::string> strategy_names();

/// A strategy by its name, or from a shared object (own_strategy.hpp) by its path, which ends in
/// ".so". Throws cli::UsageError.
[[nodiscard]] std::shared_ptr<const WaitingStrategy> strategy_named(const std::string& name);

/// Whether this is no name but a client program: a path that does not end in ".so"
/// (bench/README.md, "A client in another language").
[[nodiscard]] bool is_program(const std::string& strategy);

/// Whether this is the command of a worker around the user's lock (`--worker`), and that command.
[[nodiscard]] bool is_worker(const std::string& strategy);
[[nodiscard]] std::string worker_command(const std::string& strategy);
[[nodiscard]] std::string worker_strategy(const std::string& command);

/// Whether this is no strategy but a published lock of `impl/published` that another software uses
/// in the same collection: it polls, and knows of no queue. For `--beside` in the virtual world.
[[nodiscard]] bool is_lock(const std::string& strategy);

/// Throws cli::UsageError unless the strategy is known, or can be loaded or run.
void require_strategy(const std::string& strategy);

/// Its name in tables: a path's last part without its ending.
[[nodiscard]] std::string label_of(const std::string& strategy);

}  // namespace leasehold::bench

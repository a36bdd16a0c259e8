#pragma once

#include <chrono>
#include <functional>
#include <leasehold/result.hpp>
#include <optional>

#include "core/release/forced_release.hpp"

namespace leasehold::runtime {

/// How an administrator sends and waits: the command on a connection of its own, a provider by its
/// workers.
struct ForceSteps {
  static constexpr std::chrono::milliseconds kTimeout{10'000};  ///< of each command

  std::function<core::Reply(decltype(core::Command::body))> send;
  /// False: the wait was ended early.
  std::function<bool(std::chrono::milliseconds)> wait;
};

/// Takes the lock, waits, frees it. Nothing: it is free. Errors: `refused`, the holder is alive,
/// and nothing was done; `cancelled`, the wait was ended; others, a command failed. A lock that was
/// taken and not freed frees itself.
[[nodiscard]] std::optional<Error> force_release(const core::ForcedRelease& force,
                                                 const ForceSteps& steps);

}  // namespace leasehold::runtime

#pragma once

#include <leasehold/lock_provider.hpp>

namespace leasehold::detail {

/// As `acquire_async`, but `answered` is called by the thread that has the answer, maybe under the
/// driver's lock: be quick, call nothing of the library, and own no user's function. So no user's
/// function delays it. Returns what cancels the call, from any thread, and does nothing after the
/// answer.
[[nodiscard]] std::function<void()> begin_acquire(const Lock& lock,
                                                  std::chrono::milliseconds timeout,
                                                  std::function<void(Result<LockHandle>)> answered);

}  // namespace leasehold::detail

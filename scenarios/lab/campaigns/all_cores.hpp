#pragma once

#include <functional>

namespace leasehold::lab {

/// Runs `work` on as many threads as there are cores, and returns when all have ended. Meanwhile
/// calls `watch`, if there is one, about five times a second from the caller's thread. If a thread
/// throws, the others run to their end, and the exception is thrown here.
void on_all_cores(const std::function<void()>& work, const std::function<void()>& watch = nullptr);

}  // namespace leasehold::lab

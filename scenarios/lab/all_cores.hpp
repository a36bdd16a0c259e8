#pragma once

#include <functional>

namespace leasehold::lab {

/// Runs `work` on as many threads as there are cores, and returns when all have ended; meanwhile
/// calls `watch`, if there is one, about five times a second from the caller's thread. Throws what
/// one of them threw; the others run to their end before.
void on_all_cores(const std::function<void()>& work, const std::function<void()>& watch = nullptr);

}  // namespace leasehold::lab

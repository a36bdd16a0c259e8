#pragma once

#include <functional>
#include <leasehold/lock_provider.hpp>
#include <stop_token>
#include <vector>

#include "sim/record/recorder.hpp"

namespace leasehold::sim {

/// A user's call for all of these locks at once, in either world, written down with its answer by
/// the clock `now`. REQUIRES: there is one, and all have the options of the first
[[nodiscard]] Result<std::vector<LockHandle>> call_for_all(
    const std::vector<Lock>& locks, std::chrono::milliseconds timeout, const std::stop_token& stop,
    Recorder& recorder, const std::function<core::LocalInstant()>& now);

}  // namespace leasehold::sim

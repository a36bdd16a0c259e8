#pragma once

#include <cstdint>

namespace leasehold::runtime {

/// Commands and timers with numbers from here on are the driver's own. A core counts from 1 and
/// never comes so far, so both share Workers and Timers.
inline constexpr std::uint64_t kOwnIds = std::uint64_t{1} << 63;

}  // namespace leasehold::runtime

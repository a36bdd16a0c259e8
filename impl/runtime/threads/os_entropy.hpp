#pragma once

#include <memory>

#include "core/entropy.hpp"

namespace leasehold::runtime {

/// The operating system's generator; the only source of lock ids in production.
/// Aborts if it fails: a lock id that is not unique is worse.
[[nodiscard]] std::unique_ptr<core::Entropy> os_entropy();

}  // namespace leasehold::runtime

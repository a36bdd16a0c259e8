#pragma once

#include <leasehold/leasehold.h>

#include <leasehold/lock_provider.hpp>

namespace leasehold::c {

/// The options that a caller's struct means; null means the defaults. A size that cannot be, and
/// members that this library does not know, throw Failure; all other rules are `check`'s.
ProviderOptions read(const leasehold_provider_options* given);
LockOptions read(const leasehold_lock_options* given);

}  // namespace leasehold::c

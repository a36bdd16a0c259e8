#pragma once

#include <leasehold/leasehold.h>

#include <leasehold/lock_provider.hpp>

namespace leasehold::c {

/// The options that a caller's struct means; null means the defaults. A size that cannot be, and
/// members that this library does not know, throw Failure; all other rules are `check`'s.
ProviderOptions read(const leasehold_provider_options* given);
LockOptions read(const leasehold_lock_options* given);
/// How many permits a semaphore has; 0: the options are a lock's. Throws Failure for a number that
/// is neither.
int permits(const leasehold_lock_options* given);
/// Whether the lock is shared. Throws Failure for a number that is neither 0 nor 1, and for a
/// shared semaphore.
bool shared(const leasehold_lock_options* given);

/// Throws Failure for a size that cannot be, before anything is asked.
void check_size(const leasehold_seen_holder& to);
/// Fills in as much as the caller's version of the struct has, and sets what is beyond ours to 0.
void write(const std::optional<SeenHolder>& seen, leasehold_seen_holder& to);

}  // namespace leasehold::c

#pragma once

#include <vector>

#include "model/verdict/waiters.hpp"

namespace leasehold::model {

/// Calls for permits, as part of G7; their slots are checked as any lock is. A call ends when it
/// said. A slot does not stay free while a call waits at another. A call that begins once faults
/// are over gets a permit.
void check_permit_calls(const Digest& d, Finding& f, const std::vector<Waiters>& waiters);

}  // namespace leasehold::model

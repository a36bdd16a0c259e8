#pragma once

#include "properties/verify.hpp"

namespace leasehold::lab {

/// For `verify --uri`: what may be done to the user's own replica set, and whether the set, the
/// user's rights and a chosen plan allow what is wanted. Completes `v`, and says on standard error
/// which kinds of faults are left out. Throws UsageError with all that is missing, or NoMongod if
/// no server answers. REQUIRES: `v` has a URI.
void prepare_own_set(properties::VerifyOptions& v, bool allow_server_faults);

}  // namespace leasehold::lab

#pragma once

#include <string>

#include "cli/facts/trial_site.hpp"

namespace leasehold::lab {

/// What two providers of one lock say of a server first, in one sentence; empty: nothing is wrong.
[[nodiscard]] std::string what_locks_say(const cli::Connect& liar, const std::string& database);

}  // namespace leasehold::lab

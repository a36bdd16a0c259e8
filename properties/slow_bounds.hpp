#pragma once

#include <map>
#include <string>

#include "model/history.hpp"

namespace leasehold::properties {

/// How often G7, G8 and G9 are violated in a history, counted a second time: written from their
/// words, as questions to every pair of events, with no thought of speed and nothing of the
/// checkers'. Counts, so that one violation does not hide that a checker overlooks another.
[[nodiscard]] std::map<std::string, int> slow_bounds(const model::History& history);

}  // namespace leasehold::properties

#pragma once

#include <string>

#include "model/verdict/checkers.hpp"
#include "properties/reference_checkers/reference_checkers.hpp"

namespace leasehold::properties {

/// The first guarantee of which the checker and its slow twin find different things in a history,
/// and what; empty if they agree. Of G2 to G4 the twin counts every pair, and the checker those
/// that it has to look at: there they agree on whether there is one. `of`: only these; empty: all.
[[nodiscard]] std::string difference(const model::History& history, model::CheckSet of = {});

/// The history with every event taken out that the difference does not need.
[[nodiscard]] model::History smallest_different(model::History history,
                                                model::CheckSet of = {});

}  // namespace leasehold::properties

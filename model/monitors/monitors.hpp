#pragma once

#include "model/verdict/checkers.hpp"

/// The assumptions of the proof in `model/proof` about clients and their commands, checked for each
/// event of a run. A client that breaks a rule breaks a guarantee only with bad luck; the
/// rule's monitor finds the first command that breaks it.
namespace leasehold::model {

inline constexpr CheckSet kRules{
    Check::unique_lock_id,  Check::deadline,   Check::presumed_dead,
    Check::ended_owner,     Check::compare_and_set, Check::expires_at,
    Check::stored_token};

/// One finding for each rule, in the order of their enumerators: what clients do (`unique_lock_id`
/// to `ended_owner`), then what stands in documents (`compare_and_set` to `stored_token`). One pass
/// over the events, constant time for each. Empty for the published locks, which have other rules.
///
/// If a history lacks the documents' dates (older releases wrote none), the rules of documents are
/// unknown.
[[nodiscard]] std::vector<Finding> monitor(const Digest& d);

}  // namespace leasehold::model

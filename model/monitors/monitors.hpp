#pragma once

#include "model/verdict/checkers.hpp"

/// The assumptions of the proof in `model/proof` about clients and their commands, checked for each
/// event of a run. A client that breaks a rule breaks a guarantee only with bad luck; the
/// rule's monitor finds the first command that breaks it.
namespace leasehold::model {

inline constexpr GuaranteeSet kRules{
    Guarantee::unique_lock_id,  Guarantee::deadline,   Guarantee::presumed_dead,
    Guarantee::ended_owner,     Guarantee::compare_and_set, Guarantee::expires_at,
    Guarantee::stored_token};

/// One finding for each rule, in the order of their enumerators: what clients do (`unique_lock_id`
/// to `ended_owner`), then what stands in documents (`compare_and_set` to `stored_token`). One pass
/// over the events, constant time for each. Empty for the published locks, which have other rules.
///
/// If a history lacks the documents' dates (older releases wrote none), the rules of documents are
/// unknown.
[[nodiscard]] std::vector<Finding> monitor(const Digest& d);

}  // namespace leasehold::model

#pragma once

#include <map>

#include "model/history/history.hpp"
#include "model/verdict/check.hpp"

namespace leasehold::properties {

class Questions;

/// The checkers a second time: how often a history breaks each guarantee, written from its words,
/// as questions to pairs of events, with no thought of speed and nothing of the checkers'. Counts,
/// so that one violation does not hide that a checker overlooks another.
[[nodiscard]] std::map<model::Check, int> slow_counts(const model::History& history);

[[nodiscard]] int slow_leases(const Questions& q);       ///< G1
[[nodiscard]] int slow_exclusion(const Questions& q);    ///< G2: pairs, so more than the checker's
[[nodiscard]] int slow_fence(const Questions& q);        ///< G3: likewise
[[nodiscard]] int slow_token_order(const Questions& q);  ///< G4: likewise
[[nodiscard]] int slow_loss_notified(const Questions& q);  ///< G5
[[nodiscard]] int slow_ownership(const Questions& q);      ///< G6
[[nodiscard]] int slow_liveness(const Questions& q);       ///< G7
[[nodiscard]] int slow_queue_turns(const Questions& q);    ///< the part of G7 about queues
[[nodiscard]] int slow_cleanup(const Questions& q);        ///< G8
[[nodiscard]] int slow_cost(const Questions& q);           ///< G9
[[nodiscard]] int slow_release(const Questions& q);
[[nodiscard]] int slow_needless_loss(const Questions& q);
[[nodiscard]] int slow_calls(const Questions& q);

// The monitors: what they ask of an event is what came before it in the history.
[[nodiscard]] int slow_unique_lock_id(const model::History& h);
[[nodiscard]] int slow_deadline(const model::History& h);
[[nodiscard]] int slow_presumed_dead(const model::History& h);
[[nodiscard]] int slow_ended_owner(const model::History& h);
[[nodiscard]] int slow_compare_and_set(const model::History& h);
[[nodiscard]] int slow_expires_at(const model::History& h);
[[nodiscard]] int slow_stored_token(const model::History& h);

}  // namespace leasehold::properties

#include "properties/reference_checkers/reference_checkers.hpp"

#include "properties/reference_checkers/questions.hpp"

namespace leasehold::properties {

std::map<model::Check, int> slow_counts(const model::History& history) {
  using enum model::Check;
  const Questions q(history);
  return {{G1, slow_leases(q)},
          {G2, slow_exclusion(q)},
          {G3, slow_fence(q)},
          {G4, slow_token_order(q)},
          {G5, slow_loss_notified(q)},
          {G6, slow_ownership(q)},
          {G7, slow_liveness(q)},
          {G8, slow_cleanup(q)},
          {G9, slow_cost(q)},
          {release, slow_release(q)},
          {needless, slow_needless_loss(q)},
          {calls, slow_calls(q)},
          {unique_lock_id, slow_unique_lock_id(history)},
          {deadline, slow_deadline(history)},
          {presumed_dead, slow_presumed_dead(history)},
          {ended_owner, slow_ended_owner(history)},
          {compare_and_set, slow_compare_and_set(history)},
          {expires_at, slow_expires_at(history)},
          {stored_token, slow_stored_token(history)}};
}

}  // namespace leasehold::properties

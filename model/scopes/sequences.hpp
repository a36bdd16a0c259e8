#pragma once

#include <string>
#include <vector>

#include "model/scopes/lock_system.hpp"

/// The published sequence diagrams, replayed by the abstract system: each message of the drawing is
/// a step that must be possible, in the drawing's order, with the drawing's outcome.
namespace leasehold::model {

struct SequenceStep {
  enum Kind : std::uint8_t {
    sends_acquire,
    sends_extension,
    sends_delete,
    lock_acquired,      ///< the answer comes, and the client holds
    lock_not_acquired,  ///< the answer comes, and it waits
    extended,
    deleted,
    resource_accepts,
    resource_rejects,
    lease_runs_out  ///< nothing is sent until the primary finds the document expired
  };
  Kind kind;
  int client;
  const char* drawn;  ///< the diagram's own line
};

struct Sequence {
  std::string name;
  std::vector<SequenceStep> steps;
};

/// Two processes, one lock.
[[nodiscard]] const Sequence& two_processes();
/// Fencing at the resource: a holder that overslept its lease comes back.
[[nodiscard]] const Sequence& fencing();

struct Performance {
  bool possible = false;
  std::string why;          ///< of not possible: the step at which it stopped
  std::vector<int> tokens;  ///< of the grants, in their order; of our lock only their order counts
};

/// Performs the sequence by a lock with these rules.
[[nodiscard]] Performance perform(const Sequence& sequence, const Rules& rules);

}  // namespace leasehold::model

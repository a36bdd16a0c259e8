#pragma once

#include "core/pending_commands.hpp"

namespace leasehold::core {

/// The TTL index, made once per provider. It only removes the documents of dead holders, which any
/// acquire may overwrite: so no lock waits for it, and without it every guarantee still holds
/// (MongoDB manual, "TTL indexes"; without the index the document of a dead holder stays until a
/// call wants its lock).
///
/// INVARIANT: at most one command of it is under way, and kIndexTries in all.
class IndexCreation {
 public:
  /// Asks for it, unless that is under way or settled.
  void ensure(SendingStep step);

  /// Without a certain answer it is asked for again with the next `ensure`.
  void answered(const Reply& reply, Step step);

  bool operator==(const IndexCreation&) const = default;

 private:
  enum class State { wanted, asked, settled } state_ = State::wanted;
  int tries_ = 0;
};

}  // namespace leasehold::core

#pragma once

#include "core/pending_commands.hpp"

namespace leasehold::core {

/// The TTL index, asked for once in some minutes, because an administrator may drop it, or the
/// collection. It only removes the documents of dead holders, which any
/// acquire may overwrite: so no lock waits for it, and without it every guarantee still holds
/// (MongoDB manual, "TTL indexes"; without the index the document of a dead holder stays until a
/// call wants its lock).
///
/// INVARIANT: at most one command of it is under way, and kIndexTries until it is settled.
class IndexCreation {
 public:
  /// Asks for it, unless that is under way or was settled lately.
  void ensure(SendingStep step);

  /// Without a certain answer it is asked for again with the next `ensure`.
  void answered(const Reply& reply, Step step);

 private:
  enum class State { wanted, asked, settled } state_ = State::wanted;
  int tries_ = 0;
  bool warned_ = false;
  std::int64_t asked_in_ = 0;  ///< which period of kIndexAgain it was settled in
};

}  // namespace leasehold::core

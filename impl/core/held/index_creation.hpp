#pragma once

#include <utility>

#include "core/check.hpp"
#include "core/pending_commands.hpp"

namespace leasehold::core {

/// The TTL index, asked for once in some minutes, because an administrator may drop it, or the
/// collection. It only removes the documents of dead holders, which any
/// acquire may overwrite: so no lock waits for it, and without it every guarantee still holds
/// (MongoDB manual, "TTL indexes"; without the index the document of a dead holder stays until a
/// call wants its lock).
///
/// INVARIANT: at most one command of it is under way, and kTries until it is settled.
class IndexCreation {
 public:
  /// Asks for it, unless that is under way or was settled lately. Called at each win of an attempt,
  /// so it needs no timer of its own.
  void ensure(SendingStep step) {
    if (state_ == State::settled && period_of(step.now) != asked_in_) {
      state_ = State::wanted;
      tries_ = 0;
    }
    if (state_ != State::wanted) return;
    LEASEHOLD_CHECK(tries_ < kTries);
    state_ = State::asked;
    ++tries_;
    step.pending.send({.kind = PendingCommand::Kind::index}, kTimeout, EnsureIndexCommand{}, step);
  }

  /// Without a certain answer it is asked for again with the next `ensure`. Refused for good, say
  /// by access rights: one warning, because an administrator may make it.
  void answered(const Reply& reply, Step step) {
    LEASEHOLD_CHECK(state_ == State::asked);
    const bool try_again =
        (reply.outcome == Outcome::unknown || reply.outcome == Outcome::not_executed) &&
        tries_ < kTries;
    state_ = try_again ? State::wanted : State::settled;
    asked_in_ = period_of(step.now);
    if (!try_again && !reply.message.empty() && !std::exchange(warned_, true)) {
      step.out.push_back(Warned{"TTL index: " + reply.message});
    }
  }

 private:
  /// By default all voting members have to be ready (MongoDB manual, "createIndexes",
  /// commitQuorum): that may take longer than any command of a lock.
  static constexpr std::chrono::seconds kTimeout{10};
  /// A server that gives no certain answer is asked again, but not for ever: no lock needs it.
  static constexpr int kTries = 5;
  /// A settled index is asked for again in the next period of so long.
  static constexpr std::chrono::minutes kAgain{10};
  static std::int64_t period_of(LocalInstant now) { return now.time_since_epoch() / kAgain; }

  enum class State { wanted, asked, settled } state_ = State::wanted;
  int tries_ = 0;
  bool warned_ = false;
  std::int64_t asked_in_ = 0;  ///< which period of kAgain it was settled in
};

}  // namespace leasehold::core

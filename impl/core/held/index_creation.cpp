#include "core/held/index_creation.hpp"

#include <utility>

#include "core/check.hpp"

namespace leasehold::core {
namespace {

/// By default all voting members have to be ready (MongoDB manual, "createIndexes",
/// commitQuorum): that may take longer than any command of a lock.
constexpr std::chrono::seconds kIndexTimeout{10};
/// A server that gives no certain answer is asked again, but not for ever: no lock needs the index.
constexpr int kIndexTries = 5;
/// A settled index is asked for again in the next period of so long.
constexpr std::chrono::minutes kIndexAgain{10};

std::int64_t period_of(LocalInstant now) { return now.time_since_epoch() / kIndexAgain; }

}  // namespace

/// Called at each win of an attempt, so it needs no timer of its own.
void IndexCreation::ensure(SendingStep step) {
  if (state_ == State::settled && period_of(step.now) != asked_in_) {
    state_ = State::wanted;
    tries_ = 0;
  }
  if (state_ != State::wanted) return;
  LEASEHOLD_CHECK(tries_ < kIndexTries);
  state_ = State::asked;
  ++tries_;
  step.pending.send({.kind = PendingCommand::Kind::index}, kIndexTimeout, EnsureIndexCommand{},
                    step);
}

/// Refused for good, say by access rights: one warning, because an administrator may make it.
void IndexCreation::answered(const Reply& reply, Step step) {
  LEASEHOLD_CHECK(state_ == State::asked);
  const bool try_again =
      (reply.outcome == Outcome::unknown || reply.outcome == Outcome::not_executed) &&
      tries_ < kIndexTries;
  state_ = try_again ? State::wanted : State::settled;
  asked_in_ = period_of(step.now);
  if (!try_again && !reply.message.empty() && !std::exchange(warned_, true)) {
    step.out.push_back(Warned{"TTL index: " + reply.message});
  }
}

}  // namespace leasehold::core

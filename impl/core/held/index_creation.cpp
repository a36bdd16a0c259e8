#include "core/held/index_creation.hpp"

#include "core/check.hpp"

namespace leasehold::core {
namespace {

/// By default all voting members have to be ready (MongoDB manual, "createIndexes",
/// commitQuorum): that may take longer than any command of a lock.
constexpr std::chrono::seconds kIndexTimeout{10};
/// A server that gives no certain answer is asked again, but not for ever: no lock needs the index.
constexpr int kIndexTries = 5;

}  // namespace

/// Called at each win of an attempt until it is settled, so it needs no timer of its own.
void IndexCreation::ensure(SendingStep step) {
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
  if (!try_again && !reply.message.empty()) {
    step.out.push_back(Warned{"TTL index: " + reply.message});
  }
}

}  // namespace leasehold::core

#pragma once

#include <cstdint>
#include <leasehold/stream_listener.hpp>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/holder_observations.hpp"
#include "core/owners.hpp"
#include "core/pace_estimates.hpp"
#include "core/pending_commands.hpp"
#include "core/queue_place.hpp"

namespace leasehold::core {

/// One acquire call that has not won yet. What is valid in one phase only stands in that phase.
struct AcquireCall {
  /// Behind others of this process: it sends nothing.
  struct Queued {
    bool operator==(const Queued&) const = default;
  };
  /// Between two attempts. INVARIANT: its attempt timer is set for `attempt_at`.
  struct Waiting {
    LocalInstant attempt_at;  ///< when the next attempt is due
    LocalInstant poll_at;     ///< when it is due at the latest, whatever the stream says
    bool operator==(const Waiting&) const = default;
  };
  struct Attempting {
    CommandId command = 0;  ///< 0: it was answered, and what follows is being decided
    bool operator==(const Attempting&) const = default;
  };
  /// Gets the lock from a handle of this process, by this hand-over.
  struct Receiving {
    CleanupId hand_over = 0;
    bool operator==(const Receiving&) const = default;
  };

  std::string name;
  LockOptions options;
  std::optional<LocalInstant> give_up_at;
  bool single_attempt = false;
  Owner owner;  ///< dead, hence replaced, from the moment a delete of it is sent
  std::variant<Queued, Waiting, Attempting, Receiving> phase;

  LocalInstant contends_since;  ///< when it became the head of its queue
  Duration last_pause{0};
  int attempts = 0;
  int unanswered = 0;     ///< attempts of this owner whose outcome is unknown
  bool late_win = false;  ///< its owner has the document, but the win came too late to be used
  int hand_overs = 0;     ///< in a row up to this call
  bool corruption_reported = false;
  Error last_failure;

  // Of the change stream, if its strategy wants one.
  FencingToken waits_since;  ///< the operation time of its first refusal
  int releases = 0;          ///< reported since
  bool woken = false;        ///< by the stream, for the attempt that is due or under way
  bool freed_meanwhile =
      false;  ///< a release was reported during an attempt; acted on once refused

  QueuePlace place;  ///< in the lock's queue, if its strategy queues

  /// What the caller gets that ends for this reason; the last failure says more.
  [[nodiscard]] Error error(ErrorKind kind, const std::string& why) const;

  /// Whether a document of its owner may be there, now or by a late command.
  [[nodiscard]] bool may_own() const { return unanswered > 0 || late_win; }

  /// Whether its attempts leave an entry in the lock's queue if they are refused.
  [[nodiscard]] bool queues() const { return !single_attempt && core::queues(options); }
  /// What it wants to hear of a change stream.
  [[nodiscard]] bool wants_releases() const { return listener() != nullptr; }

  /// Null: its strategy wants no change stream.
  [[nodiscard]] const StreamListener* listener() const { return options.waiting->listener(); }

  template <typename Phase>
  [[nodiscard]] const Phase* in() const {
    return std::get_if<Phase>(&phase);
  }
  template <typename Phase>
  [[nodiscard]] Phase* in() {
    return std::get_if<Phase>(&phase);
  }
  bool operator==(const AcquireCall&) const = default;
};

/// What the answer to an attempt says.
enum class AttemptAnswer {
  refused,         ///< certainly not ours
  cannot_succeed,  ///< certainly not executed, nor would another be
  not_executed,    ///< certainly not
  unanswered,      ///< may have won, or may win yet
  permanent,       ///< the same, and another cannot succeed
  won,             ///< this very execution did
};

/// Whether another has the lock, whatever the write concern says: then the attempt wrote nothing.
[[nodiscard]] bool refuses(const Reply& reply, Owner owner);

/// The acquire calls of a provider: when each makes its next attempt, and what attempts have taught
/// about holders and paces. Which of them may contend, the queues say; what a win or an end brings
/// about, ProviderCore.
///
/// INVARIANT: a call that is no single attempt is the head of its queue exactly if it is not
/// Queued, but for the time between the queues' decision and `contend` or `receive`.
class Attempts {
 public:
  explicit Attempts(std::string holder) : holder_(std::move(holder)) {}

  /// A new call, queued, with a fresh owner and its give_up timer set.
  const AcquireCall& add(const AcquireAsked& asked, Step step);
  void erase(SessionId id) { calls_.erase(id); }

  /// Null: there is none; it has won or ended.
  [[nodiscard]] AcquireCall* find(SessionId id);
  [[nodiscard]] const AcquireCall* find(SessionId id) const;
  /// REQUIRES: it has neither won nor ended
  [[nodiscard]] AcquireCall& at(SessionId id) { return calls_.at(id); }
  [[nodiscard]] std::vector<SessionId> ids() const;

  /// Its attempt timer fired.
  void due(SessionId id, PendingCommands& pending, Step step);
  /// Whether its give_up timer fired for a timeout that is over.
  [[nodiscard]] bool times_out(SessionId id, LocalInstant now) const;

  /// It is the head of its queue from now on, with a first attempt at that time at the latest.
  /// `stream_open`, here and below: whether a change stream is open that reports releases.
  void contend(SessionId id, LocalInstant at_latest, bool stream_open, PendingCommands& pending,
               Step step);
  /// Sends an attempt now.
  void start(SessionId id, PendingCommands& pending, Step step);
  /// The next attempt is at that time, unless the stream brings it forward.
  void wait(SessionId id, LocalInstant at, PendingCommands& pending, Step step);
  /// The next attempt is at that time, if it waits for a later one.
  void bring_forward(SessionId id, LocalInstant at, PendingCommands& pending, Step step);
  /// It has the lock by other means than its attempts: the next is not due any more.
  void stop_waiting(SessionId id, Step step);
  /// The stream says that the lock is free: its strategy says how soon to try.
  void wake(SessionId id, PendingCommands& pending, Step step);

  /// Whether it may receive the lock from a handle of this process: it waits for its turn.
  [[nodiscard]] bool can_receive(SessionId id) const;
  /// It makes no attempts while this hand-over is under way, the next of so many in a row.
  const AcquireCall& receive(SessionId id, CleanupId hand_over, int in_a_row, Step step);
  /// Nothing was handed over, or nobody knows: it makes attempts of its own. `unclear`: its owner
  /// may be in the document after all; then its own attempt recognises it.
  void contend_for_itself(SessionId id, bool unclear, PendingCommands& pending, Step step);

  /// This attempt of it, or this hand-over to it, is over; what follows is being decided.
  void settle(SessionId id, const PendingCommand& command);
  [[nodiscard]] AttemptAnswer read(SessionId id, const PendingCommand& attempt,
                                   const Reply& reply) const;

  /// No answer, or one that says that it was not executed. Returns whether another is worth it at
  /// once: the first after a lost reply recognises its own win.
  [[nodiscard]] bool learn_from_failure(SessionId id, const Reply& reply, bool unanswered);
  /// Another holds the lock. Returns whether that holder was presumed dead while the attempt was
  /// under way: then another attempt is worth it at once.
  [[nodiscard]] bool learn_from_refusal(SessionId id, const PendingCommand& attempt,
                                        const Reply& reply, Step step);
  void learn_from_win(SessionId id, Step step);
  void wait_after_refusal(SessionId id, FencingToken refused_at, bool at_once, bool stream_open,
                          PendingCommands& pending, Step step);
  void wait_after_failure(SessionId id, bool at_once, bool stream_open, PendingCommands& pending,
                          Step step);

  /// The first half of the owners of calls that queue; none: none has yet.
  [[nodiscard]] std::optional<std::uint64_t> provider() const { return owners_.provider(); }

  /// A delete of its owner is about to be sent.
  void replace_owner(SessionId id, Step step);

  /// Whether a head of a queue acts on news of a change stream.
  [[nodiscard]] bool anyone_listens() const;
  /// Nobody would act on news sooner than that.
  [[nodiscard]] Duration nearest_turn(Step step) const;
  /// The call, if it acts on news of a change stream; null otherwise.
  [[nodiscard]] AcquireCall* find_listening(SessionId id);

  void mix_into(HashMixer& hash) const;
  bool operator==(const Attempts&) const = default;

 private:
  [[nodiscard]] Owner draw_owner(const AcquireCall& call, Step step);
  [[nodiscard]] std::string lock_id(const AcquireCall& call, std::uint64_t beat) const;
  [[nodiscard]] std::optional<Duration> turn(const AcquireCall& call, Step step) const;
  void plan(SessionId id, AcquireCall::Waiting waiting, PendingCommands& pending, Step step);
  LocalInstant next_attempt_at(AcquireCall& call, bool refused, bool stream_open, Step step) const;
  LocalInstant first_attempt_at(AcquireCall& call, LocalInstant at_latest, bool stream_open,
                                Step step) const;
  void learn(const AcquireCall& call, bool won, Step step);
  AttemptSeen seen_by(const AcquireCall& call, bool refused, Step step) const;
  ReleasesHeard heard_by(const AcquireCall& call, Step step) const;

  std::string holder_;
  Owners owners_;
  std::map<SessionId, AcquireCall> calls_;
  HolderObservations observations_;
  PaceEstimates<Duration> paces_;
  PaceEstimates<Releases> release_paces_;
};

}  // namespace leasehold::core

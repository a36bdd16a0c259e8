#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/acquire/acquire_call.hpp"
#include "core/acquire/attempt_answer.hpp"
#include "core/acquire/owners.hpp"
#include "core/pending_commands.hpp"
#include "core/waiting/pacing.hpp"

namespace leasehold::core {

/// The acquire calls of a provider, and the attempts that each of them makes: it sends them, reads
/// their answers, and plans the next. Pacing says when; Contenders decides which call may contend,
/// and ProviderCore what a win or an end brings about.
///
/// INVARIANT: of a call at most one attempt is under way, and none while its attempt timer is set.
/// INVARIANT: a single attempt makes one, and waits for nothing but a free slot.
/// INVARIANT: a call with `give_up_at` has its give_up timer set until it is taken out.
///
/// `stream_open`, in all that follows: whether a change stream is open that reports what this call
/// waits for.
class Attempts {
 public:
  /// `holder` is the last part of the lockIds that attempts write.
  explicit Attempts(std::string holder) : holder_(std::move(holder)) {}

  /// A new call, queued, with a fresh owner and its give_up timer set.
  void add(const AcquireAsked& asked, Step step);
  /// It has won or ended: taken out, with its timers. What is under way for it stays so.
  AcquireCall take(SessionId id, SendingStep step);

  /// Null: there is none; it has won or ended.
  [[nodiscard]] const AcquireCall* find(SessionId id) const;
  /// REQUIRES: it has neither won nor ended
  [[nodiscard]] AcquireCall& at(SessionId id) { return calls_.at(id); }
  [[nodiscard]] std::vector<SessionId> ids() const;

  /// It is the head of its queue from now on, with a first attempt at that time at the latest.
  void contend(SessionId id, LocalInstant at_latest, bool stream_open, SendingStep step);
  /// Sends an attempt now, or once a slot is free.
  void start(SessionId id, SendingStep step);
  /// Its attempt timer fired, or it is its turn in the line.
  void due(SessionId id, SendingStep step);
  /// The next attempt is at that time, if it waits for a later one.
  void bring_forward(SessionId id, LocalInstant at, SendingStep step);
  /// It has the lock by other means than its attempts: the next is not due any more.
  void stop_waiting(SessionId id, SendingStep step);

  /// It makes no attempts while this hand-over is under way, the next of so many in a row.
  const AcquireCall& receive(SessionId id, CleanupId hand_over, int in_a_row, SendingStep step);
  /// The hand-over gave nothing, or its outcome is unknown: the call makes attempts of its own.
  /// `unclear`: its owner may be in the document after all; then its own attempt recognises it.
  void contend_for_itself(SessionId id, bool unclear, SendingStep step);
  /// What it won cannot be used, and a delete of its owner is about to be sent: it asks again, now,
  /// with a new owner.
  void start_over(SessionId id, SendingStep step);

  /// What the reply to this attempt says. REQUIRES: the call was settled by it
  [[nodiscard]] AttemptAnswer read(SessionId id, const PendingCommand& attempt,
                                   const Reply& reply) const;
  /// Another holds the lock. The call keeps what that teaches, and its next attempt is planned: at
  /// once if that holder came to be presumed dead while this attempt was under way.
  void refused(SessionId id, const PendingCommand& attempt, const Reply& reply, bool stream_open,
               SendingStep step);
  /// No answer, or one that says that it was not executed: the next attempt is planned.
  void failed(SessionId id, const Reply& reply, bool unanswered, bool stream_open,
              SendingStep step);
  /// Its attempt won: what that teaches is kept.
  void won(SessionId id, LocalInstant now) { pacing_.learn(at(id), true, now); }

  /// Whether a head of a queue acts on news of a change stream.
  [[nodiscard]] bool anyone_listens() const;
  /// Whether one of them stands in a lock's queue: news of a grant may be for it.
  [[nodiscard]] bool anyone_stands() const;

  void mix_into(HashMixer& hash) const;
  bool operator==(const Attempts&) const = default;

 private:
  static void call_off(SessionId id, const AcquireCall& call, SendingStep step);
  void see_holder(AcquireCall& call, const Reply& refusal, Step step);
  void join_queue(AcquireCall& call, Step step);
  void stand_in_line(SessionId id, SendingStep step);
  void plan(SessionId id, LocalInstant attempt_at, SendingStep step);

  std::string holder_;
  Owners owners_;
  std::map<SessionId, AcquireCall> calls_;
  Pacing pacing_;
};

}  // namespace leasehold::core

#pragma once

#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/acquire/acquire_call.hpp"
#include "core/held/held_lock.hpp"
#include "core/queue/change_stream.hpp"
#include "core/queue/wait_queues.hpp"
#include "core/step.hpp"
#include "core/waiting/pacing.hpp"

namespace leasehold::core {

/// Draws the owners of a provider's calls, one for each call: so two calls of one process never
/// take each other's document for their own.
///
/// INVARIANT: the owners of calls that queue begin alike, and no two are the same but by chance of
/// the entropy, 1 in 2^64.
class Owners {
 public:
  /// With `queues`, the first half of the owner is this provider's, the same for all of these: by
  /// it a change stream finds, at the server, the writes that name one of them (DESIGN.md, "The
  /// queue between processes").
  Owner draw(bool queues, Step step) {
    if (!queues) return fresh_owner(step);
    if (!provider_) provider_ = step.entropy.draw();
    return {*provider_, step.entropy.draw()};
  }

 private:
  std::optional<std::uint64_t> provider_;  ///< none: no call has queued yet
};

/// How a call won: by which command, sent when, that left which document at which time. It decides
/// from when the lease counts, which token the grant has, and whether it can be used at all. It
/// does not know queues, timers or other calls.
///
/// INVARIANT: the document is that of the very write that won, and `at` the operation time of that
/// write: the evidence of one execution, put together from no two replies.
struct Win {
  Granted::By by;
  CommandId command;      ///< passed on: the step of the stream that reported it
  LocalInstant sent;      ///< from when the lease counts, whenever the reply came
  LockDocument document;  ///< as that write left it
  FencingToken at;        ///< the grant's token
  bool observed = false;  ///< an attempt that knew that the holder was dead

  /// Whether its token is above what the document has stored, a lower bound of the holder's before.
  /// It is on one replica set; it is not after a restore from another one, say (DESIGN.md, "The
  /// fencing token is the operation time of the write").
  [[nodiscard]] bool token_rises() const { return at.value() > document.fencing_token; }
};

/// The lock that the call holds by that, with its deadline: the earlier of the lease's end and of
/// `max_holding`, both on the holder's own clock. Already over, if the win became known too late.
[[nodiscard]] HeldLock held_lock(const AcquireCall& call, const Win& win);

/// What an answer, or an event of the stream, makes of a call: it goes on, has won by that, or ends
/// by that error.
using CallResult = std::variant<std::monostate, Win, Error>;

/// The acquire calls of a provider, from being asked until they win or end. It decides which call
/// is next, sends the attempts that each makes, and says what a call does about an answer or an
/// event: try now, try sooner, wait, take what it was granted. It knows the queues of this process,
/// the calls that wait in them, and what the change stream is open for; Pacing says when a call
/// asks again. It does not know the locks that are held, nor what a call leaves in the database.
///
/// INVARIANT: a call that is no single attempt is the head of its queue exactly if it is not
/// Queued. So for one lock one call of a process asks the server, besides single attempts.
/// INVARIANT: a call that is Receiving is the head of its queue: no other contends meanwhile.
/// INVARIANT: the head of a queue is a call here, or a session that holds the lock. No call waits
/// behind one that reads: the next call is then the head, and the reader holds past the queue.
/// INVARIANT: of a call at most one attempt is under way, and none while its attempt timer is set.
/// INVARIANT: a single attempt makes one, and waits for nothing but a free slot. A downgrade makes
/// none: it is Queued without a queue until it is Receiving.
/// INVARIANT: a call with `give_up_at` has its give_up timer set until it is taken out.
///
///     contenders.add(asked, step);                            // -> Send{acquire}
///     const CallResult result = contenders.answered(id, attempt, reply, step);
///     if (const auto* win = std::get_if<Win>(&result)) ...  // then won() or start_over()
class Contenders {
 public:
  /// `holder` is the last part of the lockIds that attempts write.
  explicit Contenders(std::string holder) : holder_(std::move(holder)) {}

  /// A new call: it contends at once if it is the first for its lock or a single attempt.
  void add(const AcquireAsked& asked, SendingStep step);
  /// No call gets its turn any more, and the stream ends. Returns the calls that end by that.
  [[nodiscard]] std::vector<SessionId> close(SendingStep step);

  /// Null: there is none; it has won or ended.
  [[nodiscard]] const AcquireCall* find(SessionId id) const;
  /// REQUIRES: it has neither won nor ended
  [[nodiscard]] AcquireCall& at(SessionId id) { return calls_.at(id); }

  /// An attempt timer fired, or that of the stream; or it is that attempt's turn in the line.
  void due(Timer timer, SendingStep step);

  /// Its attempt was answered.
  [[nodiscard]] CallResult answered(SessionId id, const PendingCommand& attempt, const Reply& reply,
                                    SendingStep step);
  /// The head of this lock's queue, if it is a call of this owner; 0: it is not.
  [[nodiscard]] SessionId head_with(Owner owner, const std::string& name) const;
  /// The stream reports, by this command, a write that names the owner of this call.
  [[nodiscard]] CallResult notify(SessionId id, const NamedOwner& named, CommandId command,
                                  SendingStep step);
  /// A step of the stream was answered. The caller acts on its events and then has it read on,
  /// unless it was nothing.
  [[nodiscard]] ChangeStream::Heard stream_answered(CommandId command, const Reply& reply,
                                                    SendingStep step);
  void read_on(ChangeStream::Heard heard, SendingStep step);
  /// A document of this process is certainly gone: the calls that wait here are notified.
  void lock_freed(const std::string& name, SendingStep step);

  /// The call that may receive the lock that this session releases: it waits, and is next. 0: none.
  [[nodiscard]] SessionId receiver_after(SessionId releaser, const std::string& name) const;
  /// It becomes the head, and waits for this hand-over, the next of so many in a row.
  const AcquireCall& receive(SessionId id, DepartureId hand_over, int in_a_row, SendingStep step);
  /// The hand-over gave nothing, or its outcome is unknown: the call makes attempts of its own, or
  /// ends if it may not. `unclear`: its owner may be in the document after all; then its own
  /// attempt recognises it.
  [[nodiscard]] CallResult contend_for_itself(SessionId id, bool unclear, SendingStep step);
  /// What it won cannot be used, and a delete of its owner is about to be sent: it asks again, now,
  /// with a new owner.
  void start_over(SessionId id, SendingStep step);

  /// It holds the lock by that: it is no call any more, and goes on as the head of its queue.
  void won(SessionId id, const Win& win, SendingStep step);
  /// The calls right behind this session, which holds the lock, that ask to read.
  [[nodiscard]] std::vector<SessionId> readers_behind(SessionId holder, const std::string& name);
  /// This one of them shares the entry of the holder: it is no call any more.
  void shares(SessionId id, SendingStep step);
  /// The holder reads: the first call that still waits behind it asks for itself.
  void reads(SessionId holder, const std::string& name, SendingStep step);
  /// The session that reads, and that the last call of this name has made an entry for; 0: there is
  /// none, or a call waits that came later.
  [[nodiscard]] SessionId reader_of(const std::string& name) const;
  /// It has won or ended: taken out, with its timers. What is under way for it stays so; it leaves
  /// its queue once its owner has departed.
  AcquireCall take(SessionId id, SendingStep step);
  /// This session, which held the lock or asked for it, is done with its queue. The call that
  /// becomes the head by that contends, with a first attempt at that time at the latest.
  void leave(SessionId id, const std::string& name, LocalInstant at_latest, SendingStep step);
  /// The same after a release without hand-over, which ends the tenure of this process.
  void released(SessionId id, const std::string& name, LocalInstant at_latest, SendingStep step);

 private:
  // contenders.cpp: which call is next, and what an answer means for it.
  [[nodiscard]] bool anyone_listens() const;
  [[nodiscard]] std::optional<Duration> unread_for(LocalInstant now) const;
  void contend(SessionId id, LocalInstant at_latest, SendingStep step);
  [[nodiscard]] CallResult act_on(SessionId id, const NamedOwner& named, CommandId command,
                                  SendingStep step);

  // attempts.cpp: the attempts of one call, and what it learns from their answers.
  void attempt(SessionId id, SendingStep step);
  void stand_in_line(SessionId id, SendingStep step);
  void plan(SessionId id, LocalInstant attempt_at, SendingStep step);
  void bring_forward(SessionId id, LocalInstant at, SendingStep step);
  void stop_waiting(SessionId id, SendingStep step);
  static void call_off(SessionId id, const AcquireCall& call, SendingStep step);
  [[nodiscard]] std::optional<Error> refused(SessionId id, const PendingCommand& attempt,
                                             const Reply& reply, SendingStep step);
  void failed(SessionId id, const Reply& reply, bool unanswered, SendingStep step);
  Room see_holder(AcquireCall& call, const Reply& refusal, Step step);
  void join_queue(AcquireCall& call, Step step);

  std::string holder_;
  Owners owners_;
  std::map<SessionId, AcquireCall> calls_;
  WaitQueues queues_;
  Pacing pacing_;
  ChangeStream stream_;
  bool closed_ = false;  ///< no call is left, and none begins
};

}  // namespace leasehold::core

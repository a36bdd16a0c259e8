#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/entropy.hpp"
#include "core/holder_observations.hpp"
#include "core/pace_estimates.hpp"
#include "core/protocol.hpp"
#include "core/provider.hpp"

namespace leasehold::core {

/// Every decision of one provider: its queue for each name, attempts, observations, extension in
/// batches, loss, release, hand-over and clean-up, across all its locks. A value: events in,
/// effects out, no thread, no clock, no I/O.
///
/// Time: `now` never runs backwards between calls. Copyable, comparable and hashable, so that
/// it can be simulated and explored. Not thread-safe: its driver serialises the calls.
///
///     core.next(AcquireAsked{7, "report", options, now + 5s}, now, entropy, effects);
///     // effects: Send{acquire}, SetTimer{command_timeout}, SetTimer{give_up}
///     core.next(ReplyArrived{1, reply}, now, entropy, effects);  // -> Granted{7, token, ...}
///
/// How a session lives: queued -> waiting <-> attempting -> held -> lost, or queued -> receiving ->
/// held; a release or an end takes it out, and whatever it may have left in the database becomes a
/// Cleanup.
class ProviderCore final : public Provider {
 public:
  /// `holder` goes into lock ids for people to read; empty for none.
  explicit ProviderCore(std::string holder) : holder_(std::move(holder)) {}

  /// Appends what is to be done because of `event` to `out`.
  void next(const Event& event, LocalInstant now, Entropy& entropy, Effects& out);
  void next(const Event& event, const Clocks& now, Entropy& entropy, Effects& out) override {
    next(event, now.local, entropy, out);  // it never asks for a wall clock
  }

  /// Deletes that no majority has acknowledged yet.
  [[nodiscard]] std::size_t cleanups_left() const override;

  bool operator==(const ProviderCore&) const = default;
  /// Equal cores, equal hashes.
  [[nodiscard]] std::size_t hash() const;

 private:
  using CleanupId = std::uint64_t;

  /// One acquire call, and the lock that it won.
  struct Session {
    enum class Phase { queued, waiting, attempting, receiving, held, lost };
    std::string name;
    LockOptions options;
    std::optional<LocalInstant> give_up_at;
    bool single_attempt = false;
    Phase phase = Phase::waiting;
    Owner owner;              ///< dead, hence replaced, from the moment a delete of it is sent
    CommandId command = 0;    ///< the attempt or extension under way, or 0
    LocalInstant attempt_at;  ///< waiting: when the next attempt is due
    LocalInstant poll_at;     ///< waiting: when it is due at the latest, whatever the stream says
    LocalInstant contends_since;  ///< waiting, attempting: when it became the first of its line
    Duration last_pause{0};
    int attempts = 0;
    int unanswered = 0;  ///< attempts of this owner whose outcome is unknown
    bool oddity_reported = false;
    int releases = 0;          ///< that the stream told of, later than waits_since
    FencingToken waits_since;  ///< the operation time of its first refusal, if it wants a stream
    bool woken = false;        ///< waiting, attempting: by the stream
    bool freed_meanwhile = false;  ///< attempting: the stream told of a release
    std::uint64_t hand_over = 0;   ///< receiving: the removal that gives it the lock
    int handed_on = 0;             ///< hand-overs in a row up to this holding
    Error last_failure;
    FencingToken token;  ///< held: the rest
    ServerInstant acquired_at;
    LocalInstant deadline;
    LocalInstant ends_at = LocalInstant::max();  ///< no extension moves the deadline beyond this
    LocalInstant extend_at;
    bool operator==(const Session&) const = default;
  };

  /// Those of this process who want or have one lock, in order. One at a time contends for it.
  struct WaitQueue {
    SessionId head = 0;  ///< who contends, receives or holds; 0: nobody, once the provider closed
    std::deque<SessionId> waiters;
    LocalInstant tenure_since;               ///< when this process last won it from others ...
    Duration tenure{0};                      ///< ... and for how long it had it then
    std::optional<LocalInstant> rival_seen;  ///< when another process last refused us
    bool operator==(const WaitQueue&) const = default;
  };

  /// An owner whose document, if there is one, has to go: to the receiver, if there is one.
  struct Cleanup {
    std::string name;
    Owner owner;
    std::optional<Owner> or_owner;  ///< the receiver's, also after it gave up
    SessionId receiver = 0;
    FencingToken won;  ///< by this write; none: nobody was ever told of a win
    std::chrono::milliseconds timeout;
    LocalInstant give_up_at;         ///< the document frees itself like a crashed holder's
    LocalInstant next_at;            ///< when the next delete is due, with none under way
    CommandId command = 0;           ///< the delete, or the attempt to wait for, or 0
    bool awaits_attempt = false;     ///< an attempt is under way; no delete was sent yet
    bool outcome_uncertain = false;  ///< an earlier attempt, hand-over or delete was never answered
    bool resend = false;             ///< one more delete, after a pause, against late requests
    int failures = 0;                ///< of deletes, in a row
    bool acknowledged = false;
    std::optional<SessionId> reporting;  ///< who waits for the result
    bool operator==(const Cleanup&) const = default;
  };

  /// The change stream that wakes those who wait, if a strategy wants one.
  ///
  /// INVARIANT: at most one command of it is under way that was not abandoned. A close and the open
  /// after it must not run side by side, on two threads of a driver and one connection.
  struct Stream {
    enum class Phase { off, opening, open, pausing, closing, refused };
    /// A poll found a lock free that the stream had not told of yet.
    struct Owed {
      std::string name;
      LocalInstant since;
      bool operator==(const Owed&) const = default;
    };
    Phase phase = Phase::off;
    std::int64_t cursor = 0;
    CommandId command = 0;  ///< the step under way, or 0
    LocalInstant wanted_until;
    LocalInstant next_at;  ///< when the next step is due, with none under way
    int failures = 0;      ///< in a row
    std::optional<Owed> owed;
    bool operator==(const Stream&) const = default;
  };

  /// A command under way.
  struct PendingCommand {
    enum class Kind { attempt, extension, read_holders, cleanup, hand_over, index, stream };
    Kind kind;
    LocalInstant sent;
    std::vector<SessionId> sessions;  ///< attempt: one or none; extension and look: all
    CleanupId cleanup = 0;
    std::uint64_t beat = 0;  ///< attempt, extension, hand-over; a look judges that extension's
    std::optional<std::string> observed;  ///< attempt: the lockId that counted as dead
    bool operator==(const PendingCommand&) const = default;
  };

  struct Step {
    LocalInstant now;
    Entropy& entropy;
    Effects& out;
  };

  using Sessions = std::map<SessionId, Session>;

  void on(const AcquireAsked& event, Step step);
  void on(const CancelAsked& event, Step step);
  void on(const ReleaseAsked& event, Step step);
  void on(const DeadlineSeen& event, Step step);
  void on(const ReplyArrived& event, Step step);
  void on(const TimerFired& event, Step step);
  void on(const CloseAsked& event, Step step);

  // acquire.cpp
  void start_attempt(SessionId id, Session& session, Step step);
  void answer_attempt(const PendingCommand& pending, const Reply& reply, Step step);
  void win(SessionId id, const PendingCommand& pending, const Reply& reply, Step step);
  void win_too_late(SessionId id, Step step);
  void refuse(SessionId id, const PendingCommand& pending, const Reply& reply, Step step);
  void fail(SessionId id, const Reply& reply, bool unknown, Step step);
  void wait(SessionId id, LocalInstant at, Step step);
  void plan_attempt(SessionId id, Session& session, LocalInstant at, Step step);
  void end_acquire(SessionId id, Error error, Step step);
  void stop_receiving(const Session& session, Step step);
  void give_up(SessionId id, ErrorKind kind, const std::string& why, Step step);
  AttemptSeen seen_by(const Session& session, bool refused, Step step) const;
  void learn(const Session& session, bool won, Step step);
  LocalInstant next_attempt_at(Session& session, bool refused, Step step) const;
  void replace_owner(Session& session, Step step);
  void ensure_index(Step step);
  void answer_index(const Reply& reply, Step step);

  // line.cpp
  bool join_queue(SessionId id, Session& session);
  WaitQueue* queue_headed_by(SessionId id, const Session& session);
  void leave_queue(const std::string& name, SessionId id, LocalInstant at_latest, Step step);
  LocalInstant first_attempt_of_next(Session& next, LocalInstant at_latest, Step step) const;
  void end_tenure(SessionId id, const Session& session, Step step);
  SessionId receiver_after(SessionId id, const Session& session) const;
  void hand_over(Cleanup cleanup, SessionId to, int in_a_row, Step step);
  void send_hand_over(CleanupId id, Cleanup& cleanup, Step step);
  void answer_hand_over(const PendingCommand& pending, const Reply& reply, Step step);
  void contend_for_itself(CleanupId id, ReleaseResult giver, bool unsure, Step step);
  void freed(const std::string& name, Step step);

  // stream.cpp
  void want_stream(const Session& session, Step step);
  void open_stream(Step step);
  void send_stream(StreamCommand::Step what, Step step);
  void answer_stream(CommandId command, const Reply& reply, Step step);
  void stream_failed(const Reply& reply, Step step);
  void close_stream(Step step);
  void stream_closed(Step step);
  void end_stream(Step step);
  bool stream_is_wanted(Step step);
  Session* listener(const WaitQueue& queue);
  Duration nearest_turn(Step step);
  void read_on(Step step);
  void pause_stream(Stream::Phase phase, Duration pause, Step step);
  void stream_due(Step step);
  void hear(const Freed& freed, Step step);
  void wake(SessionId id, Session& session, Step step);
  void wake_all(Step step);
  void won_without_news(const Session& session, const PendingCommand& pending, Step step);

  // extension.cpp
  void run_extension_round(Step step);
  void lose_what_is_over(Step step);
  void arm_extension_round(LocalInstant at, Step step);
  void arm_earliest_extension(Step step);
  void send_extension(const std::vector<SessionId>& ids, Step step);
  void answer_extension(const PendingCommand& pending, const Reply& reply, Step step);
  void answer_read_holders(const PendingCommand& pending, const Reply& reply, Step step);
  void found_gone(SessionId id, const Reply& reply, Step step);
  void extended(SessionId id, LocalInstant sent, Step step);
  void retry_extension(SessionId id, Step step);
  void lose(SessionId id, LostReason reason, Step step);
  void run_out(SessionId id, Step step);
  static bool wants_extension(const Session& session);
  Session* extending(SessionId id);

  // removal.cpp
  Cleanup make_cleanup(const Session& session, Step step) const;
  CleanupId start_cleanup(Cleanup cleanup, Step step);
  void send_cleanup(CleanupId id, Cleanup& cleanup, Step step);
  void send_delete(CleanupId id, Cleanup& cleanup, Step step);
  void answer_delete(const PendingCommand& pending, const Reply& reply, Step step);
  void attempt_ended(CleanupId id, bool may_have_won, Outcome outcome, Step step);
  void report(CleanupId id, ReleaseResult result, Step step);
  void pause_cleanup(CleanupId id, Cleanup& cleanup, Duration pause, Step step);
  static Duration pause_after_failure(const Cleanup& cleanup, LocalInstant now);

  CommandId send(PendingCommand pending, std::chrono::milliseconds timeout,
                 decltype(Command::body) body, Step step);
  static void clear_timer(Timer::Kind kind, std::uint64_t id, Step step);
  Owner fresh_owner(Step step);
  std::string lock_id(const Session& session, std::uint64_t beat) const;

  std::string holder_;
  Sessions sessions_;
  std::map<CleanupId, Cleanup> cleanups_;
  std::map<CommandId, PendingCommand> pending_;
  std::map<std::string, WaitQueue> wait_queues_;
  HolderObservations observations_;
  PaceEstimates paces_;
  Stream stream_;
  CommandId last_command_ = 0;
  CleanupId last_cleanup_ = 0;
  std::uint64_t last_beat_ = 0;
  std::optional<LocalInstant> round_at_;  ///< the earliest extension round a timer is set for
  enum class Index { wanted, asked, settled } index_ = Index::wanted;
  int index_tries_ = 0;
  bool closed_ = false;
};

}  // namespace leasehold::core

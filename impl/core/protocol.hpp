#pragma once

#include <cstdint>
#include <leasehold/fencing_token.hpp>
#include <leasehold/lock_handle.hpp>
#include <leasehold/lock_options.hpp>
#include <leasehold/result.hpp>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/document/lock_id.hpp"
#include "core/limits.hpp"
#include "core/time.hpp"

/// The whole I/O surface of the core: what it asks of a server (Command), what it may receive
/// (Reply), what happens to it (Event), and what it wants done (Effect). Values only.
namespace leasehold::core {

using SessionId = std::uint64_t;  ///< one acquire call and what became of it; chosen by the caller
using CommandId = std::uint64_t;  ///< one command sent; chosen by the core

/// Take the lock if it is missing, ours, exactly `observed`, or expired on the server's clock.
struct AcquireCommand {
  SessionId session;  ///< on its behalf; not sent
  std::string name;
  Owner owner;
  std::string lock_id;
  std::optional<std::string> observed;  ///< the lockId of a holder that is presumed dead
  std::chrono::milliseconds lease;
  std::chrono::milliseconds margin;  ///< added to the lease in the document; no holder relies on it
  /// If another holds it: join the lock's queue for so long, at the same place as before.
  std::optional<std::chrono::milliseconds> queues_for = {};
  std::size_t queue_room = kMostInQueue;  ///< for so many; the laboratory fills a smaller one
  /// The call's number among those that found no room; none: it takes one if it finds none.
  std::optional<std::int64_t> ticket = {};
  Room room = 0;  ///< with whom it shares
};

/// Renew one lock, if it is still this owner's of that grant. `expiresAt` never moves back by it:
/// an extension that a server executes late must not shorten what a newer one gave.
struct ExtendStatement {
  SessionId session;  ///< on its behalf; not sent
  std::string name;
  Owner owner;
  ServerInstant acquired_at;  ///< names the grant, where the owner alone may name a later one
  std::string lock_id;        ///< to be written: a new one for each command
  std::chrono::milliseconds lease;
  std::chrono::milliseconds margin;
  FencingToken token;
  Room room = 0;  ///< not 0: renews its entry; `acquired_at` is when that was admitted
  int slot = 0;   ///< of that
};
struct ExtendCommand {
  std::vector<ExtendStatement> statements;
};

/// Read the holders of these locks, and until when: after an extension that matched fewer than it
/// sent.
struct ReadHoldersCommand {
  std::vector<std::string> names;
};

/// Delete the lock if it is this owner's: a release, or the delete of what may have been won. By
/// owner and not by lockId, so that it finds any execution of any command of that owner, and may be
/// sent as often as needed.
struct DeleteCommand {
  std::string name;
  Owner owner;
  std::optional<Owner> or_owner;  ///< or this one's: of a hand-over that was given up
  bool unless_queued = false;     ///< only while the lock's queue is empty
};

/// This owner leaves the lock and its queue: what it holds goes to the first call in the queue, or
/// becomes free if the queue is empty.
struct PassOnCommand {
  std::string name;
  Owner owner;
  std::optional<Owner> or_owner;  ///< as well: of a hand-over that was given up
  /// The first call in the queue is only notified of its turn, and any process may take the lock.
  /// The server does so too when no release has been like that for a while, because calls that poll
  /// never see a lock free that passes from hand to hand.
  bool offers = false;
  /// The owner shares the lock, or calls were seen to wait that do: what the owner leaves goes to
  /// all that wait for this room, as many as it has, if the first call in the queue is one of them.
  Room room = 0;
};

/// Give the lock of one owner to the next, of the same process, if it is either's.
struct HandOverCommand {
  SessionId session;  ///< the receiver; not sent
  std::string name;
  Owner from;   ///< its handle is over before this is sent
  Owner owner;  ///< the receiver's
  std::string lock_id;
  std::chrono::milliseconds lease;
  std::chrono::milliseconds margin;
};

/// Have the TTL index on `expiresAt`.
struct EnsureIndexCommand {};

/// A step of the provider's change stream.
struct StreamCommand {
  enum class Step {
    open,
    next,  ///< waits for events, at the server, for half of its time-out
    look,  ///< asks for those that have come
    close
  };
  Step step = Step::open;
  std::int64_t cursor = 0;  ///< not open: the one that open returned
  std::uint64_t provider = 0;  ///< open: to report writes that name an owner with this first half
  FencingToken since = {};     ///< open: from this place in the oplog on; 0: from now on
};

/// A command of one of the published locks: its bytes, and how to read its reply.
struct RawCommand {
  enum class Role { prepare, acquire, extend, release, index };
  /// When an acquire has won: by its success, because no document was there before, or if the
  /// document after it shows the owner as its `lockId`.
  enum class Won { by_success, by_null_before, by_owner_in_value };
  Role role = Role::index;
  SessionId session = 0;
  std::string name;
  Owner owner;
  std::string lock_id;  ///< names this command among all; not sent
  std::string bson;
  Won won = Won::by_success;
  bool on_admin = false;  ///< runs on the database `admin`
};

/// Read the holder of a lock, for people: on behalf of no session, and no decision hangs on it.
struct InspectCommand {
  std::string name;
};

struct Command {
  CommandId id = 0;
  std::chrono::milliseconds timeout{};  ///< our own timer; server-side ones stay below it
  std::variant<AcquireCommand, ExtendCommand, ReadHoldersCommand, DeleteCommand, EnsureIndexCommand,
               RawCommand, HandOverCommand, StreamCommand, InspectCommand, PassOnCommand>
      body;
};

/// Whether it may take longer than any operation timeout, as steps of the change stream and the
/// creation of the index may: then it occupies no slot and no worker that others wait for.
[[nodiscard]] inline bool may_take_long(const decltype(Command::body)& body) {
  return std::holds_alternative<StreamCommand>(body) ||
         std::holds_alternative<EnsureIndexCommand>(body);
}

/// What became of a command, as far as its reply tells. Only `done` proves that a write stays; an
/// error without a known meaning is `unknown`.
enum class Outcome {
  done,           ///< executed, and acknowledged by a majority
  unknown,        ///< may have been executed, may still be, may be rolled back
  not_executed,   ///< certainly not executed; another try may succeed
  duplicate_key,  ///< another client inserted the name first
  configuration,  ///< certainly not executed; another try cannot succeed
};

/// A lock document as a write left it. `corruption` says what is wrong with it, or is empty; a
/// corrupt document counts as held.
struct LockDocument {
  std::string name;
  std::string lock_id;
  ServerInstant acquired_at;
  std::int64_t fencing_token = 0;  ///< as stored: a lower bound of the grant's own
  std::string corruption;
  std::string value = {};  ///< document-level: of the entity that the lock is on
  std::string queue = {};  ///< the calls that wait, as `lock_queue.hpp` reads them
  ServerInstant expires_at = {}, read_at = {};  ///< where it was asked for
  int slot = 0;  ///< of the permit that `holding_of` shows

  /// A release may leave a document, dated 1970: of no owner, or of an owner that is next to take
  /// the lock. REQUIRES: `expires_at` was asked for.
  [[nodiscard]] bool is_free() const { return corruption.empty() && expires_at == ServerInstant(); }
  bool operator==(const LockDocument&) const = default;
};

/// A document that names an owner of this provider, as the write left it that the stream reports. A
/// document that several readers share is reported once for each of them, as `holding_of` shows it.
struct NamedOwner {
  enum class As {
    holder,  ///< it has the lock
    next,    ///< the lock is free, and it may take it
    unclear  ///< the report lacks what a grant needs
  };
  As as = As::unclear;
  LockDocument document;
  FencingToken at;  ///< the operation time of the write
  bool operator==(const NamedOwner&) const = default;
};

struct Reply {
  /// Whether it tells of a time before this write. A primary that was cut off does not know yet
  /// that another was elected. It answers at once that nothing matched, because there is nothing to
  /// replicate; but it cannot deny what was written since.
  [[nodiscard]] bool is_before(FencingToken write) const { return operation_time < write; }
  /// What a call that does not try again says of it, unless it is done.
  [[nodiscard]] ErrorKind error_kind(ErrorKind if_unknown = ErrorKind::unavailable) const {
    if (outcome == Outcome::configuration) return ErrorKind::configuration;
    return outcome == Outcome::unknown ? if_unknown : ErrorKind::unavailable;
  }

  Outcome outcome = Outcome::unknown;
  int code = 0;                     ///< the server's error code, or 0
  std::string message;              ///< for people
  bool permanent = false;           ///< unknown, and another try cannot succeed
  FencingToken operation_time;      ///< when the outcome is done
  bool retried = false;             ///< the driver retried: operation_time is not the write's
  std::int64_t matched = 0;         ///< extend: statements that matched; delete: documents gone
  std::vector<std::size_t> failed;  ///< extend: indices of statements with an error of their own
  /// Acquire, hand-over: the one after; pass-on: the one before; look: those found.
  std::vector<LockDocument> documents;
  std::int64_t cursor = 0;        ///< stream: the one to go on with; 0: it has ended
  std::vector<NamedOwner> named;  ///< stream: in the order in which it happened
  bool operator==(const Reply&) const = default;
};

/// What wakes the core without an answer. `id` names the session, command or departure; 0 for the
/// extension round and the stream, of which there is one each.
struct Timer {
  enum class Kind {
    attempt,          ///< session: its pause is over, the next attempt is due
    give_up,          ///< session: the caller's timeout is over
    lease_end,        ///< session that won: a held lock's deadline; set again if that has moved
    command_timeout,  ///< command: no answer in time, it is cut off
    extension_round,  ///< the earliest extension is due
    departure,        ///< departure: the pause before the next delete or hand-over is over
    report,           ///< departure: the releaser has waited long enough, the result is unknown
    stream,           ///< the pause before the stream's next step is over
  };
  Kind kind;
  std::uint64_t id;
  auto operator<=>(const Timer&) const = default;
};

/// Events. One for an unknown session, a command already answered or a timer not due is a no-op:
/// its driver may race with itself, deliver late, and deliver twice.
///
/// A caller wants the lock. What becomes of the session comes as one Granted or one Ended.
struct AcquireAsked {
  SessionId session;
  std::string name;
  LockOptions options;                     ///< checked
  std::optional<LocalInstant> give_up_at;  ///< none: never
  bool single_attempt = false;
  Room room = 0;  ///< with whom it shares the lock
  /// Not 0: a downgrade. It makes no attempt, and gets the lock from this session, which is
  /// released next, or ends.
  SessionId downgraded = 0;
};
/// The caller does not want it any more. A session that has won meanwhile keeps the lock until it
/// is released.
struct CancelAsked {
  SessionId session;
};
/// The handle has ended, held or lost; it says no from before this event on. The result comes as
/// Released, within one operation timeout.
struct ReleaseAsked {
  SessionId session;
};
/// A caller asked `held()` at or after the deadline and got false: that answer is final.
struct DeadlineSeen {
  SessionId session;
};
/// A holder wants its lease to begin anew, before its next extension is due. What comes of it comes
/// as Extended or Lost, as with any extension; one under way already is not sent twice.
struct ExtendAsked {
  SessionId session;
};
/// What a Send brought, or what its driver knows of why nothing came.
struct ReplyArrived {
  CommandId command;
  Reply reply;
};
/// The clock has reached what SetTimer said, or the driver was early.
struct TimerFired {
  Timer timer;
};
struct CloseAsked {};  ///< no acquire waits or starts from here on
using Event = std::variant<AcquireAsked, CancelAsked, ReleaseAsked, DeadlineSeen, ExtendAsked,
                           ReplyArrived, TimerFired, CloseAsked>;

/// Effects, to be carried out in order.
struct Send {
  Command command;
};
/// Stop waiting for this command: cut the connection it hangs on. Its reply is no longer wanted.
struct Abandon {
  CommandId command;
};
/// At most one timer of a kind and id is set: a later SetTimer replaces the earlier. One that has
/// fired is no longer set. To fire early, twice or although cleared does no harm.
struct SetTimer {
  Timer timer;
  LocalInstant at;
};
/// This timer is no longer wanted: a caller that asks in a loop with a long time-out must not leave
/// one behind for each call. Nothing happens if it is not set.
struct ClearTimer {
  Timer timer;
};
// What became of a session. Each names the lock and the grant, and the command if it comes by one,
// so that no table is needed to translate it.
struct Granted {
  SessionId session;
  std::string name;
  FencingToken token;
  Owner owner;
  std::string lock_id;  ///< that the command wrote
  CommandId command;    ///< passed on: the step of the stream that reported it; shared: 0
  /// By an attempt of its own, by a handle of this process, by a release of another process, or
  /// because it reads and shares the entry of another reader of this process.
  enum class By { attempt, hand_over, pass_on, share } by;
  LocalInstant sent;      ///< from when the lease counts, whenever the reply came
  LocalInstant deadline;  ///< when held() turns false, unless an extension moves it
  Room room = 0;
  int slot = 0;           ///< of a permit
};
struct Extended {
  SessionId session;
  std::string name;
  FencingToken token;   ///< of the grant
  std::string lock_id;  ///< that the extension wrote
  CommandId command;    ///< the extension, or the read that confirmed it
  LocalInstant sent;
  LocalInstant deadline;
};
/// Final: no Extended follows, whatever a server says later. Only its Released is left to come.
struct Lost {
  SessionId session;
  std::string name;
  FencingToken token;
  LostReason reason;
};
/// The call returns without the lock. What it may have won is cleaned up without it.
struct Ended {
  SessionId session;
  std::string name;
  Error error;
};
struct Released {
  SessionId session;
  std::string name;
  FencingToken token;
  ReleaseResult result;
};
/// For the operator: something that retrying does not cure, and that no caller's result shows.
struct Warned {
  std::string message;
};
/// From here on (`begins`), or until here, something that is due waits unsent for a free slot (see
/// PendingCommands). For checks of how soon it is sent.
struct Congested {
  bool begins;
};
using Effect = std::variant<Send, Abandon, SetTimer, ClearTimer, Granted, Extended, Lost, Ended,
                            Released, Warned, Congested>;
using Effects = std::vector<Effect>;

}  // namespace leasehold::core

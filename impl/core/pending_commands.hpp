#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/step.hpp"

namespace leasehold::core {

using DepartureId = std::uint64_t;

/// A command that was sent, not answered, and not given up: what its answer needs and the reply
/// does not say. A value of its sender, kept here because only the number comes back.
struct PendingCommand {
  enum class Kind { attempt, extension, read_holders, departure, hand_over, index, stream };
  Kind kind;
  CommandId id = 0;  ///< filled in by `send`, like the next
  LocalInstant sent;
  std::vector<SessionId> sessions;  ///< attempt, hand_over: one, or none if its call has ended;
                                    ///< extension and read_holders: all that they are for
  DepartureId departure = 0;        ///< departure and hand_over; attempt: for a call that has ended
  std::uint64_t beat = 0;  ///< attempt, extension, hand_over; read_holders: of the extension before
  std::optional<std::string> observed;  ///< attempt: the lockId of a holder that is presumed dead
  bool counts = true;                   ///< filled in by `send`: it takes one of the slots
};

/// The commands under way, the numbers that name them, and the line of timers that wait for a slot.
/// Each command under way takes one of the slots. A command that waits in line is not built yet, so
/// its time has not begun, and it can end without a trace.
///
/// Once as many commands in a row as there are slots were not answered in time, the servers are
/// taken to be away or overloaded: then one command at a time asks, until one is answered.
///
/// Two kinds take no slot, because they may take longer than any operation timeout: the steps of
/// the change stream, one at a time, and the creation of the index.
///
/// INVARIANT: each has its command_timeout timer set; ids and beats never come twice.
/// INVARIANT: between two events of the core nothing waits in line while a slot is free.
class PendingCommands {
 public:
  static constexpr int kUnbounded = std::numeric_limits<int>::max();

  explicit PendingCommands(int slots = kUnbounded) : slots_(slots) {}

  /// Whether a slot is free. A command that finds none waits in line.
  [[nodiscard]] bool may_send() const {
    return !others_first_ && busy_ < (unheard_ < slots_ ? slots_ : 1);
  }
  /// What waits in line goes before what an event itself has to send, and gets the slot it frees.
  void put_others_first(bool first) { others_first_ = first; }
  [[nodiscard]] bool anyone_waits() const { return !attempts_.empty() || !departures_.empty(); }

  /// Has this timer's owner called once a slot is free. It is due since then: of its kind, the
  /// longest due is the first.
  void stand_in_line(Timer timer, LocalInstant since) {
    line_of(timer.kind).insert({since, timer});
  }
  /// REQUIRES: it is due since then
  void leave_line(Timer timer, LocalInstant since) { line_of(timer.kind).erase({since, timer}); }
  [[nodiscard]] bool stands_in_line(Timer timer, LocalInstant since) {
    return line_of(timer.kind).contains({since, timer});
  }
  /// The next in line, attempts and departures by turns. None: the line is empty. One that is then
  /// not sent, because its time is over, has had no turn.
  std::optional<Timer> next_in_line(bool attempts_too);

  /// Before `take`: this command was answered by a server or by the driver, or was given up.
  void heard() { unheard_ = 0; }
  void not_heard();

  /// Sends it now; `pending.id` and `pending.sent` are filled in.
  CommandId send(PendingCommand pending, std::chrono::milliseconds timeout,
                 decltype(Command::body) body, Step step);

  /// The command that was answered, which is over with that; none: it was over already.
  std::optional<PendingCommand> take(CommandId id, Step step);

  /// Its reply is not wanted any more. Only for what writes nothing, because it stays unknown what
  /// a write did that was cut off.
  void abandon(CommandId id, Step step);

  [[nodiscard]] bool contains(CommandId id) const { return pending_.contains(id); }
  /// REQUIRES: it is under way
  [[nodiscard]] PendingCommand& at(CommandId id) { return pending_.at(id); }

  /// The number that the next execution of an attempt, extension or hand-over writes into the
  /// lockId, so that each execution can be distinguished from every other.
  std::uint64_t next_beat() { return ++last_beat_; }

 private:
  using Line = std::set<std::pair<LocalInstant, Timer>>;
  Line& line_of(Timer::Kind kind) { return kind == Timer::Kind::attempt ? attempts_ : departures_; }

  std::map<CommandId, PendingCommand> pending_;
  int slots_;
  int busy_ = 0;     ///< slots that are taken; more than there are where an answer needs another
  int unheard_ = 0;  ///< commands in a row that were not answered in time; at most `slots_`
  Line attempts_, departures_;
  bool attempt_last_ = false;    ///< of the two kinds, an attempt was sent last
  bool others_first_ = false;  ///< within an event only
  CommandId last_command_ = 0;
  std::uint64_t last_beat_ = 0;
};

}  // namespace leasehold::core

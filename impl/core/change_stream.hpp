#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/pending_commands.hpp"

namespace leasehold::core {

/// The change stream that tells those who wait what they wait for, if a strategy wants one (MongoDB
/// manual, "Change Streams"): that a lock is free, or that it was passed to them. Whatever it says
/// or leaves out, a call that waits makes an attempt at least each longest pause of its strategy.
///
///     off -> opening -> open -> closing -> off or opening
///               |        |
///               +--------+-> pausing (after a failure) -> opening
///               +--------+-> refused (no permission, for good)
///
/// INVARIANT: at most one command of it is under way that was not abandoned. A close and the open
/// after it must not run side by side, on two threads of a driver and one connection.
class ChangeStream {
 public:
  /// What it reports.
  struct Reports {
    bool releases = false;                ///< of all locks
    std::optional<std::uint64_t> grants;  ///< to owners with this first half
    [[nodiscard]] bool include(const Reports& others) const {
      return (releases || !others.releases) && (!others.grants || grants == others.grants);
    }
    bool operator==(const Reports&) const = default;
  };

  [[nodiscard]] bool is_open() const { return phase_ == Phase::open; }
  [[nodiscard]] bool is_open_for(const Reports& reports) const {
    return is_open() && reports_.include(reports);
  }
  /// Open, and nobody reads: only then does `listen` use its `nearest_turn`.
  [[nodiscard]] bool is_idle() const { return is_open() && command_ == 0; }

  /// Somebody begins to wait who would act on such news: it stays wanted for a while.
  void want(const Reports& reports, LocalInstant now);
  /// Opens it if it is off, has it read if it is open and idle. `nearest_turn`: how soon anybody
  /// would act on news; the server need not send each one on its own before.
  void listen(Duration nearest_turn, PendingCommands& pending, Step step);

  /// What a reply was: nothing to act on, the first of an opened stream (whoever waits may have
  /// missed a release before it), or news. `listened`: whether a call waits that acts on news.
  enum class Heard { nothing, opened, news };
  Heard answered(CommandId command, const Reply& reply, bool listened, PendingCommands& pending,
                 Step step);
  /// After news: closes it, if it lags or nobody listens; otherwise reads on.
  void read_on(bool listened, Duration nearest_turn, PendingCommands& pending, Step step);

  /// Its timer fired.
  void due(PendingCommands& pending, Step step);

  /// The provider ends. A step that waits for news is cut off; a cursor that waits for its next
  /// step is closed.
  void end(PendingCommands& pending, Step step);

  /// A poll found the lock free without news of its release: they have to come soon, or the stream
  /// lags too far behind to be of use.
  void expect(const std::string& name, LocalInstant now);
  /// The stream reported a release of this name.
  void reported(const std::string& name);

  bool operator==(const ChangeStream&) const = default;

 private:
  enum class Phase { off, opening, open, pausing, closing, refused };
  struct Owed {
    std::string name;
    LocalInstant since;
    bool operator==(const Owed&) const = default;
  };

  void open(PendingCommands& pending, Step step);
  void close(PendingCommands& pending, Step step);
  void send(StreamCommand::Step what, PendingCommands& pending, Step step);
  void read(Duration nearest_turn, PendingCommands& pending, Step step);
  void failed(const Reply& reply, bool listened, Step step);
  void closed(bool listened, PendingCommands& pending, Step step);
  void pause(Phase phase, Duration pause, Step step);
  bool is_wanted(bool listened, LocalInstant now);

  Phase phase_ = Phase::off;
  Reports wanted_;           ///< by anybody, since it was off
  Reports reports_;          ///< opening, open: what it was opened for
  std::int64_t cursor_ = 0;  ///< open, closing: at the server; 0: none
  CommandId command_ = 0;    ///< the step under way, or 0
  LocalInstant wanted_until_;
  LocalInstant next_at_;  ///< pausing, open: when the next step is due, with none under way
  int failures_ = 0;      ///< in a row
  std::optional<Owed> owed_;
};

}  // namespace leasehold::core

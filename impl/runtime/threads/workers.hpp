#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>

#include "core/transport.hpp"
#include "runtime/threads/executor.hpp"

namespace leasehold::runtime {

/// Commands and timers with numbers from here on are the driver's own. A core counts from 1 and
/// never comes so far, so both share Workers and Timers.
inline constexpr std::uint64_t kOwnIds = std::uint64_t{1} << 63;

/// Carries one command at a time to the servers and its reply back: what a worker has of its own.
class Carrier {
 public:
  virtual ~Carrier() = default;

  /// `done` is called once, with the reply: before this returns, where a thread can wait for it,
  /// or later.
  virtual void carry(core::Command command, std::function<void(core::Reply)> done) = 0;

  /// From any thread: makes this command, if it is under way, end soon, with an unknown outcome.
  /// Never calls `done` itself.
  virtual void interrupt(core::CommandId command) noexcept = 0;
};

/// Where carriers come from: called by any worker, on its own thread.
using Carriers = std::function<std::unique_ptr<Carrier>()>;

/// Carriers that wait for each reply on a connection of `transport`.
[[nodiscard]] Carriers carriers_of(std::shared_ptr<core::Transport> transport);

/// The bounded set of activities that carry commands. A worker with an abandoned command does not
/// count: another may start in its place, so one hung socket never holds up the rest. The same
/// holds for a worker that carries a step of the change stream, and for one that makes the index.
///
/// Once as many commands in a row as there are workers were abandoned, and nothing was received in
/// between, the servers are taken to be away or overloaded: then one command at a time asks, an
/// extension before others, until one is answered. Each cut costs a server a connection, so many
/// processes that all go on at full rate keep an overloaded one from ever recovering.
///
/// INVARIANT: no command waits while a worker that may carry it is idle or may be started. Call
/// `dispatch` after changing the queue or the workers.
/// Thread safety: all calls from any thread. `on_reply` is called on a worker without a lock, never
/// after `stop` returned.
class Workers {
 public:
  /// For how long `stop` waits for commands that hang.
  static constexpr std::chrono::seconds kStopWait{1};

  /// Starts the first one. Throws std::system_error where there is no thread for it: without any,
  /// commands would wait for nothing.
  Workers(std::shared_ptr<Executor> executor, Carriers carriers, int limit,
          std::function<void(core::CommandId, core::Reply)> on_reply);
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  void submit(core::Command command);

  /// Drops the command if it still waits for a worker; otherwise cuts the connection it hangs on.
  void abandon(core::CommandId command);

  /// Cuts what still runs, and waits at most kStopWait for it, and for the carriers of all workers
  /// to be gone: then none of them says good-bye to a server while the process is in exit().
  /// Threads that hang for longer are left to themselves, with what they use.
  /// REQUIRES: not called by `on_reply`.
  void stop();

 private:
  struct State;
  struct Worker;
  using Shared = std::shared_ptr<State>;
  static void dispatch(const Shared& state);
  static std::shared_ptr<Worker> start_one(const Shared& state);
  static void turn(const Shared& state, const std::shared_ptr<Worker>& self);
  static void answered(const Shared& state, const std::shared_ptr<Worker>& self,
                       core::CommandId command, core::Reply reply);
  static void leave_soon(Worker& worker);
  static void leave(const Shared& state, const std::shared_ptr<Worker>& self);

  const std::shared_ptr<Executor> executor_;
  const Shared state_;
};

}  // namespace leasehold::runtime

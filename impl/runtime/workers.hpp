#pragma once

#include <chrono>
#include <functional>
#include <memory>

#include "core/transport.hpp"

namespace leasehold::runtime {

/// The bounded set of threads on which commands run. A worker whose command was abandoned no longer
/// counts: another may start in its place, so one hung socket never holds up the rest. The same
/// holds for one that waits for news of a change stream.
///
/// Once as many commands in a row as there are workers were abandoned, and nothing was heard in
/// between, the servers are taken to be away or overloaded: then one command at a time asks, an
/// extension before others, until one is answered. Each cut costs a server a connection, so many
/// processes that all go on at full rate keep an overloaded one from ever recovering.
///
/// Thread safety: all calls from any thread. `on_reply` is called on a worker, never after the
/// destructor returned. The destructor cuts what still runs and waits at most kStopWait.
class Workers {
 public:
  static constexpr std::chrono::seconds kStopWait{1};

  Workers(std::shared_ptr<core::Transport> transport, int limit,
          std::function<void(core::CommandId, core::Reply)> on_reply);
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  void submit(core::Command command);

  /// Drops the command if it still waits for a worker; otherwise cuts the connection it hangs on.
  void abandon(core::CommandId command);

 private:
  struct State;
  struct Worker;
  static void run(const std::shared_ptr<State>& state, Worker& self);
  static void start_one(const std::shared_ptr<State>& state);

  std::shared_ptr<State> state_;
};

}  // namespace leasehold::runtime

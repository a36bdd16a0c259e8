#pragma once

#include <memory>

#include "core/protocol.hpp"

namespace leasehold::core {

/// One way to a replica set, for one thread at a time.
class Connection {
 public:
  virtual ~Connection() = default;

  /// Sends the command and waits for its reply. May hang for as long as a network can.
  virtual Reply execute(const Command& command) = 0;

  /// From any thread: makes `execute` of this command return soon, with an unknown outcome, by
  /// cutting what it waits on; if it has not begun, it does not begin. No other command is touched.
  /// It may still take a server selection time-out, and the time of a connection that is being made
  /// for it, unless it is interrupted once more.
  virtual void interrupt(CommandId command) noexcept = 0;
};

/// Where connections come from. Thread safety: `connect` from any thread. A connection may outlive
/// its transport: one that hangs, or that its thread has yet to destroy.
class Transport {
 public:
  virtual ~Transport() = default;
  virtual std::unique_ptr<Connection> connect() = 0;
};

}  // namespace leasehold::core

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

  /// From any thread, while `execute` runs: makes it return soon, with an unknown outcome, by
  /// cutting what it waits on. It may still take a server selection time-out.
  virtual void interrupt() noexcept = 0;
};

/// Where connections come from. Thread safety: `connect` from any thread. A connection may outlive
/// its transport: one that hangs, or that its thread has yet to destroy.
class Transport {
 public:
  virtual ~Transport() = default;
  virtual std::unique_ptr<Connection> connect() = 0;
};

}  // namespace leasehold::core

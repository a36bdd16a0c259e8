#pragma once

#include <functional>
#include <memory>

#include "core/transport.hpp"

namespace leasehold::runtime {

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

}  // namespace leasehold::runtime

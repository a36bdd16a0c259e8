#pragma once

#include <cstdint>
#include <map>
#include <mutex>

#include "core/time.hpp"
#include "runtime/own_ids.hpp"
#include "runtime/threads/callbacks.hpp"
#include "runtime/threads/timers.hpp"

namespace leasehold::runtime {

/// Functions that are to be called at a time to come, as Callbacks calls them.
///
/// INVARIANT: each has its timer set until it is called or forgotten; it is called once at most.
/// Thread safety: all calls from any thread.
///
///     const auto call = calls.add(clock.now() + 1s, [] { ask_again(); });
///     calls.forget(call);  // unless it was on its way already
class LaterCalls {
 public:
  LaterCalls(Timers& timers, Callbacks& callbacks) : timers_(timers), callbacks_(callbacks) {}

  /// The number by which to forget it; never 0.
  std::uint64_t add(core::LocalInstant at, Callbacks::Function function);
  /// Not called any more, if it was not on its way already.
  void forget(std::uint64_t call);
  /// Its timer fired.
  void due(std::uint64_t call);

 private:
  Timers& timers_;
  Callbacks& callbacks_;

  std::mutex mutex_;  // protects the rest
  std::uint64_t last_ = kOwnIds;
  std::map<std::uint64_t, Callbacks::Function> calls_;
};

}  // namespace leasehold::runtime

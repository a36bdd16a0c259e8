#pragma once

#include <cstdint>

#include "core/entropy.hpp"
#include "core/protocol.hpp"

namespace leasehold::core {

class PendingCommands;

/// What one event gives to the code that handles it: the time, randomness, and where effects go.
/// Made anew for each event, and never kept.
struct Step {
  LocalInstant now;
  Entropy& entropy;
  Effects& out;
};

/// A step of a part that sends commands.
struct SendingStep : Step {
  PendingCommands& pending;
};

/// Both are effects like any other: the driver that carries them out keeps at most one timer of a
/// kind and id, so that setting it again moves it (see SetTimer).
inline void set_timer(Timer::Kind kind, std::uint64_t id, LocalInstant at, Step step) {
  step.out.push_back(SetTimer{{kind, id}, at});
}

inline void clear_timer(Timer::Kind kind, std::uint64_t id, Step step) {
  step.out.push_back(ClearTimer{{kind, id}});
}

/// 128 bits: two calls of any two processes are the same owner by a negligible chance only. The
/// order of the draws is part of what a seed means.
inline Owner fresh_owner(Step step) { return {step.entropy.draw(), step.entropy.draw()}; }

}  // namespace leasehold::core

#pragma once

#include <cstdint>
#include <span>
#include <string_view>

/// The inputs of an acquire call and its handle, and the arrows of the lifecycle diagram that each
/// takes. The abstract lock and the conformance of histories share it.
namespace leasehold::model {

enum class LifecycleStep : std::uint8_t {
  created,               ///< the call began
  attempt_sent,          ///< a command that asks for the lock, a hand-over too
  attempt_refused,       ///< another has the lock
  attempt_unanswered,    ///< or its outcome is unknown
  nothing_to_hand_over,  ///< the hand-over found no document
  won_too_late,          ///< an attempt won, and nothing is made of it
  granted,
  passed_on,  ///< likewise, by a release of another process
  extension_sent,
  extension_unanswered,  ///< while the lease still runs
  extended,
  lost,
  signalled,  ///< the handle's `lost()` fired
  release_asked,
  deleted,      ///< the release is answered
  handed_over,  ///< likewise, and another call of the process has the lock
  ended,        ///< the call returns without the lock
  cleaned_up    ///< the TTL monitor deletes what a dead holder left; no client sees it
};

/// The inputs of its arrows from this state, in their order. The caller checks that the diagram has
/// these arrows.
[[nodiscard]] std::span<const std::string_view> inputs_of(LifecycleStep step,
                                                          std::string_view state);

}  // namespace leasehold::model

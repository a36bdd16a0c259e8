#pragma once

#include <cstdint>
#include <span>
#include <string_view>

/// What can happen to an acquire call and its handle, and which arrows of the lifecycle diagram it
/// takes. The one place that says so: the abstract lock, the explorer of the core and the
/// conformance of histories all ask here.
namespace leasehold::model {

enum class LifecycleStep : std::uint8_t {
  created,               ///< the call was asked for
  attempt_sent,          ///< a command that asks for the lock, a hand-over too
  attempt_refused,       ///< another has the lock
  attempt_unanswered,    ///< or its answer settles nothing
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

/// The inputs of its arrows from this state, in their order. Whether the diagram has these arrows
/// is for the caller to ask.
[[nodiscard]] std::span<const std::string_view> inputs_of(LifecycleStep step,
                                                          std::string_view state);

}  // namespace leasehold::model

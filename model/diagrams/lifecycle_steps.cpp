#include "model/diagrams/lifecycle_steps.hpp"

#include <array>

namespace leasehold::model {
namespace {

template <typename... Inputs>
constexpr auto inputs(Inputs... all) {
  return std::array<std::string_view, sizeof...(all)>{all...};
}

constexpr auto kCreatedArrow = inputs("Create Lock");
constexpr auto kAttemptSentArrow = inputs("Call AcquireAsync()");
constexpr auto kRefusedArrow = inputs("Lock Held by Others");
constexpr auto kUnansweredArrow = inputs("Outcome Unknown");
constexpr auto kNothingToHandOverArrow = inputs("Nothing To Hand Over");
constexpr auto kWonTooLateArrow = inputs("Won Too Late");
constexpr auto kGrantedArrow = inputs("Successfully Acquired Lock");
constexpr auto kPassedOnArrow = inputs("Lock Passed On");
constexpr auto kExtensionSentArrow = inputs("Background Extension Task");
// The diagram has one extension at a time: nothing came of the one before.
constexpr auto kNextExtensionSentArrows = inputs("Outcome Unknown", "Background Extension Task");
constexpr auto kExtendedArrow = inputs("Extension Successful");
constexpr auto kExtensionFailedArrow = inputs("Extension Failed");
constexpr auto kLeaseRanOutArrow = inputs("Lease Ran Out");
constexpr auto kSignalledArrow = inputs("HandleLostToken Signaled");
constexpr auto kReleaseAskedArrow = inputs("Dispose Handle");
// The core reports once that it is deleted and over; the diagram has two arrows for it.
constexpr auto kDeletedArrows = inputs("Lock Document Deleted", "Lock Released");
constexpr auto kHandedOverArrows = inputs("Lock Handed Over", "Lock Released");
constexpr auto kEndedArrow = inputs("Give Up");
constexpr auto kCleanedUpArrows = inputs("TTL Cleanup", "Stale Lock Cleaned Up");

}  // namespace

std::span<const std::string_view> inputs_of(LifecycleStep step, std::string_view state) {
  const bool extending = state == "Extending";
  switch (step) {
    case LifecycleStep::created: return kCreatedArrow;
    case LifecycleStep::attempt_sent: return kAttemptSentArrow;
    case LifecycleStep::attempt_refused: return kRefusedArrow;
    case LifecycleStep::attempt_unanswered: return kUnansweredArrow;
    case LifecycleStep::nothing_to_hand_over: return kNothingToHandOverArrow;
    case LifecycleStep::won_too_late: return kWonTooLateArrow;
    case LifecycleStep::granted: return kGrantedArrow;
    case LifecycleStep::passed_on: return kPassedOnArrow;
    case LifecycleStep::extension_sent:
      if (extending) return kNextExtensionSentArrows;
      return kExtensionSentArrow;
    case LifecycleStep::extension_unanswered: return kUnansweredArrow;
    case LifecycleStep::extended: return kExtendedArrow;
    case LifecycleStep::lost:
      if (extending) return kExtensionFailedArrow;
      return kLeaseRanOutArrow;
    case LifecycleStep::signalled: return kSignalledArrow;
    case LifecycleStep::release_asked: return kReleaseAskedArrow;
    case LifecycleStep::deleted: return kDeletedArrows;
    case LifecycleStep::handed_over: return kHandedOverArrows;
    case LifecycleStep::ended: return kEndedArrow;
    case LifecycleStep::cleaned_up: return kCleanedUpArrows;
  }
  return {};
}

}  // namespace leasehold::model

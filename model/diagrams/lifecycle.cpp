#include "model/diagrams/transition_table.hpp"

namespace leasehold::model {

const TransitionTable& lifecycle() {
  constexpr auto kDocument = Source::document;
  constexpr auto kReality = Source::reality;
  static const TransitionTable table(
      "lifecycle", "stateDiagram-v2",
      {
          {kOutside, "Create Lock", "Waiting", kDocument, "a name is bound; nothing is sent"},
          {"Waiting", "Call AcquireAsync()", "Acquiring", kDocument, "an attempt is sent"},
          {"Waiting", "TTL Cleanup", "Expired", kDocument,
           "the server deletes the document of a holder that is gone; no client sees this"},
          {"Acquiring", "Successfully Acquired Lock", "Acquired", kDocument,
           "the document after the attempt shows our owner, acknowledged by a majority"},
          {"Acquiring", "Lock Held by Others", "Waiting", kDocument,
           "it shows another's; nothing was written"},
          {"Acquired", "Background Extension Task", "Extending", kDocument,
           "the extension cadence is over"},
          {"Extending", "Extension Successful", "Acquired", kDocument,
           "the statement matched: the full expiry runs again"},
          {"Extending", "Extension Failed", "Lost", kDocument,
           "it matched nothing, or the lease ran out before an answer"},
          {"Acquired", "Dispose Handle", "Releasing", kDocument,
           "held() turns false, then the delete is sent"},
          {"Releasing", "Lock Document Deleted", "Released", kDocument,
           "or found gone; or no server answered in time"},
          {"Lost", "HandleLostToken Signaled", kOutside, kDocument, "lost is final"},
          {"Released", "Lock Released", kOutside, kDocument, "nothing of the handle is left"},
          {"Expired", "Stale Lock Cleaned Up", kOutside, kDocument, "the name is free"},

          {"Waiting", "Give Up", kOutside, kReality, "time-out or cancel between two attempts"},
          {"Acquiring", "Give Up", kOutside, kReality,
           "time-out, cancel or an error that retrying cannot fix; what the attempt under way may "
           "win is deleted in the background"},
          {"Releasing", "Lock Handed Over", "Released", kReality,
           "to the next waiter of the same process, by one command instead of two"},
          {"Waiting", "Lock Passed On", "Acquired", kReality,
           "a release of another process gave it to the first of its queue"},
          {"Acquiring", "Nothing To Hand Over", "Waiting", kReality,
           "the lock that a release was to give us was gone already"},
          {"Acquiring", "Outcome Unknown", "Waiting", kReality,
           "no reply, or one that settles nothing: the same owner tries again and recognises its "
           "win"},
          {"Acquiring", "Won Too Late", "Waiting", kReality,
           "the reply came past its own lease: given back, a fresh owner tries on"},
          {"Acquired", "Lease Ran Out", "Lost", kReality,
           "by the local deadline, with no extension under way: the process was paused"},
          {"Extending", "Outcome Unknown", "Acquired", kReality,
           "an extension failed while the lease still runs: it is tried again"},
          {"Extending", "Dispose Handle", "Releasing", kReality,
           "a release does not wait for an extension; that one finds nothing to match"},
          {"Lost", "Dispose Handle", "Releasing", kReality,
           "a late extension may have revived the document: it is deleted all the same"},
      });
  return table;
}

}  // namespace leasehold::model

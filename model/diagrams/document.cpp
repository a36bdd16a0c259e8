#include "model/diagrams/transition_table.hpp"

namespace leasehold::model {

const TransitionTable& document_states() {
  constexpr auto kDocument = Source::document;
  constexpr auto kReality = Source::reality;
  static const TransitionTable table(
      "document", "graph LR",
      {
          {"NonExistent", "Acquire Attempt", "Active", kDocument, "the upsert inserts it"},
          {"Active", "Background Task", "Extending", kDocument, "its holder sends an extension"},
          {"Extending", "Success", "Active", kDocument, "the extension was executed"},
          {"Extending", "Failure", "Expired", kDocument,
           "none was executed before the lease ran out"},
          {"Active", "Release", "Deleted", kDocument, "a delete by its own owner"},
          {"Expired", "Other Process Acquires", "Active", kDocument,
           "by the server's clock, or because it was observed dead"},
          {"Expired", "TTL Cleanup", "Deleted", kDocument, "the TTL monitor's pass"},

          {"Deleted", "Acquire Attempt", "Active", kReality,
           "deleted is as good as never there: the name is free"},
          {"Active", "Lease Ran Out", "Expired", kReality,
           "its holder died before it sent an extension"},
          {"Active", "Own Retry", "Active", kReality,
           "an attempt after a lost reply finds itself there already"},
          {"Active", "Handed Over", "Active", kReality,
           "its holder's release gave it to the next waiter: of the same process, or of its queue"},
          {"Extending", "Own Retry", "Active", kReality,
           "an attempt of the same call that was under way arrives late"},
          {"Extending", "Release", "Deleted", kReality, "a release does not wait for an extension"},
          {"Expired", "Late Renewal", "Active", kReality,
           "an extension sent in time executes late, and no other took the lock in between"},
          {"Expired", "Release", "Deleted", kReality, "the release of a handle that was lost"},
      });
  return table;
}

}  // namespace leasehold::model

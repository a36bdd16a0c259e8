#include <array>
#include <utility>

#include "model/diagrams/transition_table.hpp"

namespace leasehold::model {

const TransitionTable& flowchart() {
  constexpr auto kDocument = Source::document;
  constexpr auto kReality = Source::reality;
  static const TransitionTable table(
      "flowchart", "flowchart TD",
      {
          {"A", "then", "B", kDocument, "the first attempt of an acquire call"},
          {"B", "then", "C", kDocument, "one findAndModify decides and writes"},
          {"C", "Yes", "D", kDocument, "there is a document"},
          {"C", "No", "E", kDocument, "the upsert's seed"},
          {"D", "Yes", "F", kDocument, "expired on the server's clock, or observed dead"},
          {"D", "No", "G", kDocument, "left as it is"},
          {"E", "then", "H", kDocument, "the new document gets our id"},
          {"F", "then", "H", kDocument, "every field of the old one is replaced"},
          {"H", "then", "I", kDocument, "owner, lease and beat"},
          {"I", "then", "J", kDocument, "now of the server, expiry and clock margin"},
          {"J", "then", "K", kDocument, "now of the server"},
          {"K", "then", "L", kDocument, "a lower bound; the token is the write's own time"},
          {"L", "then", "M", kDocument, "the document after the write"},
          {"M", "Yes", "N", kDocument, "our owner"},
          {"M", "No", "O", kDocument, "another's, although we set out when it was free"},
          {"G", "then", "P", kDocument, "held: try later"},
          {"O", "then", "P", kDocument, "a lost race is like a held lock"},
          {"P", "then", "Q", kDocument, "the waiting strategy's pause"},
          {"Q", "then", "B", kDocument, "until the time-out"},
          {"N", "then", "R", kDocument, "one timer for all handles of a provider"},
          {"R", "then", "S", kDocument, "the caller may begin"},

          {"D", "Ours", "F", kReality, "a retry after a lost reply finds its own owner"},
          {"D", "Handed Over", "F", kReality,
           "a release of the same process gives it to this call, in the same kind of command"},
          {"P", "Passed On", "N", kReality,
           "a release of another process gives it to this call, which stands in its queue"},
          {"B", "Nothing To Hand Over", "P", kReality, "the releaser's lock was gone already"},
          {"N", "Won Too Late", "P", kReality, "the reply came past its own lease"},
          {"B", "No Reply", "P", kReality, "unknown outcome, or no server that takes writes"},
          {"A", "Give Up", kOutside, kReality, "while others of its process are before it"},
          {"P", "Give Up", kOutside, kReality, "time-out or cancel"},
          {"B", "Give Up", kOutside, kReality, "likewise, with the attempt under way"},
      });
  return table;
}

std::string_view flowchart_text(std::string_view id) {
  constexpr std::array kTexts{
      std::pair{"A", "Client Requests Lock"},
      std::pair{"B", "Call FindOneAndUpdateAsync"},
      std::pair{"C", "Lock Document Exists?"},
      std::pair{"D", "Document Expired?"},
      std::pair{"E", "Create New Lock"},
      std::pair{"F", "Replace Old Lock"},
      std::pair{"G", "Lock Held by Other Process"},
      std::pair{"H", "Set LockId = GUID"},
      std::pair{"I", "Set expiresAt = Now + Expiry"},
      std::pair{"J", "Set acquiredAt = Now"},
      std::pair{"K", "Increment fencingToken"},
      std::pair{"L", "Verify Our LockId"},
      std::pair{"M", "LockId Matches?"},
      std::pair{"N", "Lock Acquired"},
      std::pair{"O", "Another Process Won Race"},
      std::pair{"P", "Sleep Random Time"},
      std::pair{"Q", "Retry Acquire"},
      std::pair{"R", "Start Background Extension Task"},
      std::pair{"S", "Return LockHandle"},
      std::pair{"[*]", "the call ends without the lock"},
  };
  for (const auto& [key, text] : kTexts) {
    if (id == key) return text;
  }
  return "";
}

}  // namespace leasehold::model

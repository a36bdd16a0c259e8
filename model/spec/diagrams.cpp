#include "model/spec/diagrams.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace leasehold::model {
namespace {

constexpr auto kDocument = Source::document;
constexpr auto kReality = Source::reality;

constexpr std::array kFlowchartTexts{
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

/// How a Mermaid dialect draws an arrow with a label. State diagrams have no colours for arrows.
std::string draw(const Arrow& arrow, bool state_diagram) {
  const std::string from(arrow.from), to(arrow.to), input(arrow.input);
  if (state_diagram) {
    return from + " --> " + to + ": " + input + (arrow.source == kReality ? " (added)" : "");
  }
  // Steps of the flowchart that need no decision have no label in the document.
  if (input == "then") return from + " --> " + to;
  return from + " -->|" + input + "| " + to;
}

}  // namespace

const TransitionTable& lifecycle() {
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

const TransitionTable& document_states() {
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

const TransitionTable& flowchart() {
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
          {"B", "Give Up", kOutside, kReality, "the same, with the attempt under way"},
      });
  return table;
}

std::string_view flowchart_text(std::string_view id) {
  for (const auto& [key, text] : kFlowchartTexts) {
    if (id == key) return text;
  }
  return "";
}

std::optional<std::size_t> TransitionTable::find(std::string_view state,
                                                 std::string_view input) const {
  for (std::size_t i = 0; i < arrows_.size(); ++i) {
    if (arrows_[i].from == state && arrows_[i].input == input) return i;
  }
  return std::nullopt;
}

const std::vector<const TransitionTable*>& all_tables() {
  static const std::vector<const TransitionTable*> tables{&lifecycle(), &document_states(),
                                                          &flowchart()};
  return tables;
}

std::string to_mermaid(const TransitionTable& table) {
  const bool state_diagram = table.header().starts_with("stateDiagram");
  std::string out(table.header());
  out += '\n';
  if (&table == &flowchart()) {
    for (const std::pair<std::string, std::string> node : kFlowchartTexts) {
      const bool question = node.second.ends_with('?');
      out += "    " + node.first + (question ? "{\"" + node.second + "\"}\n"
                                             : "[\"" + node.second + "\"]\n");
    }
  }
  std::size_t drawn = 0;
  for (const auto source : {Source::document, Source::reality}) {
    if (source == Source::reality) out += "    %% what happens, and the document does not draw:\n";
    for (const Arrow& arrow : table.arrows()) {
      if (arrow.source != source) continue;
      out += "    " + draw(arrow, state_diagram) + '\n';
      const auto number = std::to_string(drawn++);
      if (source == Source::reality && !state_diagram) {
        out += "    linkStyle " + number + " stroke:#d9730d,color:#d9730d\n";
      }
    }
  }
  return out;
}

void add(ArrowCounts& to, const ArrowCounts& from) {
  for (const auto& [table, counts] : from) {
    auto& sums = to[table];
    sums.resize(std::max(sums.size(), counts.size()));
    for (std::size_t i = 0; i < counts.size(); ++i) sums[i] += counts[i];
  }
}

std::vector<std::string> never_taken(const ArrowCounts& taken) {
  std::vector<std::string> names;
  for (const auto* table : all_tables()) {
    const auto counts = taken.find(std::string(table->name()));
    for (std::size_t i = 0; i < table->arrows().size(); ++i) {
      const auto& arrow = table->arrows()[i];
      const bool never = counts == taken.end() || counts->second.at(i) == 0;
      if (never && arrow.source == kDocument) {
        names.push_back(std::string(table->name()) + ": " + arrow.name());
      }
    }
  }
  return names;
}

}  // namespace leasehold::model

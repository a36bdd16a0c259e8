#include "model/diagrams/transition_table.hpp"

#include <algorithm>

namespace leasehold::model {
namespace {

/// How a Mermaid dialect draws an arrow with a label.
std::string draw(const Arrow& arrow, bool state_diagram) {
  const std::string from(arrow.from), to(arrow.to), input(arrow.input);
  if (state_diagram) return from + " --> " + to + ": " + input;
  // Steps of the flowchart that need no decision have no label in the document.
  if (input == "then") return from + " --> " + to;
  return from + " -->|" + input + "| " + to;
}

void add_once(std::vector<std::string_view>& all, std::string_view one) {
  if (std::find(all.begin(), all.end(), one) == all.end()) all.push_back(one);
}

}  // namespace

std::optional<std::size_t> TransitionTable::find(std::string_view state,
                                                 std::string_view input) const {
  for (std::size_t i = 0; i < arrows_.size(); ++i) {
    if (arrows_[i].from == state && arrows_[i].input == input) return i;
  }
  return std::nullopt;
}

std::vector<std::string_view> TransitionTable::states() const {
  std::vector<std::string_view> all;
  for (const Arrow& arrow : arrows_) {
    add_once(all, arrow.from);
    add_once(all, arrow.to);
  }
  return all;
}

std::vector<std::string_view> TransitionTable::inputs() const {
  std::vector<std::string_view> all;
  for (const Arrow& arrow : arrows_) add_once(all, arrow.input);
  return all;
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
    for (const auto state : table.states()) {
      const bool question = flowchart_text(state).ends_with('?');
      out += "    " + std::string(state) + (question ? "{\"" : "[\"") +
             std::string(flowchart_text(state)) + (question ? "\"}" : "\"]") + '\n';
    }
  }
  for (const auto source : {Source::document, Source::reality}) {
    if (source == Source::reality) out += "    %% what happens, and the document does not draw:\n";
    for (const Arrow& arrow : table.arrows()) {
      if (arrow.source == source) out += "    " + draw(arrow, state_diagram) + '\n';
    }
  }
  return out;
}

}  // namespace leasehold::model

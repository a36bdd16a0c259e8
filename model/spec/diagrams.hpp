#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// Diagrams as data: one row per arrow, each with its reason. A pair of state and input that has no
/// row is refused by name.
namespace leasehold::model {

/// Where an arrow comes from.
enum class Source {
  document,  ///< it is drawn in the published diagram
  reality,   ///< it happens, and the published diagram lacks it
};

struct Arrow {
  std::string_view from;
  std::string_view input;  ///< the label of the arrow
  std::string_view to;
  Source source;
  std::string_view reason;

  [[nodiscard]] std::string name() const {
    return std::string(from) + " --" + std::string(input) + "--> " + std::string(to);
  }
};

/// One diagram.
///
/// INVARIANT: state and input determine the arrow.
class TransitionTable {
 public:
  /// `header` is the first line of its Mermaid text, e.g. "stateDiagram-v2".
  TransitionTable(std::string_view name, std::string_view header, std::vector<Arrow> arrows)
      : name_(name), header_(header), arrows_(std::move(arrows)) {}

  [[nodiscard]] std::string_view name() const { return name_; }
  [[nodiscard]] std::string_view header() const { return header_; }
  [[nodiscard]] const std::vector<Arrow>& arrows() const { return arrows_; }

  /// The index of the arrow that leaves `state` by `input`, or nothing: refused.
  [[nodiscard]] std::optional<std::size_t> find(std::string_view state,
                                                std::string_view input) const;

 private:
  std::string_view name_;
  std::string_view header_;
  std::vector<Arrow> arrows_;
};

/// "[*]" is where a diagram begins and ends.
inline constexpr std::string_view kOutside = "[*]";

/// The life of a handle.
[[nodiscard]] const TransitionTable& lifecycle();
/// The states of a lock document.
[[nodiscard]] const TransitionTable& document_states();
/// The decisions and actions of an acquisition.
[[nodiscard]] const TransitionTable& flowchart();

/// The three of them.
[[nodiscard]] const std::vector<const TransitionTable*>& all_tables();

/// The text that flowchart node `id` shows, e.g. "Lock Document Exists?"; empty if it is none.
[[nodiscard]] std::string_view flowchart_text(std::string_view id);

/// A diagram as Mermaid text: the document's arrows, then those of reality, marked.
[[nodiscard]] std::string to_mermaid(const TransitionTable& table);

/// The diagrams that a run is held against.
struct Diagrams {
  const TransitionTable& lifecycle = model::lifecycle();
  const TransitionTable& document = document_states();
  const TransitionTable& flowchart = model::flowchart();
};

/// How often each arrow was taken: for each table, one count for each arrow, in the table's order.
using ArrowCounts = std::map<std::string, std::vector<std::int64_t>>;

/// Adds the counts of `from`.
void add(ArrowCounts& to, const ArrowCounts& from);

/// The arrows of the documents that were never taken, as "lifecycle: Waiting --Give Up--> [*]".
[[nodiscard]] std::vector<std::string> never_taken(const ArrowCounts& taken);

}  // namespace leasehold::model

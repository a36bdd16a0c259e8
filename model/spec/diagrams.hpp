#pragma once

#include <cstddef>
#include <cstdint>
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

  /// States and inputs in the order of their first arrow.
  [[nodiscard]] std::vector<std::string_view> states() const;
  [[nodiscard]] std::vector<std::string_view> inputs() const;

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

/// The inputs of an acquire call and its handle, and the arrows of the lifecycle diagram that each
/// takes. The abstract lock and the conformance of histories share it.
enum class LifecycleStep : std::uint8_t {
  created,               ///< the call began
  attempt_sent,          ///< a command that asks for the lock, a hand-over too
  attempt_refused,       ///< another has the lock
  attempt_unanswered,    ///< or its outcome is unknown
  nothing_to_hand_over,  ///< the hand-over found no document
  won_too_late,          ///< an attempt won, and nothing is made of it
  granted,
  passed_on,  ///< the same, by a release of another process
  extension_sent,
  extension_unanswered,  ///< while the lease still runs
  extended,
  lost,
  signalled,  ///< the handle's `lost()` fired
  release_asked,
  deleted,      ///< the release is answered
  handed_over,  ///< the same, and another call of the process has the lock
  ended,        ///< the call returns without the lock
  cleaned_up    ///< the TTL monitor deletes what a dead holder left; no client sees it
};

/// The inputs of its arrows from this state, in their order. The caller checks that the diagram has
/// these arrows.
[[nodiscard]] std::vector<std::string_view> inputs_of(LifecycleStep step, std::string_view state);

}  // namespace leasehold::model

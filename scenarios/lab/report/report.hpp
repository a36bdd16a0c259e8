#pragma once

#include <functional>
#include <ios>
#include <iosfwd>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/history/history.hpp"
#include "model/spec/diagrams.hpp"
#include "model/verdict/checkers.hpp"
#include "model/workers/promises.hpp"
#include "scenarios/lab/lab.hpp"

/// What the laboratory writes. A command says once what it found, as a `Conclusion`: the last lines
/// that it prints, JSON, JUnit XML, the summary of a CI job and the page are renderings of it.
namespace leasehold::lab {

/// A test case of JUnit.
struct JunitCase {
  std::string name;
  model::Verdict verdict = model::Verdict::holds;
  std::string why = {};  ///< unless it holds
  bool skipped = false;  ///< no failure, if only a stall explains it
  std::string checks = {};
};

struct Conclusion {
  std::string command = {};  ///< "verify"
  double seconds = 0;
  std::vector<model::Finding> findings = {};
  model::Verdict verdict = model::Verdict::unknown;
  std::string harness_failure = {}, advice = {}, repeat = {};
  std::optional<model::Promises> promises = {};  ///< of a worker's lock, which has no diagrams
  std::vector<std::string> left_out = {};        ///< what is not checked of it, and why
  std::optional<model::ArrowCounts> arrows = {};
  nlohmann::ordered_json facts = {};  ///< what this command alone reports; they begin its JSON
  std::string run = {};               ///< what was run, in a line for the summary
  /// Those of a command that checks no history; else each finding is one.
  std::optional<std::vector<JunitCase>> cases = {};

  /// Adds a case, by which it is violated before unknown before holds.
  void add(JunitCase one, double took_s = 0);
  /// Sets what is left out of a worker's lock with these promises, or the arrows of ours.
  void is_of(const std::optional<model::Promises>& worker, const model::ArrowCounts& taken);
};

/// The table of findings; the arrows of the diagrams, or what is left out.
[[nodiscard]] std::string findings_text(const Conclusion& conclusion);

/// "12,054 checks, 13.8 % excused".
[[nodiscard]] std::string checks_of(const model::Finding& finding);

/// The first violation's events, as in the history. For a worker, because users see no commands:
/// what happened between its users, in words and in ms from the start of the run.
[[nodiscard]] std::string story(const std::vector<model::Finding>& findings,
                                const model::History& history, bool of_a_worker = false);

/// As Markdown: a heading with the verdict, a row for each finding, how to repeat it. No text of
/// the run can end a cell, or be taken for markup.
[[nodiscard]] std::string to_markdown(const Conclusion& conclusion);

/// As JUnit XML. A harness failure is a case of its own, and an error.
[[nodiscard]] std::string to_junit(const Conclusion& conclusion);

/// A run as one self-contained page: a lane for each process with what it waited for and held,
/// tokens, faults as bands, the members' clocks, the documents' changes, the verdict and the story.
/// It opens at the first violation, or with `#all` at the whole run; it zooms and pans. Tokens are
/// text, so none is rounded. Its title is what was run, else the lock and its world.
[[nodiscard]] std::string run_page(const model::History& history, const Conclusion& c = {});

/// Files that the build embeds (scenarios/CMakeLists.txt): the facts about servers, a new story,
/// and the parts of that page.
namespace pages {
extern const std::string_view SERVERS_md, new_story_scn_in, run_page_css, run_page_html,
    run_page_js;
}  // namespace pages

/// {"operations": [{"client_id", "lock", "operation", "call_ns", "return_ns"}, ...]}, for
/// Porcupine: times from the start of the run. A holding is an acquire that returns when held() was
/// first true for its user, and a release that is called when it was last true. So the lock as an
/// object (an acquire needs it free, a release frees it) is linearizable exactly if no two
/// certainly held at once, which is G2.
/// REQUIRES: the history has an event.
void write_operations(std::ostream& out, const model::History& history);

/// Writes nothing if the file's name is empty. Throws std::runtime_error.
void write_file(const std::string& file, const std::function<void(std::ostream&)>& write,
                std::ios::openmode mode = std::ios::out);
void write_file(const std::string& file, const std::string& text,
                std::ios::openmode mode = std::ios::out);
void write_json(const std::string& file, const nlohmann::ordered_json& json);

/// Writes the files; `shown` is the run of the page and the history. Returns the exit code.
int write(const Conclusion& conclusion, const Outputs& outputs, const model::History& shown = {});
/// Prints a harness failure, the advice and the verdict before.
int conclude(const Conclusion& conclusion, const Outputs& outputs,
             const model::History& shown = {});

}  // namespace leasehold::lab

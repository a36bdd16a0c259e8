#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/workers/promises.hpp"
#include "scenarios/lab/lab.hpp"
#include "scenarios/lab/report/report.hpp"

namespace leasehold::lab {

/// The files in which a command writes what it found. It writes none that has no name.
struct Outputs {
  std::string json, junit, page, summary, history;

  /// Adds --json and --junit.
  void add_to(po::options_description& options);
  /// Adds --report, with this help.
  void add_page(po::options_description& options, const char* help);
  /// Throws UsageError for the first that cannot be written.
  void require_writable() const;
};

/// What a command found, said once: the last lines that it prints, JSON, JUnit XML, the summary of
/// a CI job and the page are renderings of it.
struct Conclusion {
  std::string command;  ///< "verify"
  double seconds = 0;
  std::vector<model::Finding> findings = {};
  model::Verdict verdict = model::Verdict::unknown;
  std::string harness_failure = {}, advice = {}, repeat = {};
  std::optional<model::Promises> promises = {};  ///< of a worker's lock, which has no diagrams
  std::vector<std::string> left_out = {};        ///< what is not checked of it, and why
  std::optional<sim::ArrowCounts> arrows = {};
  nlohmann::ordered_json facts = {};  ///< what this command alone reports; they begin its JSON
  std::string run = {};               ///< what was run, in a line for the summary

  /// Sets what is left out of a worker's lock with these promises, or the arrows of ours.
  void is_of(const std::optional<model::Promises>& worker, const sim::ArrowCounts& taken);
};

/// The table of findings; the arrows of the diagrams, or what is left out.
[[nodiscard]] std::string findings_text(const Conclusion& conclusion);

/// As Markdown: a heading with the verdict, a row for each finding, how to repeat it. No text of
/// the run can end a cell, or be taken for markup.
[[nodiscard]] std::string to_markdown(const Conclusion& conclusion);

/// Appends to the file, because a job may write several, as to GITHUB_STEP_SUMMARY. Does nothing if
/// its name is empty. Throws std::runtime_error.
void append_summary(const std::string& file, const std::string& markdown);

/// Prints a harness failure, the advice and the verdict, and writes the files; `shown` is the run
/// of the page and the history. Returns the exit code.
int conclude(const Conclusion& conclusion, const Outputs& outputs,
             const model::History& shown = {});

}  // namespace leasehold::lab

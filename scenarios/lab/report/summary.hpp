#pragma once

#include <string>
#include <vector>

#include "model/verdict/checkers.hpp"

namespace leasehold::lab {

/// The first things that a reader of a CI job wants to know.
struct Summary {
  std::string command;       ///< of leasehold-lab, such as "verify"
  std::string verdict;       ///< in a word
  std::string run;           ///< what was run, in a line
  std::string failure = {};  ///< why the run says little, or nothing
  std::string advice = {};   ///< what to do about a verdict that is unknown
  std::string repeat = {};   ///< the command that repeats what failed; empty: nothing did
};

/// As Markdown: a heading with the verdict, a row for each finding, what was not checked, how to
/// repeat it. No text of the run can end a cell, or be taken for markup.
[[nodiscard]] std::string to_markdown(const Summary& summary,
                                      const std::vector<model::Finding>& findings);

/// Appends to the file, because a job may write several, as to GITHUB_STEP_SUMMARY. Does nothing if
/// its name is empty. Throws std::runtime_error.
void append_summary(const std::string& file, const std::string& markdown);

}  // namespace leasehold::lab

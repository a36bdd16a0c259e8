#pragma once

#include <optional>
#include <string>

#include "model/history/history.hpp"
#include "model/workers/promises.hpp"

namespace leasehold::lab {

/// A run as one self-contained page: a lane for each process with what it waited for and held,
/// tokens, faults as bands, the members' clocks, the documents' changes, the verdict and the story.
/// With promises it is a run of a worker. `advice` says what to do about a verdict that is unknown.
/// It zooms and pans; `#violation` shows the first violation. Tokens are text, so none is rounded.
[[nodiscard]] std::string run_page(const model::History& history,
                                   const std::optional<model::Promises>& promises = {},
                                   const std::string& advice = "");

/// Writes it unless the file's name is empty.
void write_report(const std::string& file, const model::History& history,
                  const std::optional<model::Promises>& promises = {},
                  const std::string& advice = "");

}  // namespace leasehold::lab

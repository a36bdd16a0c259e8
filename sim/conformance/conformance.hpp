#pragma once

#include <map>
#include <string>
#include <vector>

#include "model/spec/diagrams.hpp"
#include "model/verdict/walk.hpp"

/// Checks that each run of the lock is a path of the diagrams. Events of documents and attempts are
/// mapped to arrows here, events of a handle by model/spec/diagrams.hpp.
namespace leasehold::sim {

struct Tables {
  const model::TransitionTable& lifecycle = model::lifecycle();
  const model::TransitionTable& document = model::document_states();
  const model::TransitionTable& flowchart = model::flowchart();
};

/// How often each arrow was taken: for each table, one count for each arrow, in the table's order.
using ArrowCounts = std::map<std::string, std::vector<std::int64_t>>;

struct Conformance {
  ArrowCounts taken;
  model::Finding finding;  ///< violated if a step was no arrow; names state and input
};

/// REQUIRES: the history is whole (form_inquiry), because steps of a partial one fit nowhere.
[[nodiscard]] Conformance conform(const model::History& history, const Tables& tables = {});
[[nodiscard]] Conformance conform(const model::Digest& digest, const Tables& tables = {});
/// The same, as part of a walk. The digest must outlive it.
[[nodiscard]] std::unique_ptr<model::Inquiry<Conformance>> conformance_inquiry(
    const model::Digest& digest, const Tables& tables = {});

/// Adds the counts of `from`.
void add(ArrowCounts& to, const ArrowCounts& from);

/// The arrows of the documents that were never taken, as "lifecycle: Waiting --Give Up--> [*]".
[[nodiscard]] std::vector<std::string> never_taken(const ArrowCounts& taken);

}  // namespace leasehold::sim

#pragma once

#include <string>
#include <vector>

#include "model/checkers.hpp"
#include "model/promises.hpp"
#include "properties/incident_log.hpp"
#include "sim/live/mongo_client.hpp"
#include "sim/plan.hpp"

/// What happened outside of the laboratory, from what is left of it: the oplog and logs.
namespace leasehold::properties {

struct IncidentOptions {
  /// By how much a stamp may be wrong in either direction: no verdict rests on less.
  std::int64_t clock_error_ms = 100;
  std::int64_t lease_ms = 30'000;  ///< where the log does not say
  /// Of the lock that wrote the documents, which `document` names.
  model::Promises promises;
  bool own_documents = true;  ///< they are those of the production lock
};

/// What the production lock promises of an incident.
[[nodiscard]] model::Promises own_incident_promises(const std::string& collection);

struct Incident {
  model::History history;
  std::int64_t began_ms = 0;   ///< since 1970: when the history's clock was 0
  model::Promises promises;    ///< as far as logs can show them
  std::vector<std::string> left_out;  ///< what is not checked, and why
};

/// `entries` are of the locks' collection, in the oplog's order, as extended JSON. Stamps are moved
/// apart by the clocks' error, so that what is found holds wherever they lay. Throws
/// std::runtime_error for entries that are none.
[[nodiscard]] Incident read_incident(const std::vector<sim::live::Json>& entries,
                                     std::vector<LogLine> log, const IncidentOptions& options);

/// G1, G2 and G6, and G4 if it is promised and tokens are in the logs.
[[nodiscard]] std::vector<model::Finding> judge_incident(const Incident& incident);

/// A story that does the same with `lock`: of the first violation the calls around it, else all. A
/// holder that stopped extending is stopped, or cut off if it went on writing its log.
[[nodiscard]] sim::Plan incident_plan(const Incident& incident,
                                      const std::vector<model::Finding>& findings,
                                      const IncidentOptions& options, const std::string& lock);

}  // namespace leasehold::properties

#pragma once

#include <map>

#include "sim/virtual/documents/value.hpp"

/// The aggregation expressions that the lock's commands use. Any other operator throws Unsupported;
/// the differential property compares these with a real mongod.
namespace leasehold::sim::simulated {

/// What an expression sees.
///
/// REQUIRES: `root` outlives it. A copy, as $let makes it, refers to the same document.
struct Scope {
  const Object& root;  ///< the document, $$ROOT
  // Both are of the start of the command and stay the same through all its statements, as the
  // manual says of aggregation variables. $$CLUSTER_TIME is therefore before the time that this
  // write will get, so it is no fencing token.
  Date now;  ///< $$NOW: the server's clock when the command started
  Timestamp cluster_time;
  std::map<std::string, Value, std::less<>> variables = {};  ///< of $let
};

/// Throws ServerError where the server would answer with an error, and Unsupported for what is not
/// known here, whatever the data. A pure function, so that an update can be evaluated twice, here
/// and in the explorer, with the same result.
[[nodiscard]] Value evaluate(const Value& expression, const Scope& scope);

/// The operators that are known, for the list that the differential property prints.
[[nodiscard]] const std::vector<std::string>& known_operators();

}  // namespace leasehold::sim::simulated

#pragma once

#include <map>

#include "sim/virtual/value.hpp"

/// The aggregation expressions that the lock's commands use. An operator that is not among them
/// throws Unsupported; the differential property holds the rest to a real mongod.
namespace leasehold::sim::simulated {

/// What an expression sees.
struct Scope {
  const Object& root;  ///< the document, $$ROOT
  Date now;            ///< $$NOW: the server's clock when the command started
  Timestamp cluster_time;
  std::map<std::string, Value, std::less<>> variables = {};  ///< of $let
};

/// Throws ServerError where the server would answer with an error.
[[nodiscard]] Value evaluate(const Value& expression, const Scope& scope);

/// The operators that are known, for the list that the differential property prints.
[[nodiscard]] const std::vector<std::string>& known_operators();

}  // namespace leasehold::sim::simulated

#pragma once

#include <string_view>

#include "sim/virtual/documents/value.hpp"

/// The aggregation expressions that the lock's commands use. Any other operator throws Unsupported;
/// the differential property compares these with a real mongod.
namespace leasehold::sim::simulated {

/// What $let, $filter, $map and $reduce give a name.
struct Variable {
  std::string_view name;
  const Value* value;
  const Variable* outer;  ///< of the expression around it; null: none
};

/// What an expression sees. REQUIRES: all that it refers to outlives it.
struct Scope {
  const Value& root;  ///< the document, $$ROOT
  // Both are of the start of the command and stay the same through all its statements, as the
  // manual says of aggregation variables. $$CLUSTER_TIME is therefore before the time that this
  // write will get, so it is no fencing token.
  Date now;  ///< $$NOW: the server's clock when the command started
  Timestamp cluster_time;
  const Variable* variables = nullptr;  ///< the innermost first
};

/// Returns what is in the expression, the document or a variable already, or else `out`: most
/// results are only compared, and to copy text costs more than that.
///
/// Throws ServerError where the server would answer with an error, and Unsupported for what is not
/// known here, whatever the data. A pure function.
const Value& evaluate(const Value& expression, const Scope& scope, Value& out);

}  // namespace leasehold::sim::simulated

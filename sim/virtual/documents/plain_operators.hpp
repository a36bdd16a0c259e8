#pragma once

#include <optional>
#include <string>
#include <unordered_map>

#include "sim/virtual/documents/list_operators.hpp"

/// The aggregation operators that need only the values of their arguments. The interpreter and the
/// compiled programs apply the same functions, so they differ at most in the time of evaluation.
namespace leasehold::sim::simulated {

struct PlainOperator {
  Value (*apply)(Arguments);
  std::size_t arguments = 0;  ///< the number; 0: any, or checked by the operator itself
  /// Of a comparison: whether it holds of values in this order, as `compare` says it.
  bool (*holds)(int order) = nullptr;
};

[[nodiscard]] const std::unordered_map<std::string, PlainOperator>& plain_operators();

/// Throws Unsupported if there are more or fewer than the operator takes.
void check_arguments(const PlainOperator& op, const std::string& name, std::size_t given);

/// The result of `$convert` to a long for a present value; nothing: `onError` decides.
[[nodiscard]] std::optional<std::int64_t> converted_to_long(const Value& input);

}  // namespace leasehold::sim::simulated

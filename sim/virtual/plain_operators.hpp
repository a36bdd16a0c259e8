#pragma once

#include <optional>
#include <string>
#include <unordered_map>

#include "sim/virtual/list_operators.hpp"

/// Those aggregation operators that need the values of their arguments and nothing else. The
/// interpreter and the compiled programs apply the same functions, so they differ at most in when
/// they evaluate what.
namespace leasehold::sim::simulated {

struct PlainOperator {
  Value (*apply)(Arguments);
  std::size_t arguments = 0;  ///< so many; 0: any number, or it says itself
  /// Of a comparison: whether it holds of values in this order, as `compare` says it.
  bool (*holds)(int order) = nullptr;
};

[[nodiscard]] const std::unordered_map<std::string, PlainOperator>& plain_operators();

/// Throws Unsupported if there are more or fewer than the operator takes.
void check_arguments(const PlainOperator& op, const std::string& name, std::size_t given);

/// What `$convert` to a long makes of a value that is there, or nothing: `onError` then.
[[nodiscard]] std::optional<std::int64_t> converted_to_long(const Value& input);

}  // namespace leasehold::sim::simulated

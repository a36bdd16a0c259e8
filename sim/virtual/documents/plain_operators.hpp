#pragma once

#include <optional>
#include <span>
#include <string>
#include <unordered_map>

#include "sim/virtual/documents/value.hpp"

/// The aggregation operators that need only the values of their arguments. The codes of their
/// errors are mongod's: the differential test compares them.
namespace leasehold::sim::simulated {

/// Evaluated arguments, by pointer, because to copy a lockId takes longer than most operators.
using Arguments = std::span<const Value* const>;

/// Arithmetic with null or a missing field gives null and no error, so that a damaged document does
/// not fail a command that only calculates with its fields.
[[nodiscard]] inline bool is_nothing(const Value& v) { return v.is<Missing>() || v.is<Null>(); }

struct PlainOperator {
  Value (*apply)(Arguments) = nullptr;
  std::size_t arguments = 0;  ///< the number; 0: any, or checked by the operator itself
};

[[nodiscard]] const std::unordered_map<std::string, PlainOperator>& plain_operators();

/// The result of `$convert` to a long for a present value; nothing: `onError` decides.
[[nodiscard]] std::optional<std::int64_t> converted_to_long(const Value& input);

}  // namespace leasehold::sim::simulated

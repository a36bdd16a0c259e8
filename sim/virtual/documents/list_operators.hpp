#pragma once

#include <span>
#include <vector>

#include "sim/virtual/documents/expression.hpp"

/// The aggregation expressions that take text apart or work on lists, for the queue in a lock's
/// document. The codes of their errors are mongod's.
namespace leasehold::sim::simulated {

/// Evaluated arguments, by pointer, because to copy a lockId takes longer than most operators.
using Arguments = std::span<const Value* const>;

/// Arithmetic with null or a missing field gives null and no error, so that a damaged document does
/// not fail a command that only calculates with its fields.
[[nodiscard]] inline bool is_nothing(const Value& v) { return v.is<Missing>() || v.is<Null>(); }

/// A named argument of an operator.
[[nodiscard]] const Value& field_of(const Value& argument, std::string_view key);

// Of evaluated arguments.
[[nodiscard]] Value concatenated(Arguments texts);
[[nodiscard]] Value split(Arguments text_and_separator);
[[nodiscard]] Value bytes_of(Arguments text_start_and_length);
[[nodiscard]] Value to_long(const Value& value);
[[nodiscard]] Value to_text(const Value& value);
[[nodiscard]] Value element_at(Arguments list_and_place);
[[nodiscard]] Value slice(Arguments list_start_and_length);
[[nodiscard]] Value size_of(const Value& list);
[[nodiscard]] Value merged(Arguments objects);

// The elements that these operators go through, or mongod's error. REQUIRES: `input` is something.
[[nodiscard]] const std::vector<Value>& elements_for_filter(const Value& input);
[[nodiscard]] const std::vector<Value>& elements_for_map(const Value& input);
[[nodiscard]] const std::vector<Value>& elements_for_reduce(const Value& input);

// These evaluate a part of their argument once for each element.
[[nodiscard]] Value filter(const Value& argument, const Scope& scope);
[[nodiscard]] Value map(const Value& argument, const Scope& scope);
[[nodiscard]] Value reduce(const Value& argument, const Scope& scope);

}  // namespace leasehold::sim::simulated

#pragma once

#include <string>
#include <string_view>

#include "model/guarantee.hpp"

/// What each lock promises, said once and before any run. A run cannot turn "violated" into "not
/// promised".
namespace leasehold::properties {

/// The sentence of its author by which `lock` promises `guarantee`, or empty: it does not promise
/// it.
[[nodiscard]] std::string_view promise_of(std::string_view lock, model::Guarantee guarantee);

}  // namespace leasehold::properties

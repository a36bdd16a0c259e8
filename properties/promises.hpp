#pragma once

#include <string>
#include <string_view>

/// What each lock promises, said once and before any run. A run cannot turn "violated" into "not
/// promised".
namespace leasehold::properties {

/// The sentence of its author by which `lock` promises `guarantee` ("G1" to "G9", "release",
/// "needless"), or empty: it does not promise it.
[[nodiscard]] std::string_view promise_of(std::string_view lock, std::string_view guarantee);

}  // namespace leasehold::properties

#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace leasehold::core {

/// The longest beginning of `text` that is well-formed UTF-8 (RFC 3629: shortest form, no
/// surrogates): what is left of a string that was cut amid a character, or all of a valid one. The
/// server refuses anything else as a string.
[[nodiscard]] std::string valid_utf8_prefix(std::string_view text);

/// The bytes of the well-formed character that `text` begins with; 0: it begins with none, or is
/// empty.
[[nodiscard]] std::size_t first_character(std::string_view text);

}  // namespace leasehold::core

#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "properties/campaigns/matrix.hpp"

/// The matrix for people, and for programs.
namespace leasehold::lab {

[[nodiscard]] std::string to_markdown(const properties::Matrix& matrix, std::uint64_t seeds);
[[nodiscard]] nlohmann::ordered_json to_json(const properties::Matrix& matrix);

/// Whether each promised cell of this lock holds.
[[nodiscard]] bool keeps_its_promises(const properties::Matrix& matrix, const std::string& lock);

}  // namespace leasehold::lab

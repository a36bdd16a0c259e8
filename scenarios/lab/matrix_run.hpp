#pragma once

#include <functional>

#include "properties/matrix.hpp"

namespace leasehold::lab {

/// All cells, on all cores. `done` is told of every lock and fault that is finished.
[[nodiscard]] properties::Matrix run_matrix(
    std::uint64_t seeds, const std::function<void(std::size_t, std::size_t)>& done);

}  // namespace leasehold::lab

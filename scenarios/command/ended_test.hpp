#pragma once

#include <filesystem>

#include "scenarios/lab/ran_fixture.hpp"
#include "sim/live/live_test.hpp"

namespace leasehold::lab {

namespace fs = std::filesystem;
using sim::live::shared_set;

}  // namespace leasehold::lab

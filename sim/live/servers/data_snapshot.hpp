#pragma once

#include <optional>
#include <string>

namespace leasehold::sim::live {

/// A data folder of a member of a set "rs", stopped cleanly, made with this program on the first
/// use and kept in the cache: copies of it start a set without an initial sync. Its configuration
/// names an address of the past. Nothing if the cache cannot be written.
[[nodiscard]] std::optional<std::string> data_snapshot(const std::string& mongod);

}  // namespace leasehold::sim::live

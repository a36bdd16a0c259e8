#pragma once

#include <functional>
#include <leasehold/lock_provider.hpp>
#include <string>

namespace leasehold::bench {

/// A provider that reports each command on the wire. Aborts for a bad URI.
[[nodiscard]] LockProvider told_provider(const std::string& uri, const std::string& database,
                                         int workers,
                                         std::function<void(const std::string&)> on_wire);

}  // namespace leasehold::bench

#pragma once

#include <string>
#include <vector>

namespace leasehold::mongo {

/// Asks each host that the URI names, by itself and without a log-in, what it is, because a driver
/// that looks for a replica set does not tell whom it found instead. A sentence for each host that
/// is no member of it: "h:1 is a standalone", "h:1 is a member of 'rs', the URI says 'other'"; or
/// knows no primary. Waits half a second for each at most.
[[nodiscard]] std::vector<std::string> words_of_hosts(const std::string& uri);

}  // namespace leasehold::mongo

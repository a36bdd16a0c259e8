#pragma once

#include <string>
#include <vector>

namespace leasehold::mongo {

/// From here on the driver's log is not shown. Its last error is kept, because the driver says the
/// cause of some failures, a file of certificates that cannot be read for instance, nowhere else.
/// May be called before the driver is initialised.
void keep_driver_log();
/// Empty: there was none.
[[nodiscard]] std::string last_error_logged();

/// Asks each host that the URI names, by itself and without a log-in, what it is, because a driver
/// that looks for a replica set does not tell what it found instead. A sentence for each host that
/// is no member of it: "h:1 is a standalone", "h:1 is a member of 'rs', the URI says 'other'"; or
/// knows no primary. Waits half a second for each at most.
/// `silent_too`: also why a host does not answer, which the driver says in brackets, "[..]", unless
/// it had no time to.
[[nodiscard]] std::vector<std::string> words_of_hosts(const std::string& uri, bool silent_too);

}  // namespace leasehold::mongo

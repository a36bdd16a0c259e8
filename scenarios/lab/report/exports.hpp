#pragma once

#include <iosfwd>

#include "model/history/history.hpp"

/// A history in the format that a linearizability checker reads.
namespace leasehold::lab {

/// {"operations": [{"client_id", "lock", "operation", "call_ns", "return_ns"}, ...]}, for
/// Porcupine: times from the start of the run. A holding is an acquire that returns when held() was
/// first true for its user, and a release that is called when it was last true. So the lock as an
/// object (an acquire needs it free, a release frees it) is linearizable exactly if no two
/// certainly held at once, which is G2.
/// REQUIRES: the history has an event.
void write_operations(std::ostream& out, const model::History& history);

}  // namespace leasehold::lab

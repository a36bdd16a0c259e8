#pragma once

#include <string>

#include "sim/virtual/documents/value.hpp"

/// The simulated server's answers when it cannot do what a command asks.
namespace leasehold::sim::simulated {

// mongod's codes, by which the adapter's table finds outcomes.
inline constexpr int kNotWritablePrimary = 10107, kNotPrimaryNoSecondaryOk = 13435,
                     kPrimarySteppedDown = 189, kWriteConcernFailed = 64, kMaxTimeExpired = 50,
                     kInterruptedByStateChange = 11602, kQueryPlanKilled = 175,
                     kIndexOptionsConflict = 85, kCommandNotSupported = 115, kStaleConfig = 13388;

/// The reply has ok: 1 and the whole result, because the write is applied on the primary and may
/// yet reach a majority. To a lock that is an unknown outcome, not a refusal.
inline Object write_concern_error(Object reply, int code, const std::string& message) {
  Object error;
  error.set("code"_key, std::int32_t{code});
  error.set("errmsg"_key, message);
  reply.set("writeConcernError"_key, error);
  return reply;
}

}  // namespace leasehold::sim::simulated

#pragma once

#include <string>

#include "model/history.hpp"

namespace leasehold::model {

/// What comes from outside (workers, servers, logs) may be no text: in place of each byte that is
/// no part of a UTF-8 character it has U+FFFD, as JSON, XML and pages need it.
[[nodiscard]] std::string valid_utf8(const std::string& text);
/// The same of all that it says in words.
void make_valid_utf8(Event& event);

/// The outcome of the `protocol` event of a worker that ended, or was ended, before it was ready:
/// nothing of its lock was seen.
inline constexpr const char* kNeverReady = "never_ready";

}  // namespace leasehold::model

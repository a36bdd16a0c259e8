#pragma once

#include <string>

#include "model/history/history.hpp"

namespace leasehold::model {

/// Input from outside (workers, servers, logs) may be invalid text. Each byte that is no part of a
/// UTF-8 character becomes U+FFFD, because JSON, XML and pages need valid text.
[[nodiscard]] std::string valid_utf8(const std::string& text);
/// The same for all texts of an event.
void make_valid_utf8(Event& event);

/// The outcome of the `protocol` event of a worker that ended, or was ended, before it was ready:
/// the run shows nothing of its lock.
inline constexpr const char* kNeverReady = "never_ready";

}  // namespace leasehold::model

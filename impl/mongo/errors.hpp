#pragma once

#include <string>

#include "core/protocol.hpp"

namespace leasehold::mongo {

/// What a server error code says about the command: the one table of errors. A code that is not
/// listed is unknown: a wrong "unknown" costs one delete, a wrong "failed" an orphan.
[[nodiscard]] core::Outcome outcome_of_error(int code);

/// What a server says of a command that is not permitted, less the command, which it repeats whole.
[[nodiscard]] std::string without_command(std::string message);

/// The code of a server for a collection that is not there.
inline constexpr int kNamespaceNotFound = 26;

/// Whether one statement's error says that the member lost its office or its time, so that nothing
/// in the reply is reliable for any other statement either.
[[nodiscard]] bool spoils_whole_batch(int code);

/// Whether a write-concern error can never go away by itself (an unsatisfiable or unknown `w`).
[[nodiscard]] bool is_permanent_write_concern_error(int code);

}  // namespace leasehold::mongo

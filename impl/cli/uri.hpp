#pragma once

#include <string>

/// What the command must know of a URI before the driver reads it.
namespace leasehold::cli {

/// What stands in the URI that others must not read: "a password", or the option that is secret.
/// Empty: nothing. A URI that is badly written counts as one with a password where it may be one.
[[nodiscard]] std::string secret_in(const std::string& uri);

}  // namespace leasehold::cli

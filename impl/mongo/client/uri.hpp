#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// Connection strings, as text: what the user wrote into one is not changed.
namespace leasehold::mongo {

/// A URI in four: scheme and login end in "://" and "@", or are empty.
struct UriParts {
  std::string_view scheme, login, hosts, after;
};
[[nodiscard]] UriParts parts_of(std::string_view uri);

/// What the URI has that others must not read: "a password", or the option that is secret.
/// Empty: nothing. A URI that is badly written counts as one with a password where it may be one.
[[nodiscard]] std::string secret_in(std::string_view uri);

/// A URI with one more `key=value`.
[[nodiscard]] std::string with_option(const std::string& uri, const std::string& option);

/// The URI with these hosts ("db1:27017") in place of its own.
[[nodiscard]] std::string with_hosts(const std::string& uri, const std::vector<std::string>& hosts);

/// The URI without its password.
[[nodiscard]] std::string without_password(std::string uri);

/// "db1:27017" in two, "[::1]:27017" too. Without a port it is MongoDB's own.
[[nodiscard]] std::pair<std::string, std::string> host_and_port(const std::string& address);

}  // namespace leasehold::mongo

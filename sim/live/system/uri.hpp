#pragma once

#include <string>
#include <utility>
#include <vector>

/// Connection strings, as text: what the user wrote into one stays as it is.
namespace leasehold::sim::live {

/// A URI with one more `key=value`.
[[nodiscard]] std::string with_option(const std::string& uri, const std::string& option);

/// The URI with these hosts ("db1:27017") in place of its own.
[[nodiscard]] std::string with_hosts(const std::string& uri, const std::vector<std::string>& hosts);

/// The URI without its password.
[[nodiscard]] std::string without_password(std::string uri);

/// "db1:27017" in two, "[::1]:27017" too. Without a port it is MongoDB's own.
[[nodiscard]] std::pair<std::string, std::string> host_and_port(const std::string& address);

/// The reason why no proxies can stand before the members that this URI names, as a sentence with
/// its remedy; empty: there is none, or it is no URI.
[[nodiscard]] std::string why_no_proxies(const std::string& uri);

}  // namespace leasehold::sim::live

#include "mongo/client/uri.hpp"

#include <string.h>

#include <algorithm>
#include <array>

namespace leasehold::mongo {
namespace {

/// Takes the part up to one of `marks` off `rest`, which goes on behind that.
std::string_view next_part(std::string_view& rest, std::string_view marks) {
  const auto part = rest.substr(0, rest.find_first_of(marks));
  rest.remove_prefix(std::min(part.size() + 1, rest.size()));
  return part;
}

/// Hosts with ports alone have digits behind each colon, but for addresses in brackets.
bool has_odd_port(std::string_view hosts) {
  while (!hosts.empty()) {
    const auto host = next_part(hosts, ",");
    const auto colon =
        host.find(':', host.starts_with('[') ? std::min(host.find(']'), host.size()) : 0);
    if (colon == std::string_view::npos) continue;
    const auto port = host.substr(colon + 1);
    if (port.find_first_not_of("0123456789") != std::string_view::npos) return true;
  }
  return false;
}

std::string secret_option_in(std::string_view options) {
  constexpr std::array kSecret{"tlsCertificateKeyFilePassword", "sslClientCertificateKeyPassword"};
  while (!options.empty()) {
    const std::string option(next_part(options, "&;")), name = option.substr(0, option.find('='));
    for (const char* secret : kSecret) {
      if (strcasecmp(name.c_str(), secret) == 0) return secret;
    }
    const bool of_login = strcasecmp(name.c_str(), "authMechanismProperties") == 0;
    if (of_login && strcasestr(option.c_str(), "aws_session_token") != nullptr) {
      return "AWS_SESSION_TOKEN";
    }
  }
  return {};
}

}  // namespace

UriParts parts_of(std::string_view uri) {
  const auto scheme = uri.find("://");
  const auto begin = scheme == std::string_view::npos ? 0 : scheme + 3;
  const auto end = std::min(uri.find_first_of("/?", begin), uri.size());
  const auto authority = uri.substr(begin, end - begin);
  const auto hosts = authority.rfind('@') + 1;  // 0: there is none
  return {uri.substr(0, begin), authority.substr(0, hosts), authority.substr(hosts),
          uri.substr(end)};
}

std::string secret_in(std::string_view uri) {
  const auto parts = parts_of(uri);
  const bool plain = parts.login.find(':') != std::string_view::npos;
  // A / or ? in a password ends what looks like hosts, and the @ follows it.
  const bool cut = parts.login.empty() && parts.after.find('@') != std::string_view::npos &&
                   has_odd_port(parts.hosts);
  if (plain || cut) return "a password";
  const auto mark = parts.after.find('?');
  return mark == std::string_view::npos ? "" : secret_option_in(parts.after.substr(mark + 1));
}

std::string with_option(const std::string& uri, const std::string& option) {
  return uri + (uri.find('?') == std::string::npos ? "?" : "&") + option;
}

std::string with_hosts(const std::string& uri, const std::vector<std::string>& hosts) {
  const auto parts = parts_of(uri);
  std::string list;
  for (const auto& host : hosts) list += (list.empty() ? "" : ",") + host;
  return std::string(parts.scheme).append(parts.login) + list + std::string(parts.after);
}

std::string without_password(std::string uri) {
  const auto begin = uri.find("://"), end = uri.rfind('@');
  if (begin == std::string::npos || end == std::string::npos) return uri;
  const auto colon = uri.find(':', begin + 3);
  if (colon < end) uri.replace(colon + 1, end - colon - 1, "***");
  return uri;
}

std::pair<std::string, std::string> host_and_port(const std::string& address) {
  const auto colon = address.rfind(':'), bracket = address.rfind(']');
  const bool has_port =
      colon != std::string::npos && (bracket == std::string::npos || colon > bracket);
  auto host = has_port ? address.substr(0, colon) : address;
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  return {host, has_port ? address.substr(colon + 1) : "27017"};
}

}  // namespace leasehold::mongo

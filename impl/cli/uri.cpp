#include "cli/uri.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

namespace leasehold::cli {
namespace {

/// User, password and hosts; and the options.
struct Parts {
  std::string_view authority, after, options;
};

Parts parts_of(std::string_view uri) {
  const auto scheme = uri.find("://");
  if (scheme != std::string_view::npos) uri.remove_prefix(scheme + 3);
  Parts parts;
  parts.authority = uri.substr(0, uri.find_first_of("/?"));
  parts.after = uri.substr(parts.authority.size());
  const auto mark = parts.after.find('?');
  if (mark != std::string_view::npos) parts.options = parts.after.substr(mark + 1);
  return parts;
}

/// Hosts with ports alone have digits behind each colon, but for addresses in brackets.
bool has_odd_port(std::string_view hosts) {
  while (!hosts.empty()) {
    const auto host = hosts.substr(0, hosts.find(','));
    hosts.remove_prefix(std::min(host.size() + 1, hosts.size()));
    const auto colon =
        host.find(':', host.starts_with('[') ? std::min(host.find(']'), host.size()) : 0);
    if (colon == std::string_view::npos) continue;
    const auto port = host.substr(colon + 1);
    if (!std::all_of(port.begin(), port.end(), [](char c) { return c >= '0' && c <= '9'; }))
      return true;
  }
  return false;
}

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

std::string secret_option_in(std::string_view options) {
  constexpr std::array kSecret{"tlsCertificateKeyFilePassword", "sslClientCertificateKeyPassword"};
  while (!options.empty()) {
    const auto option = options.substr(0, options.find_first_of("&;"));
    options.remove_prefix(std::min(option.size() + 1, options.size()));
    const auto name = lower(option.substr(0, option.find('=')));
    for (const char* secret : kSecret) {
      if (name == lower(secret)) return secret;
    }
    const bool of_login = name == "authmechanismproperties";
    if (of_login && lower(option).find("aws_session_token") != std::string::npos) {
      return "AWS_SESSION_TOKEN";
    }
  }
  return {};
}

}  // namespace

std::string secret_in(const std::string& uri) {
  const auto parts = parts_of(uri);
  const auto at = parts.authority.rfind('@');
  const bool has_login = at != std::string_view::npos;
  const bool plain = has_login && parts.authority.find(':') < at;
  // A / or ? in a password ends what looks like hosts, and the @ stands behind it.
  const bool cut = !has_login && parts.after.find('@') != std::string_view::npos &&
                   has_odd_port(parts.authority);
  return plain || cut ? "a password" : secret_option_in(parts.options);
}

}  // namespace leasehold::cli

#include "sim/live/system/uri.hpp"

#include <mongoc/mongoc.h>

#include <algorithm>
#include <memory>

#include "mongo/client/json_client.hpp"

namespace leasehold::sim::live {
namespace {

constexpr const char* kRemedy = "or leave the faults of links out with --faults process";

struct Destroy {
  void operator()(mongoc_uri_t* uri) const { mongoc_uri_destroy(uri); }
};

/// Where the hosts begin and end. REQUIRES: it has a scheme.
std::pair<std::size_t, std::size_t> hosts_in(const std::string& uri) {
  const auto begin = uri.find("://") + 3;
  const auto end = std::min(uri.find_first_of("/?", begin), uri.size());
  const auto login = uri.rfind('@', end);
  return {login == std::string::npos || login < begin ? begin : login + 1, end};
}

}  // namespace

std::string with_option(const std::string& uri, const std::string& option) {
  return uri + (uri.find('?') == std::string::npos ? "?" : "&") + option;
}

std::string with_hosts(const std::string& uri, const std::vector<std::string>& hosts) {
  const auto [begin, end] = hosts_in(uri);
  std::string list;
  for (const auto& host : hosts) list += (list.empty() ? "" : ",") + host;
  return uri.substr(0, begin) + list + uri.substr(end);
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

std::string why_no_proxies(const std::string& uri) {
  mongo::init_driver();  // and silence: an odd option is no error here
  bson_error_t error;
  const std::unique_ptr<mongoc_uri_t, Destroy> parsed(
      mongoc_uri_new_with_error(uri.c_str(), &error));
  if (!parsed) return "";
  const auto refused = [](const std::string& what, const std::string& why) {
    return "--uri " + what + ": " + why + ", " + kRemedy;
  };
  if (mongoc_uri_get_tls(parsed.get())) {
    return refused("has TLS", "a proxy cannot see who speaks; name a set without TLS");
  }
  if (uri.starts_with("mongodb+srv:")) {
    return refused("is 'mongodb+srv:'", "name the members themselves, with 'mongodb:'");
  }
  if (mongoc_uri_get_option_as_bool(parsed.get(), MONGOC_URI_DIRECTCONNECTION, false)) {
    return refused("has directConnection", "links of a whole set are disturbed; leave it out");
  }
  if (mongoc_uri_get_appname(parsed.get()) != nullptr) {
    return refused("has appName", "processes are known by it; leave it out");
  }
  return "";
}

}  // namespace leasehold::sim::live

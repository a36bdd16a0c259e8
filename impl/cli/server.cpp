#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "cli/cli.hpp"

namespace leasehold::cli {
namespace {

bool has_password(const std::string& uri) {
  const auto begin = uri.find("://");
  const auto at = uri.find('@');
  if (begin == std::string::npos || at == std::string::npos) return false;
  return uri.find(':', begin + 3) < at;
}

std::string uri_from_file(const std::string& file) {
  std::ifstream in(file);
  std::string uri;
  if (!(in >> uri)) {
    throw UsageError("--uri-file is '" + file + "': it must be a file that contains a URI");
  }
  return uri;
}

std::string unchecked_uri_of(const po::variables_map& values) {
  if (values.contains("uri-file")) return uri_from_file(values["uri-file"].as<std::string>());
  if (values.contains("uri")) {
    const auto uri = values["uri"].as<std::string>();
    if (!has_password(uri)) return uri;
    throw UsageError(
        "--uri has a password, which everybody on this machine could read: use LEASEHOLD_URI or "
        "--uri-file");
  }
  const char* named = std::getenv("LEASEHOLD_URI");
  if (named != nullptr && *named != '\0') return named;
  throw UsageError("no replica set: give its URI by --uri, --uri-file or LEASEHOLD_URI");
}

/// A stray @ would have the driver take the rest of a password for a host, and name it in errors.
std::string uri_of(const po::variables_map& values) {
  const auto uri = unchecked_uri_of(values);
  const auto begin = uri.find("://");
  const auto end = begin == std::string::npos ? begin : uri.find_first_of("/?", begin + 3);
  if (std::count(uri.begin(), uri.begin() + static_cast<std::ptrdiff_t>(std::min(end, uri.size())),
                 '@') > 1) {
    throw UsageError("the URI has more than one @: in a user name or password it is written %40");
  }
  return uri;
}

}  // namespace

po::options_description server_options() {
  po::options_description options("Replica set");
  const ProviderOptions defaults;
  options.add_options()                                                                           //
      ("uri", po::value<std::string>()->value_name("URI"),                                        //
       "of the replica set, without a password; or in LEASEHOLD_URI")                             //
      ("uri-file", po::value<std::string>()->value_name("FILE"), "a file that contains the URI")  //
      ("database", po::value<std::string>()->default_value("")->value_name("NAME"),
       "of the locks; default: the URI's, or leasehold")  //
      ("collection",
       po::value<std::string>()->default_value(defaults.collection)->value_name("NAME"),
       "of the lock documents");
  return options;
}

Server server_of(const po::variables_map& values) {
  return {uri_of(values), values["database"].as<std::string>(),
          values["collection"].as<std::string>()};
}

void say(const std::string& line) { std::fprintf(stderr, "leasehold: %s\n", line.c_str()); }

}  // namespace leasehold::cli

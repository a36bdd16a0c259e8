#include <sys/stat.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string_view>

#include "cli/cli.hpp"
#include "cli/output.hpp"
#include "mongo/client/uri.hpp"

namespace leasehold::cli {
namespace {

/// Editors of some systems begin a file with a byte order mark.
std::string uri_from_file(const std::string& file) {
  std::ifstream in(file);
  std::string uri;
  if (!(in >> uri)) {
    throw UsageError("--uri-file is '" + file + "': it must be a file that contains a URI");
  }
  constexpr std::string_view kMark = "\xEF\xBB\xBF";
  if (uri.starts_with(kMark)) uri.erase(0, kMark.size());
  struct stat status {};
  const bool for_all = stat(file.c_str(), &status) == 0 && (status.st_mode & S_IROTH) != 0;
  if (const auto secret = mongo::secret_in(uri); for_all && !secret.empty()) {
    say("--uri-file '" + file + "' has " + secret +
        ", which all users of this machine can read: chmod o-r");
  }
  return uri;
}

std::string uri_of(const po::variables_map& values) {
  if (values.contains("uri-file")) return uri_from_file(values["uri-file"].as<std::string>());
  if (values.contains("uri")) {
    const auto uri = values["uri"].as<std::string>();
    const auto secret = mongo::secret_in(uri);
    if (secret.empty()) return uri;
    throw UsageError("--uri has " + secret +
                     ", which all users of this machine could read: use LEASEHOLD_URI or "
                     "--uri-file");
  }
  const char* named = std::getenv("LEASEHOLD_URI");
  if (named != nullptr && *named != '\0') return named;
  throw UsageError("no replica set: give its URI by --uri, --uri-file or LEASEHOLD_URI");
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

po::variables_map parse_with_name(const std::string& usage, const po::options_description& options,
                                  const std::vector<std::string>& words) {
  po::positional_options_description name;
  name.add("name", 1);
  return parse(usage, options, words, name);
}

std::string lock_name_in(const po::variables_map& values) {
  const auto name = values["name"].as<std::string>();
  if (const auto error = check_name(name)) throw UsageError(error->message);
  return name;
}

void say(const std::string& line) {
  std::fprintf(stderr, "leasehold: %s\n", printable(line).c_str());
}

std::string text_of(const nlohmann::ordered_json& json) {
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

void print_json(const nlohmann::ordered_json& json) { print(text_of(json) + '\n'); }

}  // namespace leasehold::cli

#pragma once

#include <string>

#include "mongo/json_client.hpp"

namespace leasehold::sim::live {

using Json = mongo::Json;
using MongoClient = mongo::JsonClient;
using mongo::date_ms;
using mongo::init_driver;
using mongo::integer;
using mongo::NoReply;
using mongo::packed_timestamp;

/// A URI with one more `key=value`.
[[nodiscard]] inline std::string with_option(const std::string& uri, const std::string& option) {
  return uri + (uri.find('?') == std::string::npos ? "?" : "&") + option;
}

}  // namespace leasehold::sim::live

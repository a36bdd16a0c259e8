#pragma once

#include "mongo/client/json_client.hpp"
#include "mongo/client/uri.hpp"

namespace leasehold::sim::live {

using Json = mongo::Json;
using MongoClient = mongo::JsonClient;
using mongo::date_ms;
using mongo::init_driver;
using mongo::integer;
using mongo::NoReply;
using mongo::packed_timestamp;
using mongo::with_hosts;
using mongo::with_option;
using mongo::without_password;

/// Whether the server executed all writes of a command, for as many members as it asked for.
[[nodiscard]] inline bool confirmed(const Json& reply) {
  return integer(reply.at("ok")) == 1 && !reply.contains("writeErrors") &&
         !reply.contains("writeConcernError");
}

}  // namespace leasehold::sim::live

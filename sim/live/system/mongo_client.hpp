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

}  // namespace leasehold::sim::live

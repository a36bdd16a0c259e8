#pragma once

#include "mongo/json_client.hpp"

namespace leasehold::sim::live {

using Json = mongo::Json;
using MongoClient = mongo::JsonClient;
using mongo::init_driver;
using mongo::integer;
using mongo::NoReply;
using mongo::packed_timestamp;

}  // namespace leasehold::sim::live

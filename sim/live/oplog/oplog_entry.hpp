#pragma once

#include <map>
#include <string>

#include "sim/live/system/mongo_client.hpp"

namespace leasehold::sim::live {

/// Parts of oplog entries, which come as extended JSON.
[[nodiscard]] std::string text_in(const Json& document, const char* key);

/// The document's id in an insert, update or delete.
[[nodiscard]] const Json& id_in(const Json& entry);

/// The document that an entry leaves in `documents`, or null if it deletes it.
const Json* apply(std::map<std::string, Json>& documents, const Json& entry,
                  const std::string& key);

}  // namespace leasehold::sim::live

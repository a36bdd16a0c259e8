#pragma once

#include <leasehold/fencing_token.hpp>
#include <string>

#include "sim/live/system/mongo_client.hpp"

namespace leasehold::sim::live {

inline constexpr const char* kResourceCollection = "resource";

/// A resource protected by fencing: one document per lock name that refuses a token lower than the
/// greatest it has taken (filter `fence <= token`), majority writes. For one thread.
class FencedResource {
 public:
  struct Write {
    std::string name;
    std::string process;
    std::int64_t number = 0;  ///< of this write, in its process
    std::string owner;
    FencingToken token;
  };

  FencedResource(const std::string& uri, std::string database)
      : client_(uri), database_(std::move(database)) {}

  /// Makes the documents for these names; the fence stands at 0.
  void create(const std::vector<std::string>& names);

  /// "accepted", "refused" or "unknown".
  std::string write(const Write& write);

 private:
  MongoClient client_;
  const std::string database_;
};

}  // namespace leasehold::sim::live

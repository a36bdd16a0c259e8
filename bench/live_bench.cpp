#include "bench/live_bench.hpp"

#include "api/access.hpp"
#include "core/provider_core.hpp"
#include "mongo/client/mongo_transport.hpp"

namespace leasehold::bench {

LockProvider told_provider(const std::string& uri, const std::string& database, int workers,
                           std::function<void(const std::string&)> on_wire) {
  auto transport = mongo::make_transport({.uri = uri,
                                          .database = database,
                                          .collection = "distributed.locks",
                                          .server_selection_timeout = std::chrono::seconds(5),
                                          .on_wire = std::move(on_wire)});
  auto parts = runtime::production_parts(std::move(transport).value(),
                                         std::make_unique<core::ProviderCore>("bench", workers));
  parts.workers = workers;
  return detail::Access::provider(runtime::Driver::make(std::move(parts)));
}

}  // namespace leasehold::bench

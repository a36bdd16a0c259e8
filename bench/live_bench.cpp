#include "bench/live_bench.hpp"

#include "core/provider_core.hpp"
#include "mongo/mongo_transport.hpp"
#include "runtime/driver.hpp"
#include "runtime/os_entropy.hpp"

namespace leasehold::bench {

LockProvider told_provider(const std::string& uri, const std::string& database, int workers,
                           std::function<void(const std::string&)> on_wire) {
  auto transport = mongo::make_transport({.uri = uri,
                                          .database = database,
                                          .collection = "distributed.locks",
                                          .server_selection_timeout = std::chrono::seconds(5),
                                          .on_wire = std::move(on_wire)});
  return LockProvider(std::make_shared<runtime::Driver>(
      runtime::DriverParts{.transport = std::move(transport).value(),
                           .clock = runtime::boottime_clock(),
                           .entropy = runtime::os_entropy(),
                           .provider = std::make_unique<core::ProviderCore>("bench"),
                           .workers = workers,
                           .on_warning = [](const std::string&) {}}));
}

}  // namespace leasehold::bench

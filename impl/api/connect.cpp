#include "api/connect.hpp"

#include <cstdio>
#include <system_error>

#include "api/access.hpp"
#include "core/provider_core.hpp"
#include "mongo/client/mongo_transport.hpp"

// The linker refuses two versions in one program by this name, because their insides have the same.
extern "C" const char one_version_of_leasehold;
const char one_version_of_leasehold = 0;

namespace leasehold::runtime {
namespace {

std::optional<Error> check(const ProviderOptions& options) {
  if (options.workers < 1 || options.workers > 64) {
    return detail::bad_option("workers is " + std::to_string(options.workers) +
                              ": it must be 1 to 64");
  }
  if (options.collection.empty()) {
    return detail::bad_option("collection is empty: it must have a name");
  }
  if (auto error = check_holder(options.holder)) return error;
  if (options.server_selection_timeout <= std::chrono::milliseconds(0)) {
    return detail::bad_option("server_selection_timeout is " +
                              std::to_string(options.server_selection_timeout.count()) +
                              " ms: it must be positive");
  }
  return std::nullopt;
}

}  // namespace

Result<LockProvider> connect_with(std::unique_ptr<core::Provider> provider, Servers servers,
                                  ProviderOptions options) {
  if (auto error = check(options)) return std::move(*error);
  const bool production = dynamic_cast<core::ProviderCore*>(provider.get()) != nullptr;
  auto transport =
      mongo::make_transport({.uri = std::move(servers.uri),
                             .pool = std::move(servers.pool),
                             .database = options.database,
                             .collection = options.collection,
                             .server_selection_timeout = options.server_selection_timeout});
  if (!transport) return transport.error();
  if (!options.on_warning) {
    options.on_warning = [](const std::string& message) {
      std::fprintf(stderr, "leasehold: %s\n", message.c_str());
    };
  }
  auto parts = production_parts(std::move(*transport), std::move(provider));
  parts.workers = options.workers;
  parts.inspects = production;
  parts.on_warning = std::move(options.on_warning);
  parts.on_event = std::move(options.on_event);
  try {
    return detail::Access::provider(Driver::make(std::move(parts)));
  } catch (const std::system_error& error) {
    return Error{ErrorKind::unavailable, error.code().value(), error.what()};
  }
}

}  // namespace leasehold::runtime

namespace leasehold::inline v0_1 {

Result<LockProvider> LockProvider::connect(const std::string& uri, ProviderOptions options) {
  auto core = std::make_unique<core::ProviderCore>(options.holder, options.workers);
  return runtime::connect_with(std::move(core), {.uri = uri}, std::move(options));
}

Result<LockProvider> connect(std::shared_ptr<mongoc_client_pool_t> pool, ProviderOptions options) {
  if (!pool) return detail::bad_option("pool is empty: it must be one of the driver's");
  auto core = std::make_unique<core::ProviderCore>(options.holder, options.workers);
  return runtime::connect_with(std::move(core), {.pool = std::move(pool)}, std::move(options));
}

}  // namespace leasehold

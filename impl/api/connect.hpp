#pragma once

#include <leasehold/lock_provider.hpp>
#include <leasehold/mongoc.hpp>
#include <memory>
#include <string>

#include "core/provider.hpp"

namespace leasehold::runtime {

/// Where the servers are: a URI, or the application's pool.
struct Servers {
  std::string uri;
  std::shared_ptr<mongoc_client_pool_t> pool;
};

/// What LockProvider::connect does, for any core.
Result<LockProvider> connect_with(std::unique_ptr<core::Provider> provider, Servers servers,
                                  ProviderOptions options);

}  // namespace leasehold::runtime

#pragma once

#include <mongoc/mongoc.h>

#include <memory>

/// Owners of the C driver's objects.
namespace leasehold::mongo {

template <auto Function>
struct Call {
  template <typename T>
  void operator()(T* object) const {
    Function(object);
  }
};

using UriHandle = std::unique_ptr<mongoc_uri_t, Call<mongoc_uri_destroy>>;
using PoolHandle = std::shared_ptr<mongoc_client_pool_t>;
using DescriptionHandle =
    std::unique_ptr<mongoc_server_description_t, Call<mongoc_server_description_destroy>>;

struct DestroySession {
  void operator()(mongoc_client_session_t* session) const {
    mongoc_client_session_destroy(session);
  }
};
using SessionHandle = std::unique_ptr<mongoc_client_session_t, DestroySession>;

}  // namespace leasehold::mongo

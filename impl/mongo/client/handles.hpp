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

/// Whether a URI could not be used because its hosts could not be looked up, which is no fault of
/// the URI's.
inline bool is_name_resolution(const bson_error_t& error) {
  return error.domain == MONGOC_ERROR_STREAM && error.code == MONGOC_ERROR_STREAM_NAME_RESOLUTION;
}

using UriHandle = std::unique_ptr<mongoc_uri_t, Call<mongoc_uri_destroy>>;
using PoolHandle = std::shared_ptr<mongoc_client_pool_t>;
using DescriptionHandle =
    std::unique_ptr<mongoc_server_description_t, Call<mongoc_server_description_destroy>>;
using SessionHandle = std::unique_ptr<mongoc_client_session_t, Call<mongoc_client_session_destroy>>;

}  // namespace leasehold::mongo

#pragma once

#include <mongoc/mongoc.h>

#include <mutex>
#include <vector>

namespace leasehold::mongo {

/// The sockets that one driver client has open, so that a command which hangs can be cut off from
/// another thread: the driver has no call for it.
///
/// Each is kept as a duplicate, which cannot be closed and reused behind our back. A duplicate
/// keeps the connection alive, so `forget` must follow every error after which the driver closes;
/// what it closed by itself, because another client had an error, is dropped when it opens the
/// next.
///
/// Thread safety: `cut` from any thread, the rest from the client's.
class Sockets {
 public:
  /// Lets the sockets that this client opens from now on be known here. REQUIRES: outlives it.
  void watch(mongoc_client_t* client);
  void cut() noexcept;
  void forget();
  ~Sockets() { forget(); }

 private:
  static mongoc_stream_t* open(const mongoc_uri_t* uri, const mongoc_host_list_t* host, void* self,
                               bson_error_t* error);
  void keep(mongoc_stream_t* stream);
  void drop_closed();

  mongoc_client_t* client_ = nullptr;
  std::mutex mutex_;
  struct Kept {
    int original;  ///< the driver's descriptor, if it is still the same socket
    int duplicate;
  };
  std::vector<Kept> kept_;  ///< protected by mutex_
};

}  // namespace leasehold::mongo

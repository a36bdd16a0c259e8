#pragma once

#include <mongoc/mongoc.h>

#include <mutex>
#include <string>
#include <vector>

namespace leasehold::mongo {

/// The sockets that one driver client has open, so that a command which hangs can be cut off from
/// another thread: the driver has no call for it.
///
/// Each is kept as a duplicate, which cannot be closed and reused behind our back, with the member
/// that it leads to. Only sockets to the member that a command was aimed at are cut: the others are
/// healthy, and the client's next commands need them.
///
/// Thread safety: `cut` from any thread, the rest from the client's.
class Sockets {
 public:
  Sockets() = default;
  ~Sockets();
  Sockets(const Sockets&) = delete;
  Sockets& operator=(const Sockets&) = delete;

  /// Lets the sockets that this client opens from now on be known here. REQUIRES: outlives it.
  void watch(mongoc_client_t* client);

  /// A command goes to this member ("host:port") next; empty: to whichever the driver picks.
  void aim(const std::string& member);

  /// Shuts what that command hangs on. INVARIANT: until `settle`, nothing more is sent to where it
  /// was aimed: what is open there is shut, and what the driver opens anew is refused.
  void cut() noexcept;

  /// The command is over. Lets go of connections that have ended, and of nothing else.
  void settle();

 private:
  struct Kept {
    std::string member;
    int duplicate;
  };
  static mongoc_stream_t* open(const mongoc_uri_t* uri, const mongoc_host_list_t* host, void* self,
                               bson_error_t* error);
  /// False: the command that it is opened for was cut.
  bool keep(mongoc_stream_t* stream, const std::string& member);
  void drop_ended();

  mongoc_client_t* client_ = nullptr;
  std::mutex mutex_;  // protects the rest
  std::vector<Kept> kept_;
  std::string target_;
  bool cut_ = false;
};

}  // namespace leasehold::mongo

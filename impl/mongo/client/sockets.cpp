#include "mongo/client/sockets.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>

// Exported by every libmongoc 1.x, but in no public header. Weak: without it commands cannot be cut
// off, and a hung one ends by the socket time-out.
extern "C" mongoc_stream_t* mongoc_client_default_stream_initiator(const mongoc_uri_t* uri,
                                                                   const mongoc_host_list_t* host,
                                                                   void* client,
                                                                   bson_error_t* error)
    __attribute__((weak));

namespace leasehold::mongo {
namespace {

/// The descriptor of a driver socket: its first member, trusted only if the kernel confirms that
/// this descriptor has the local address that the driver reports. -1 otherwise.
int descriptor_of(mongoc_socket_t* socket) {
  int candidate = -1;
  std::memcpy(&candidate, socket, sizeof candidate);
  sockaddr_storage theirs{}, kernels{};
  socklen_t their_size = sizeof theirs, kernel_size = sizeof kernels;
  auto* address = reinterpret_cast<sockaddr*>(&theirs);
  if (mongoc_socket_getsockname(socket, address, &their_size) != 0) return -1;
  if (getsockname(candidate, reinterpret_cast<sockaddr*>(&kernels), &kernel_size) != 0) return -1;
  const bool same = their_size == kernel_size && std::memcmp(&theirs, &kernels, kernel_size) == 0;
  return same ? candidate : -1;
}

/// Whether this connection has ended, by us or by the other side: the driver shuts a socket down
/// before it closes its descriptor (libmongoc, `mongoc_socket_close`), which duplicates see too.
/// The driver's own descriptor is not asked: another thread may have closed it, and reused its
/// number.
bool has_ended(int duplicate) {
  pollfd asked = {.fd = duplicate, .events = 0, .revents = 0};
  return poll(&asked, 1, 0) != 0;  // POLLHUP and POLLERR are always reported
}

}  // namespace

void Sockets::watch(mongoc_client_t* client) {
  if (mongoc_client_default_stream_initiator == nullptr) return;
  client_ = client;
  mongoc_client_set_stream_initiator(client, &Sockets::open, this);
}

mongoc_stream_t* Sockets::open(const mongoc_uri_t* uri, const mongoc_host_list_t* host, void* self,
                               bson_error_t* error) {
  auto* sockets = static_cast<Sockets*>(self);
  auto* stream = mongoc_client_default_stream_initiator(uri, host, sockets->client_, error);
  if (stream == nullptr || sockets->keep(stream, host->host_and_port)) return stream;
  mongoc_stream_destroy(stream);
  bson_set_error(error, MONGOC_ERROR_STREAM, MONGOC_ERROR_STREAM_CONNECT,
                 "given up while connecting to %s", host->host_and_port);
  return nullptr;
}

bool Sockets::keep(mongoc_stream_t* stream, const std::string& member) {
  constexpr int kSocketStream = 1;  // MONGOC_STREAM_SOCKET
  while (stream != nullptr && stream->type != kSocketStream) {
    stream = mongoc_stream_get_base_stream(stream);
  }
  const std::lock_guard lock(mutex_);
  if (cut_) return false;
  if (stream == nullptr) return true;
  auto* socket = mongoc_stream_socket_get_socket(reinterpret_cast<mongoc_stream_socket_t*>(stream));
  const int descriptor = socket == nullptr ? -1 : descriptor_of(socket);
  const int duplicate = descriptor < 0 ? -1 : fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
  if (duplicate < 0) return true;
  drop_ended();
  kept_.push_back({member, duplicate});
  return true;
}

void Sockets::drop_ended() {
  std::erase_if(kept_, [](const Kept& kept) {
    const bool ended = has_ended(kept.duplicate);
    if (ended) close(kept.duplicate);
    return ended;
  });
}

void Sockets::aim(const std::string& member) {
  const std::lock_guard lock(mutex_);
  target_ = member;
}

void Sockets::cut() noexcept {
  const std::lock_guard lock(mutex_);
  cut_ = true;
  for (const Kept& kept : kept_) {
    if (target_.empty() || kept.member == target_) shutdown(kept.duplicate, SHUT_RDWR);
  }
}

void Sockets::settle() {
  const std::lock_guard lock(mutex_);
  cut_ = false;
  drop_ended();
}

Sockets::~Sockets() {
  for (const Kept& kept : kept_) close(kept.duplicate);
}

}  // namespace leasehold::mongo

#pragma once

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <system_error>

namespace leasehold::c {

/// A file descriptor that becomes readable, once and for good: also if its owner or a child of fork
/// reads it, because each read takes one of 2^64. Thread safety: all calls.
class EventFd {
 public:
  /// Throws std::system_error if the process has no descriptor left.
  EventFd() : fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK | EFD_SEMAPHORE)) {
    if (fd_ < 0) throw std::system_error(errno, std::generic_category(), "no file descriptor");
  }
  ~EventFd() { close(fd_); }
  EventFd(const EventFd&) = delete;
  EventFd& operator=(const EventFd&) = delete;

  void signal() const { eventfd_write(fd_, UINT64_MAX - 1); }
  [[nodiscard]] int fd() const { return fd_; }

 private:
  const int fd_;
};

}  // namespace leasehold::c

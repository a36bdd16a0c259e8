#pragma once

#include <leasehold/leasehold.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <functional>
#include <future>
#include <leasehold/lock_provider.hpp>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <system_error>

#include "runtime/threads/warning_hook.hpp"
#include "runtime/threads/fork.hpp"

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

/// Tells a descriptor that a handle is lost.
struct LossWatch {
  explicit LossWatch(const LockHandle& handle) : heard(handle.lost(), [this] { lost.signal(); }) {}
  EventFd lost;
  std::stop_callback<std::function<void()>> heard;  ///< ends, and waits, before the descriptor does
};

/// In the child of a fork, what the parent made is neither waited for nor destroyed, because the
/// threads that would answer, and may hold its locks, are not there.
class MadeHere {
 public:
  [[nodiscard]] bool forked() const { return generation_ != runtime::fork_generation(); }

 private:
  int generation_ = runtime::fork_generation();
};

}  // namespace leasehold::c

// What the opaque pointers of leasehold.h point to.

struct leasehold_provider {
  leasehold::LockProvider provider;
  std::shared_ptr<leasehold::runtime::WarningHook> warnings = {};  ///< null: standard error
  leasehold::c::MadeHere made = {};
};

struct leasehold_handle {
  explicit leasehold_handle(leasehold::LockHandle granted) : handle(std::move(granted)) {}
  leasehold::LockHandle handle;
  std::once_flag watched;  ///< most handles are never polled, and need no descriptor
  std::optional<leasehold::c::LossWatch> watch;
  leasehold::c::MadeHere made;
};

struct leasehold_call {
  using Result = leasehold::Result<leasehold::LockHandle>;

  /// What the thread that has the answer fills in: no function of the caller delays it.
  struct Answer {
    std::promise<Result> promise;
    leasehold::c::EventFd arrived;
  };
  std::shared_ptr<Answer> answer = std::make_shared<Answer>();
  std::future<Result> result = answer->promise.get_future();
  std::function<void()> cancel;
  leasehold::c::MadeHere made;
};

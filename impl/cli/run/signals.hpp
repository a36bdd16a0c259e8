#pragma once

#include <sys/eventfd.h>
#include <unistd.h>

#include "cli/cli.hpp"

namespace leasehold::cli {

/// Signals that end a wait or are meant for a command, and the ends of processes, to be read one by
/// one. They are blocked in every thread, so it is made before there are any. A signal that was
/// ignored when this program began is left alone.
class Signals {
 public:
  Signals();
  ~Signals() { close(fd_); }
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  [[nodiscard]] int fd() const { return fd_; }
  /// The next one for a command; 0: none. Ends of processes are left out.
  [[nodiscard]] int next_for_command() const;
  /// The next one that ends a wait; 0: none. This process stops at SIGTSTP, and goes on from here.
  [[nodiscard]] int next() const;

 private:
  int fd_ = -1;
};

/// Stops this process as the signal by default does, until it is continued; or its whole group. The
/// kernel ignores that where no shell is left to continue it.
void stop_by(int signal, bool whole_group);

/// Wakes a poll from another thread.
class Bell {
 public:
  Bell() : fd_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
    require_made(fd_ >= 0, "descriptor for wake-ups");
  }
  ~Bell() { close(fd_); }
  Bell(const Bell&) = delete;
  Bell& operator=(const Bell&) = delete;

  [[nodiscard]] int fd() const { return fd_; }
  void ring() const { eventfd_write(fd_, 1); }
  void clear() const {
    eventfd_t count = 0;
    eventfd_read(fd_, &count);
  }

 private:
  int fd_;
};

/// Waits until a signal, the bell or the limit; -1: no limit.
void wait_for(const Signals& signals, const Bell& bell, int limit_ms);

}  // namespace leasehold::cli

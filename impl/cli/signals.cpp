#include "cli/signals.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cstdint>
#include <initializer_list>

namespace leasehold::cli {

/// SIGTTOU is blocked and not read: it would stop us when a command takes the terminal.
Signals::Signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int one : {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGCHLD, SIGTTOU}) sigaddset(&set, one);
  sigprocmask(SIG_BLOCK, &set, nullptr);
  sigdelset(&set, SIGTTOU);
  fd_ = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
}

Signals::~Signals() { close(fd_); }

int Signals::next() const {
  signalfd_siginfo info{};
  while (read(fd_, &info, sizeof info) == sizeof info) {
    if (info.ssi_signo != SIGCHLD) return static_cast<int>(info.ssi_signo);
  }
  return 0;
}

Bell::Bell() : fd_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {}

Bell::~Bell() { close(fd_); }

void Bell::ring() const {
  const std::uint64_t one = 1;
  (void)!write(fd_, &one, sizeof one);
}

void Bell::clear() const {
  std::uint64_t count = 0;
  (void)!read(fd_, &count, sizeof count);
}

void wait_for(const Signals& signals, const Bell& bell, int limit_ms) {
  pollfd ready[]{{signals.fd(), POLLIN, 0}, {bell.fd(), POLLIN, 0}};
  poll(ready, 2, limit_ms);
  bell.clear();
}

}  // namespace leasehold::cli

#include "cli/run/signals.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <initializer_list>
#include <iterator>

#include "cli/inherited.hpp"

namespace leasehold::cli {
namespace {

/// Whether it would end or stop us, and is not about a fault of ours.
bool ends_or_stops(int signal) {
  constexpr int kAll[]{SIGTERM, SIGINT,    SIGHUP,  SIGQUIT, SIGUSR1, SIGUSR2, SIGTSTP,
                       SIGALRM, SIGVTALRM, SIGPROF, SIGIO,   SIGXCPU, SIGPWR,  SIGSTKFLT};
  const auto end = std::end(kAll);
  return signal >= SIGRTMIN || std::find(std::begin(kAll), end, signal) != end;
}

}  // namespace

/// SIGTTOU is blocked and not read: it would stop us when a command takes the terminal.
Signals::Signals() {
  sigset_t set;
  sigemptyset(&set);
  for (int one = 1; one <= SIGRTMAX; ++one) {
    if (ends_or_stops(one) && !was_ignored(one)) sigaddset(&set, one);  // blocked, it would be read
  }
  for (const int one : {SIGCHLD, SIGTTOU}) sigaddset(&set, one);
  sigprocmask(SIG_BLOCK, &set, nullptr);
  sigdelset(&set, SIGTTOU);
  fd_ = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
  require_made(fd_ >= 0, "descriptor for signals");
}

int Signals::next_for_command() const {
  signalfd_siginfo info{};
  while (read(fd_, &info, sizeof info) == sizeof info) {
    if (info.ssi_signo != SIGCHLD) return static_cast<int>(info.ssi_signo);
  }
  return 0;
}

int Signals::next() const {
  while (const int signal = next_for_command()) {
    if (signal != SIGTSTP) return signal;
    stop_by(signal, false);
  }
  return 0;
}

void stop_by(int signal, bool whole_group) {
  whole_group ? kill(0, signal) : raise(signal);
  sigset_t only, before;
  sigemptyset(&only);
  sigaddset(&only, signal);
  // Pending until here, where it is blocked.
  pthread_sigmask(SIG_UNBLOCK, &only, &before);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void wait_for(const Signals& signals, const Bell& bell, int limit_ms) {
  pollfd ready[]{{signals.fd(), POLLIN, 0}, {bell.fd(), POLLIN, 0}};
  poll(ready, 2, limit_ms);
  bell.clear();
}

}  // namespace leasehold::cli

#include "cli/run/guard.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/cli.hpp"

namespace leasehold::cli {
namespace {

constexpr std::int64_t kDismissed = 0;
constexpr std::int64_t kSecond_ns = 1'000'000'000;

[[noreturn]] void guard(int orders, int timer, pid_t group) {
  setsid();  // no signal of the terminal or of the group is meant for it
  prctl(PR_SET_NAME, "leasehold-guard");
  // Both are above 2, because `main` has opened what was closed.
  dup2(orders, 0);
  dup2(timer, 1);
  timer = 1;
  // Or a reader of our output would wait for it too. Not every C library has a function for this.
  syscall(SYS_close_range, 2u, ~0u, 0u);
  for (;;) {
    pollfd ready[]{{0, POLLIN, 0}, {timer, POLLIN, 0}};
    if (poll(ready, 2, -1) < 0) continue;
    std::int64_t order = kDismissed;
    const ssize_t n = (ready[0].revents != 0) ? ::read(0, &order, sizeof order) : 1;
    if (n == sizeof order && order == kDismissed) _exit(0);
    if (n == sizeof order) {
      itimerspec at{};
      at.it_value = {static_cast<time_t>(order / kSecond_ns),
                     static_cast<long>(order % kSecond_ns)};
      timerfd_settime(timer, TFD_TIMER_ABSTIME, &at, nullptr);
    } else if (n <= 0 || ready[1].revents != 0) {
      kill(-group, SIGKILL);
      _exit(0);
    }
  }
}

}  // namespace

Guard::Guard(pid_t group) {
  int ends[2];
  require_made(pipe2(ends, O_CLOEXEC) == 0, "pipe to a guard process");
  const int timer = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC);
  require_made(timer >= 0, "timer for a guard process");
  pid_ = fork();
  if (pid_ == 0) {
    close(ends[1]);
    guard(ends[0], timer, group);
  }
  require_made(pid_ >= 0, "guard process");
  close(ends[0]);
  close(timer);
  pipe_ = ends[1];
}

void Guard::tell(std::int64_t value) const {
  // If it is gone, this process still ends the group itself.
  (void)!write(pipe_, &value, sizeof value);
}

void Guard::set_deadline(core::LocalInstant at) { tell(at.time_since_epoch().count()); }

void Guard::dismiss() {
  if (pid_ <= 0) return;
  tell(kDismissed);
  close(pipe_);
  waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

}  // namespace leasehold::cli

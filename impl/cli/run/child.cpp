#include "cli/run/child.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string_view>

#include "cli/cli.hpp"
#include "cli/inherited.hpp"
#include "cli/run/signals.hpp"
#include "mongo/client/uri.hpp"

namespace leasehold::cli {
namespace {

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> list;
  for (auto& text : texts) list.push_back(text.data());
  list.push_back(nullptr);
  return list;
}

/// A password is not handed on, because a command may write down its environment or pass it on.
bool is_handed_on(std::string_view setting) {
  constexpr std::string_view kUri = "LEASEHOLD_URI=";
  return !setting.starts_with(kUri) || mongo::secret_in(setting.substr(kUri.size())).empty();
}

/// Our environment and these settings, which go before what it has of the same names.
std::vector<std::string> with_ours(std::vector<std::string> settings) {
  const auto added = settings.size();
  for (char** one = environ; *one != nullptr; ++one) {
    const std::string_view setting(*one);
    const auto name = setting.substr(0, setting.find('=') + 1);
    const auto same = [name](const std::string& own) { return own.starts_with(name); };
    const auto end = settings.begin() + static_cast<std::ptrdiff_t>(added);
    if (!is_handed_on(setting) || std::any_of(settings.begin(), end, same)) continue;
    settings.emplace_back(setting);
  }
  return settings;
}

void write_error(const char* text) { (void)!write(STDERR_FILENO, text, std::strlen(text)); }

/// Allocates nothing, because a fork has copied the locks of other threads: glibc's strerror would,
/// others' return a constant.
const char* description_of(int error) {
#ifdef __GLIBC__
  return strerrordesc_np(error);
#else
  return std::strerror(error);
#endif
}

/// In the new process: becomes the command.
[[noreturn]] void become(char** command, char** environment) {
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  for (const int one : {SIGPIPE, SIGXFSZ}) {
    if (!was_ignored(one)) ::signal(one, SIG_DFL);
  }
  execvpe(command[0], command, environment);
  const int error = errno;
  write_error("leasehold: ");
  write_error(command[0]);
  write_error(": ");
  write_error(description_of(error));
  write_error("\n");
  _exit(error == ENOENT ? kNotFound : kCannotExecute);
}

/// The same once the word to go has come.
[[noreturn]] void wait_and_become(char** command, char** environment, int start, pid_t parent) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(kCannotExecute);
  char word = 0;
  if (::read(start, &word, 1) != 1) _exit(kCannotExecute);
  become(command, environment);
}

/// Programs of a pipeline share the terminal: a pager reads the keyboard, for instance.
bool in_pipeline() {
  const auto is_pipe = [](int descriptor) {
    struct stat status {};
    return fstat(descriptor, &status) == 0 && S_ISFIFO(status.st_mode);
  };
  return is_pipe(STDIN_FILENO) || is_pipe(STDOUT_FILENO);
}

/// Process number 1 becomes the parent of each process that has lost its own.
void reap_orphans(pid_t but) {
  siginfo_t info{};
  while (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid != 0 &&
         info.si_pid != but) {
    waitpid(info.si_pid, nullptr, 0);
    info.si_pid = 0;
  }
}

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

Child::Child(const std::vector<std::string>& command, const std::vector<std::string>& environment) {
  int ends[2];
  require_made(pipe2(ends, O_CLOEXEC) == 0, "pipe to the command");
  std::vector<std::string> words = command, settings = with_ours(environment);
  auto arguments = pointers(words), variables = pointers(settings);
  terminal_ = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
  const pid_t self = getpid();
  pid_ = fork();
  if (pid_ == 0) {
    close(ends[1]);
    wait_and_become(arguments.data(), variables.data(), ends[0], self);
  }
  require_made(pid_ >= 0, "new process");
  close(ends[0]);
  start_ = ends[1];
  setpgid(pid_, pid_);  // the child does so too, because either may be first
}

Child::~Child() {
  close(start_);
  if (foreground() == Foreground::commands) give_terminal_to(getpgrp());
  if (terminal_ >= 0) close(terminal_);
}

Child::Foreground Child::foreground() const {
  const pid_t group = terminal_ < 0 ? -1 : tcgetpgrp(terminal_);
  if (group == getpgrp()) return Foreground::ours;
  return group == pid_ ? Foreground::commands : Foreground::another;
}

void Child::give_terminal_to(pid_t group) const {
  tcsetpgrp(terminal_, group);  // SIGTTOU is blocked
}

void Child::go() {
  if (foreground() == Foreground::ours && !in_pipeline()) give_terminal_to(pid_);
  (void)!write(start_, "g", 1);
}

bool Child::signal(int number) {
  told_to_stop_ |= number == SIGTSTP;
  return kill(-pid_, number) == 0 || errno != EPERM;
}

void Child::resume() const { kill(-pid_, SIGCONT); }

bool Child::ended() const {
  if (getpid() == 1) reap_orphans(pid_);
  siginfo_t info{};
  const int result = waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT);
  return result == 0 ? info.si_pid == pid_ : errno == ECHILD;
}

/// A command that another process stopped by SIGSTOP, away from the terminal, is waited for.
std::optional<int> Child::stopped() {
  siginfo_t info{};
  const int result = waitid(P_PID, static_cast<id_t>(pid_), &info, WSTOPPED | WNOHANG);
  if (result != 0 || info.si_pid != pid_) return std::nullopt;
  const int signal = info.si_status;
  const auto has = foreground();
  if (terminal_ >= 0 && (signal == SIGTTIN || signal == SIGTTOU)) {
    if (has == Foreground::another) return signal;
    if (has == Foreground::ours) give_terminal_to(pid_);
    resume();
    return std::nullopt;
  }
  const bool stops_us = has == Foreground::commands || (signal == SIGTSTP && told_to_stop_);
  return stops_us ? std::optional(signal) : std::nullopt;
}

void Child::stop_with_it(int signal) {
  const bool had_terminal = foreground() == Foreground::commands;
  const bool on_its_own = signal == SIGTTIN || signal == SIGTTOU;
  if (had_terminal) give_terminal_to(getpgrp());
  // The shell's `fg` may have come since the command stopped: it must not be answered by a stop.
  const bool has_come_back = on_its_own && foreground() == Foreground::ours;
  // Our group got what the terminal sent to it, but not what it sent to the command's group.
  if (!has_come_back) stop_by(signal == SIGSTOP ? SIGTSTP : signal, had_terminal || on_its_own);
  told_to_stop_ = false;
  if ((had_terminal || on_its_own) && foreground() == Foreground::ours) give_terminal_to(pid_);
  resume();
}

Child::End Child::reap() {
  int status = 0;
  End end;
  end.had_terminal = foreground() == Foreground::commands;
  if (end.had_terminal) give_terminal_to(getpgrp());
  if (waitpid(pid_, &status, 0) != pid_) {
    throw std::runtime_error("cannot get the command's exit status: it was reaped elsewhere");
  }
  end.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  end.code = end.signal == 0 ? WEXITSTATUS(status) : kSignalled + end.signal;
  return end;
}

bool Child::left_others() const { return kill(-pid_, 0) != 0 && errno == EPERM; }

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

void run_detached(const std::string& shell_command, const std::vector<std::string>& environment) {
  std::vector<std::string> words{"/bin/sh", "-c", shell_command};
  std::vector<std::string> settings = with_ours(environment);
  auto arguments = pointers(words), variables = pointers(settings);
  const pid_t pid = fork();
  if (pid < 0) return say(std::string("--on-lost-run: ") + std::strerror(errno));
  // A group of its own: what ends the command's group, or ours, is not meant for it.
  setpgid(pid, pid);
  if (pid == 0) become(arguments.data(), variables.data());
}

}  // namespace leasehold::cli

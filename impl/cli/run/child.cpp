#include "cli/run/child.hpp"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
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

/// In the new process: waits for the word to go, then becomes the command.
[[noreturn]] void become(char** command, char** environment, int start, pid_t parent) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(kCannotExecute);
  char word = 0;
  if (::read(start, &word, 1) != 1) _exit(kCannotExecute);
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

}  // namespace

Child::Child(const std::vector<std::string>& command, const std::vector<std::string>& environment) {
  int ends[2];
  require_made(pipe2(ends, O_CLOEXEC) == 0, "pipe to the command");
  std::vector<std::string> words = command, settings = with_ours(environment);
  const auto arguments = pointers(words), variables = pointers(settings);
  terminal_ = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
  const pid_t self = getpid();
  pid_ = fork();
  if (pid_ == 0) {
    close(ends[1]);
    become(const_cast<char**>(arguments.data()), const_cast<char**>(variables.data()), ends[0],
           self);
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

void run_detached(const std::string& shell_command, const std::vector<std::string>& environment) {
  std::vector<std::string> words{"/bin/sh", "-c", shell_command};
  std::vector<std::string> settings = with_ours(environment);
  const auto arguments = pointers(words), variables = pointers(settings);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none, changed;
  sigemptyset(&none);
  sigemptyset(&changed);
  for (const int one : {SIGPIPE, SIGXFSZ}) {
    if (!was_ignored(one)) sigaddset(&changed, one);
  }
  // A group of its own: what ends the command's group, or ours, is not meant for it.
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &changed);
  pid_t pid = 0;
  const int error =
      posix_spawn(&pid, words[0].c_str(), nullptr, &attributes, arguments.data(), variables.data());
  posix_spawnattr_destroy(&attributes);
  if (error != 0) say(std::string("--on-lost-run: ") + std::strerror(error));
}

}  // namespace leasehold::cli

#include "cli/child.hpp"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string_view>

#include "cli/cli.hpp"

namespace leasehold::cli {
namespace {

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> list;
  for (auto& text : texts) list.push_back(text.data());
  list.push_back(nullptr);
  return list;
}

/// Our environment and these settings, which go before what it has of the same names.
std::vector<std::string> with_ours(std::vector<std::string> settings) {
  const auto added = settings.size();
  for (char** one = environ; *one != nullptr; ++one) {
    const std::string_view setting(*one);
    const auto name = setting.substr(0, setting.find('=') + 1);
    const auto same = [name](const std::string& own) { return own.starts_with(name); };
    const auto end = settings.begin() + static_cast<std::ptrdiff_t>(added);
    if (std::none_of(settings.begin(), end, same)) settings.emplace_back(setting);
  }
  return settings;
}

void write_error(const char* text) { (void)!write(STDERR_FILENO, text, std::strlen(text)); }

/// In the new process: waits for the word to go, then becomes the command.
[[noreturn]] void become(char** command, char** environment, int start, pid_t parent) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(kCannotExecute);
  char word = 0;
  if (read(start, &word, 1) != 1) _exit(kCannotExecute);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  ::signal(SIGPIPE, SIG_DFL);
  execvpe(command[0], command, environment);
  const int error = errno;
  write_error("leasehold: ");
  write_error(command[0]);
  write_error(": ");
  write_error(strerrordesc_np(error));
  write_error("\n");
  _exit(error == ENOENT ? kNotFound : kCannotExecute);
}

void give_terminal_to(pid_t group) { tcsetpgrp(STDIN_FILENO, group); }  // SIGTTOU is blocked

}  // namespace

Child::Child(const std::vector<std::string>& command, const std::vector<std::string>& environment) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error(std::strerror(errno));
  std::vector<std::string> words = command, settings = with_ours(environment);
  const auto arguments = pointers(words), variables = pointers(settings);
  had_terminal_ = isatty(STDIN_FILENO) != 0 && tcgetpgrp(STDIN_FILENO) == getpgrp();
  const pid_t self = getpid();
  pid_ = fork();
  if (pid_ == 0) {
    close(ends[1]);
    become(const_cast<char**>(arguments.data()), const_cast<char**>(variables.data()), ends[0],
           self);
  }
  const int error = errno;
  close(ends[0]);
  start_ = ends[1];
  if (pid_ < 0) throw std::runtime_error(std::string("no new process: ") + std::strerror(error));
  setpgid(pid_, pid_);  // it does so too; whoever comes first
}

Child::~Child() {
  close(start_);
  if (had_terminal_) give_terminal_to(getpgrp());
}

void Child::go() {
  if (had_terminal_) give_terminal_to(pid_);
  (void)!write(start_, "g", 1);
}

void Child::signal(int number) const { kill(-pid_, number); }

bool Child::ended() const {
  siginfo_t info{};
  waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT);
  return info.si_pid == pid_;
}

int Child::reap() {
  int status = 0;
  waitpid(pid_, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : kSignalled + WTERMSIG(status);
}

void run_detached(const std::string& shell_command, const std::vector<std::string>& environment) {
  std::vector<std::string> words{"/bin/sh", "-c", shell_command};
  std::vector<std::string> settings = with_ours(environment);
  const auto arguments = pointers(words), variables = pointers(settings);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none, changed;
  sigemptyset(&none);
  sigemptyset(&changed);
  sigaddset(&changed, SIGPIPE);
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

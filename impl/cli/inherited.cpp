#include "cli/inherited.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <initializer_list>

extern "C" void mongoc_log_set_handler(void (*)(int, const char*, const char*, void*), void*)
    __attribute__((weak));

/// The driver's library makes counters in shared memory while it is loaded, and one that is full
/// kills the process by SIGBUS. They get memory of this process alone. Where a limit on files would
/// kill it for that by SIGXFSZ the library does without, and must not say so into a file. A
/// program's own function goes before that of the C library.
extern "C" __attribute__((visibility("default"))) int shm_open(const char* name, int, mode_t) {
  constexpr rlim_t kRoom = 1 << 20;
  rlimit limit{};
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur >= kRoom) {
    return memfd_create(name, MFD_CLOEXEC);
  }
  if (mongoc_log_set_handler != nullptr) mongoc_log_set_handler(nullptr, nullptr);
  errno = EFBIG;
  return -1;
}

namespace leasehold::cli {
namespace {

/// Kept apart from the dispositions themselves, which this program changes.
sigset_t ignored = {};

bool is_ignored(int signal) {
  struct sigaction action {};
  return sigaction(signal, nullptr, &action) == 0 && (action.sa_flags & SA_SIGINFO) == 0 &&
         action.sa_handler == SIG_IGN;
}

}  // namespace

void settle_inherited_state() {
  // open gives the lowest free number, and the descriptors are visited in that order.
  for (const int one : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(one, F_GETFD) < 0 && errno == EBADF) (void)!open("/dev/null", O_RDWR);
  }
  sigemptyset(&ignored);
  for (int one = 1; one <= SIGRTMAX; ++one) {
    if (is_ignored(one)) sigaddset(&ignored, one);
  }
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  signal(SIGCHLD, SIG_DFL);
  for (const int one : {SIGPIPE, SIGXFSZ}) signal(one, SIG_IGN);
}

bool was_ignored(int signal) { return sigismember(&ignored, signal) == 1; }

}  // namespace leasehold::cli

#include <execinfo.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <exception>
#include <fstream>
#include <iterator>

#include "sim/live/processes/worker.hpp"

namespace {

constexpr int kMostFrames = 64;

/// Where a crash happened goes into the history, with the other last words. Then it goes on.
void say_where(int signal) {
  void* frames[kMostFrames];
  backtrace_symbols_fd(frames, backtrace(frames, kMostFrames), STDERR_FILENO);
  raise(signal);
}

/// Sanitizers say it themselves.
void say_where_it_crashes() {
  void* frames[1];
  backtrace(frames, 1);  // loads what it needs: a crash is too late for that
  for (const int signal : {SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV}) {
    struct sigaction before {}, now {};
    now.sa_handler = say_where;
    now.sa_flags = static_cast<int>(SA_RESETHAND);
    if (sigaction(signal, nullptr, &before) == 0 && before.sa_handler == SIG_DFL) {
      sigaction(signal, &now, nullptr);
    }
  }
}

}  // namespace

/// The program of a simulated process: `leasehold-worker FILE`, started by the harness only. It is
/// a program of its own so that it has the allocator that users have.
int main(int argc, char** argv) {
  using namespace leasehold::sim::live;
  if (argc != 2) {
    std::fputs("leasehold-worker: started by the harness only\n", stderr);
    return 64;
  }
  signal(SIGPIPE, SIG_IGN);
  say_where_it_crashes();
  try {
    std::ifstream in(argv[1]);
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    return run_worker(order_from_json(text));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "leasehold-worker: %s\n", error.what());
    return 2;
  }
}

#include <signal.h>

#include <cstdio>
#include <exception>
#include <fstream>
#include <iterator>

#include "sim/live/processes/worker.hpp"

/// The program of a simulated process: `leasehold-worker FILE`, started by the harness only. It is
/// a program of its own so that it has the allocator that users have.
int main(int argc, char** argv) {
  using namespace leasehold::sim::live;
  if (argc != 2) {
    std::fputs("leasehold-worker: started by the harness only\n", stderr);
    return 64;
  }
  signal(SIGPIPE, SIG_IGN);
  try {
    std::ifstream in(argv[1]);
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    return run_worker(order_from_json(text));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "leasehold-worker: %s\n", error.what());
    return 2;
  }
}

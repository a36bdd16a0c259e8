// At most two exports at a time, on all machines together; each has a directory of its own.
#include <atomic>
#include <cstdio>
#include <leasehold/leasehold.hpp>
#include <thread>
#include <vector>

using namespace std::chrono_literals;

namespace {

/// No other process writes to this directory as long as the permit is held; the keeper of the
/// files refuses lower tokens of the same slot.
void write_export(const leasehold::LockHandle& permit) {
  std::printf("exporting to directory %d with token %s\n", permit.slot(),
              permit.fencing_token().to_string().c_str());
  std::this_thread::sleep_for(50ms);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 64;
  auto provider = leasehold::LockProvider::connect(argv[1]);
  if (!provider) return 1;
  const auto exports = *provider->create_semaphore("exports", 2);
  std::atomic<int> done = 0;
  std::vector<std::jthread> jobs;
  for (int i = 0; i < 5; ++i) {
    jobs.emplace_back([&] {
      auto permit = exports.try_acquire(20s);
      if (!permit) return;
      write_export(*permit);
      ++done;
    });  // released here
  }
  jobs.clear();
  return done == 5 ? 0 : 1;
}

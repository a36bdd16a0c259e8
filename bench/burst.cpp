#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <leasehold/leasehold.hpp>
#include <mutex>
#include <vector>

/// Goodput: free locks asked for by one provider, so many at a time, and kept until all are granted.
///
///     bench_burst URI LOCKS AT_A_TIME [TIMEOUT_SECONDS]
namespace {

using std::chrono::duration;
using std::chrono::seconds;
using std::chrono::steady_clock;

struct Burst {
  std::mutex mutex;  // protects the rest
  std::condition_variable answered;
  std::vector<leasehold::LockHandle> handles;
  int under_way = 0, failed = 0;
  std::string first_failure;

  void answer(leasehold::Result<leasehold::LockHandle> handle) {
    const std::lock_guard lock(mutex);
    --under_way;
    if (handle) {
      handles.push_back(std::move(handle).value());
    } else if (++failed == 1) {
      first_failure = handle.error().message;
    }
    answered.notify_one();
  }
};

int run(const char* uri, int locks, int at_a_time, seconds timeout) {
  leasehold::ProviderOptions options;
  options.database = "bench_burst_" + std::to_string(getpid());
  auto provider = leasehold::LockProvider::connect(uri, options);
  if (!provider) return std::fprintf(stderr, "%s\n", provider.error().message.c_str()), 1;
  Burst burst;
  const auto began = steady_clock::now();
  auto shown = began;
  for (int asked = 0;;) {
    std::unique_lock lock(burst.mutex);
    burst.answered.wait_for(lock, seconds(1),
                            [&] { return burst.under_way < at_a_time || asked == locks; });
    if (steady_clock::now() - shown > seconds(10)) {
      shown = steady_clock::now();
      std::fprintf(stderr, "%zu granted, %d failed\n", burst.handles.size(), burst.failed);
    }
    if (asked == locks && burst.under_way == 0) break;
    const int now = std::min(locks - asked, at_a_time - burst.under_way);
    burst.under_way += now;
    lock.unlock();
    for (int i = 0; i < now; ++i) {
      const auto name = "burst-" + std::to_string(asked++);
      provider->create_lock(name)->acquire_async(
          timeout, [&burst](auto handle) { burst.answer(std::move(handle)); });
    }
  }
  const double took = duration<double>(steady_clock::now() - began).count();
  std::size_t lost = 0;
  for (const auto& handle : burst.handles) lost += handle.held() ? 0 : 1;
  std::printf("%d locks, %d at a time: %zu granted in %.1f s (%.0f/s), %zu lost, %d failed%s%s\n",
              locks, at_a_time, burst.handles.size(), took,
              static_cast<double>(burst.handles.size()) / took, lost, burst.failed,
              burst.failed > 0 ? ": " : "", burst.first_failure.c_str());
  std::fflush(stdout);
  _exit(0);  // the locks are of a database of this run alone
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return std::fprintf(stderr, "bench_burst URI LOCKS AT_A_TIME [TIMEOUT_SECONDS]\n"), 64;
  return run(argv[1], std::atoi(argv[2]), std::atoi(argv[3]),
             seconds(argc > 4 ? std::atoi(argv[4]) : 3'600));
}

/// The example of "distributed-lock": acquire, work, release at the end of the scope.
#include <cstdio>
#include <leasehold/published.hpp>

using namespace std::chrono_literals;

int main(int argc, char** argv) {
  if (argc != 2) return 64;
  auto provider = leasehold::published::connect("distributed-lock", argv[1]);
  if (!provider) return std::fprintf(stderr, "%s\n", provider.error().message.c_str()), 1;
  auto options = leasehold::published::default_options("distributed-lock");
  options.expiry = 30s;
  options.extension_cadence = 10s;
  options.waiting = leasehold::uniform_waiting(10ms, 800ms);
  auto lock = provider->create_lock("MyLockName", options);
  auto handle = lock->try_acquire(10s);
  if (!handle) return std::fprintf(stderr, "%s\n", handle.error().message.c_str()), 1;
  std::printf("I have the lock, token %s\n", handle->fencing_token().to_string().c_str());
}

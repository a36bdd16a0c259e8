#include <cstdio>
#include <leasehold/leasehold.hpp>

/// Leaves its lock to exit, which releases what is in static storage.
int main(int argc, char** argv) {
  if (argc != 2) return 64;
  static auto provider = leasehold::LockProvider::connect(argv[1]);
  if (!provider) return std::fprintf(stderr, "%s\n", provider.error().message.c_str()), 1;
  const auto lock = provider->create_lock("job");
  static auto handle = lock->try_acquire(std::chrono::seconds(10));
  if (!handle) return std::fprintf(stderr, "%s\n", handle.error().message.c_str()), 1;
  std::printf("held with token %s\n", handle->fencing_token().to_string().c_str());
  return 0;
}

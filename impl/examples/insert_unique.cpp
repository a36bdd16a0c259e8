/// The example of "insert-unique": ten tries, 100 ms apart; then the business of order_12345.
#include <cstdio>
#include <leasehold/published.hpp>

using namespace std::chrono_literals;

int main(int argc, char** argv) {
  if (argc != 2) return 64;
  auto provider = leasehold::published::connect("insert-unique", argv[1]);
  if (!provider) return std::fprintf(stderr, "%s\n", provider.error().message.c_str()), 1;
  auto lock =
      provider->create_lock("order_12345", leasehold::published::default_options("insert-unique"));
  auto handle = lock->try_acquire(30s);
  if (!handle) return std::fprintf(stderr, "%s\n", handle.error().message.c_str()), 1;
  std::printf("acquired; the work stands outside the transaction that took the lock\n");
  handle->release();
  std::printf("released\n");
}

/// The example of "set-on-insert": read a resource, do something, update it, one task at a time.
#include <cstdio>
#include <leasehold/published.hpp>

using namespace std::chrono_literals;

int main(int argc, char** argv) {
  if (argc != 2) return 64;
  auto provider = leasehold::published::connect("set-on-insert", argv[1]);
  if (!provider) return std::fprintf(stderr, "%s\n", provider.error().message.c_str()), 1;
  auto lock =
      provider->create_lock("report", leasehold::published::default_options("set-on-insert"));
  if (auto handle = lock->try_acquire(10s)) {  // tried every 100 ms, as its author does
    std::printf("reading, working, updating\n");
    return 0;
  }
  return 1;
}

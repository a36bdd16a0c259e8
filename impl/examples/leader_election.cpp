// One of many processes leads; when it ends, or is cut off from the servers, another takes over.
#include <cstdio>
#include <leasehold/leasehold.hpp>
#include <thread>

using namespace std::chrono_literals;

namespace {

/// A piece of the leader's work, short against the lease; whatever it writes carries the token.
void lead(leasehold::FencingToken token) {
  std::printf("leading with token %s\n", token.to_string().c_str());
  std::this_thread::sleep_for(100ms);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 64;
  auto provider = leasehold::LockProvider::connect(argv[1]);
  if (!provider) return 1;
  leasehold::LockOptions options;
  options.expiry = 10s;  // after a crash nobody leads for so long
  const auto lock = *provider->create_lock("leader", options);
  for (int pieces = 0; pieces < 3;) {  // a real one never ends
    auto leadership = lock.acquire();
    if (!leadership) return 1;
    for (; leadership->held() && pieces < 3; ++pieces) lead(leadership->fencing_token());
  }
}

// One of many processes leads; when it ends, or is cut off from the servers, another takes over.
#include <cstdio>
#include <leasehold/leasehold.hpp>
#include <thread>

using namespace std::chrono_literals;

namespace {

/// A piece of the leader's work, short against the lease; whatever it writes carries the token.
void do_a_piece(leasehold::FencingToken token) {
  std::printf("leading with token %s\n", token.to_string().c_str());
  std::this_thread::sleep_for(100ms);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 64;
  auto provider = leasehold::LockProvider::connect(argv[1]);
  if (!provider) return 1;
  leasehold::LockOptions options;
  options.expiry = 10s;  // after a crash no process leads for so long
  std::stop_source shut_down;
  int pieces = 0;
  leasehold::Leadership leadership(
      *provider->create_lock("leader", options),
      [&](const std::stop_token& stop, leasehold::FencingToken token) {
        while (!stop.stop_requested()) {
          do_a_piece(token);
          if (++pieces == 3) shut_down.request_stop();  // a real one never ends
        }
      });
  const auto why = leadership.run(shut_down.get_token());
  return why.kind == leasehold::ErrorKind::cancelled ? 0 : 1;
}

#include <signal.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <leasehold/leasehold.hpp>
#include <thread>

#include "runtime/threads/clock.hpp"

/// A process that stands for election until SIGTERM, and says on standard output when it led:
///     begin NS TOKEN
///     yes NS TOKEN    it led then
///     no NS TOKEN     it did not, and the work had not been asked to end
///     asked NS TOKEN  the work was asked to end
///     end NS TOKEN    the work returned
int main(int argc, char** argv) {
  using namespace leasehold;
  using std::chrono::milliseconds;
  if (argc != 4) return std::fprintf(stderr, "usage: %s URI DATABASE EXPIRY_MS\n", argv[0]), 64;
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &ends, nullptr);  // before any thread: all of them inherit it
  const auto provider = LockProvider::connect(argv[1], {.database = argv[2]}).value();
  LockOptions options;
  options.expiry = milliseconds(std::atoi(argv[3]));
  options.clock_margin = milliseconds(500);
  const auto clock = runtime::boottime_clock();
  const auto now = [&clock] { return clock->now(); };
  const auto say = [](const char* what, FencingToken token, auto at) {
    std::printf("%s %lld %lld\n", what, static_cast<long long>(at.time_since_epoch().count()),
                static_cast<long long>(token.value()));
    std::fflush(stdout);
  };
  Leadership* self = nullptr;
  Leadership leadership(provider.create_lock("leader", options).value(),
                        [&](const std::stop_token& stop, FencingToken token) {
                          say("begin", token, now());
                          const std::stop_callback asked(stop, [&] { say("asked", token, now()); });
                          while (!stop.stop_requested()) {
                            const auto at = now();
                            const bool leads = self->leading() == token;
                            if (!leads && stop.stop_requested()) break;
                            say(leads ? "yes" : "no", token, at);
                            std::this_thread::sleep_for(milliseconds(5));
                          }
                          say("end", token, now());
                        });
  self = &leadership;
  std::stop_source stop;
  std::thread([&ends, stop]() mutable {
    int signal = 0;
    sigwait(&ends, &signal);
    stop.request_stop();
  }).detach();
  const auto why = leadership.run(stop.get_token());
  if (why.kind == ErrorKind::cancelled) return 0;
  std::fprintf(stderr, "%s\n", why.message.c_str());
  return 1;
}

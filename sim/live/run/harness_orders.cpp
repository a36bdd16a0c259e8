#include "sim/live/run/harness_orders.hpp"

#include <malloc.h>
#include <poll.h>
#include <unistd.h>

#include <cstring>

namespace leasehold::sim::live {
namespace {

constexpr int kLookEvery_ms = 50;  ///< whether to end
constexpr int kTrimEvery = 100;    ///< of these
constexpr const char* kWallWord = "wall ";

}  // namespace

void HarnessOrders::listen() {
  listener_ = std::jthread([this](const std::stop_token& stop) { read_orders(stop); });
}

void HarnessOrders::wait(std::chrono::nanoseconds time) {
  std::unique_lock lock(mutex_);
  wake_.wait_for(lock, time, [this] { return healed_.load(); });
}

void HarnessOrders::read_orders(const std::stop_token& stop) {
  char buffer[64];
  std::string heard;
  for (int turn = 0; !stop.stop_requested(); ++turn) {
    // Then resident memory is memory in use, because the soak looks for growth. Not in the
    // watchdog, which would take the time for a stall.
    if (turn % kTrimEvery == 0) malloc_trim(0);
    pollfd input{STDIN_FILENO, POLLIN, 0};
    if (poll(&input, 1, kLookEvery_ms) <= 0) continue;
    const auto n = read(STDIN_FILENO, buffer, sizeof buffer);
    if (n <= 0) _exit(1);
    heard.append(buffer, static_cast<std::size_t>(n));
    for (auto end = heard.find('\n'); end != std::string::npos; end = heard.find('\n')) {
      obey(heard.substr(0, end));
      heard.erase(0, end + 1);
    }
  }
}

void HarnessOrders::obey(const std::string& line) {
  if (line.starts_with(kWallWord)) {
    clock_.set_wall_offset(std::stoll(line.substr(std::strlen(kWallWord))));
    return;
  }
  const std::lock_guard lock(mutex_);
  healed_ = true;
  wake_.notify_all();
}

}  // namespace leasehold::sim::live

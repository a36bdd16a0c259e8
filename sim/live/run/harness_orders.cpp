#include "sim/live/run/harness_orders.hpp"

#include <malloc.h>
#include <poll.h>
#include <unistd.h>

#include <cstring>

#include "sim/live/system/child_process.hpp"

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
  LineReader lines;
  for (int turn = 0; !stop.stop_requested(); ++turn) {
    // Then resident memory is memory in use, because the soak looks for growth. Not in the
    // watchdog, which would take the time for a stall.
    if (turn % kTrimEvery == 0) malloc_trim(0);
    pollfd input{STDIN_FILENO, POLLIN, 0};
    if (poll(&input, 1, kLookEvery_ms) <= 0) continue;
    if (!lines.read_from(STDIN_FILENO)) _exit(1);
    while (const auto line = lines.next()) obey(*line);
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

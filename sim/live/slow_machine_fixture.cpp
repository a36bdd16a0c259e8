#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "sim/live/run/stall_watch.hpp"

/// The main program of live tests. They wait for real servers in real time, so one that fails while
/// the machine stood still, or was overloaded, runs again at the end. That is measured, said and
/// bounded; a test that fails on a machine that runs fails at once.
namespace leasehold::sim::live {
namespace {

constexpr int kTries = 3;
constexpr std::int64_t kEnough_ns = 250'000'000;    ///< to make a test fail
constexpr double kOverloaded = 0.5;                 ///< the share of a test's time
constexpr std::int64_t kSlowDisk_ns = 100'000'000;  ///< for a byte
constexpr std::chrono::milliseconds kAskDiskEvery{200};
constexpr std::chrono::seconds kCalm{5}, kCalmWithin{60};

std::int64_t now_ns() {
  return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// For how long some process waited for this resource since the machine began: the kernel's figure
/// (PSI). 0 where it has none.
std::int64_t pressure_ns(const char* resource) {
  std::string line;
  std::getline(std::ifstream(std::string("/proc/pressure/") + resource), line);
  const auto total = line.find("total=");
  if (total == std::string::npos) return 0;
  return 1'000 * std::strtoll(line.c_str() + total + 6, nullptr, 10);
}

class SlowMachine final : public testing::EmptyTestEventListener {
 public:
  /// The tests that failed in this try, if the machine explains each, as GoogleTest's filter.
  std::string take_excused() {
    auto excused = std::exchange(excused_, {});
    return std::exchange(unexcused_, false) ? std::string() : excused;
  }

  /// Waits, with a limit, until a few seconds were better than that.
  void wait_for_calm() {
    const auto limit = std::chrono::steady_clock::now() + kCalmWithin;
    do {
      begin();
      std::this_thread::sleep_for(kCalm);
    } while (is_slow() && std::chrono::steady_clock::now() < limit);
  }

 private:
  void OnTestStart(const testing::TestInfo&) override { begin(); }
  void begin() {
    const std::lock_guard lock(mutex_);
    stood_still_ns_ = 0;
    began_ns_ = now_ns();
    cpu_ns_ = pressure_ns("cpu");
    io_ns_ = pressure_ns("io");
  }
  /// The share of the time since it began in which some process waited.
  [[nodiscard]] double share() const {
    const auto waited_ns = std::max(pressure_ns("cpu") - cpu_ns_, pressure_ns("io") - io_ns_);
    return static_cast<double>(waited_ns) / static_cast<double>(now_ns() - began_ns_);
  }
  [[nodiscard]] bool is_slow() {
    const std::lock_guard lock(mutex_);
    return stood_still_ns_ >= kEnough_ns || share() >= kOverloaded;
  }
  void OnTestEnd(const testing::TestInfo& test) override {
    if (!test.result()->Failed()) return;
    if (!is_slow()) {
      unexcused_ = true;
      return;
    }
    const std::lock_guard lock(mutex_);
    const auto name = std::string(test.test_suite_name()) + '.' + test.name();
    std::printf(
        "%s failed while the machine stood still for %lld ms; for %.0f %% of its time some "
        "process waited for a processor or a disk\n",
        name.c_str(), static_cast<long long>(stood_still_ns_ / 1'000'000), 100 * share());
    excused_ += (excused_.empty() ? "" : ":") + name;
  }

  /// Counts each moment once, whoever stood still.
  void note(const Standstills::Span& span) {
    const std::lock_guard lock(mutex_);
    const auto from_ns = std::max(span.from_ns, noted_until_ns_);
    if (span.to_ns <= from_ns) return;
    stood_still_ns_ += span.to_ns - from_ns;
    noted_until_ns_ = span.to_ns;
  }

  /// A server confirms a write once it is on the disk.
  void watch_disk(const std::stop_token& stop) {
    auto name = testing::TempDir() + "leasehold-disk-XXXXXX";
    const int file = mkostemp(name.data(), O_CLOEXEC);
    if (file < 0) return;
    unlink(name.c_str());
    for (off_t at = 0; !stop.stop_requested(); at += 4'096) {
      const auto began_ns = now_ns();
      (void)!pwrite(file, "", 1, at);
      fdatasync(file);
      const auto ended_ns = now_ns();
      if (ended_ns - began_ns > kSlowDisk_ns) note({began_ns, ended_ns});
      std::this_thread::sleep_for(kAskDiskEvery);
    }
    close(file);
  }

  std::string excused_;
  bool unexcused_ = false;
  std::mutex mutex_;
  std::int64_t began_ns_ = 0, cpu_ns_ = 0, io_ns_ = 0;  ///< when this test began
  std::int64_t stood_still_ns_ = 0;  ///< of this test; protected by mutex_
  std::int64_t noted_until_ns_ = 0;  ///< protected by mutex_
  StandstillWatch threads_{now_ns, [this](const auto& span) { note(span); }};
  std::jthread disk_{[this](const std::stop_token& stop) { watch_disk(stop); }};
};

}  // namespace
}  // namespace leasehold::sim::live

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  auto* machine = new leasehold::sim::live::SlowMachine;
  testing::UnitTest::GetInstance()->listeners().Append(machine);  // which owns it
  int code = RUN_ALL_TESTS();
  for (int tries = 2; code != 0 && tries <= leasehold::sim::live::kTries; ++tries) {
    const auto excused = machine->take_excused();
    if (excused.empty()) break;
    std::printf("try %d of %d: %s\n", tries, leasehold::sim::live::kTries, excused.c_str());
    machine->wait_for_calm();
    testing::GTEST_FLAG(filter) = excused;
    code = RUN_ALL_TESTS();
  }
  return code;
}

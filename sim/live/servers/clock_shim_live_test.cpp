#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <condition_variable>
#include <cstdlib>
#include <filesystem>
#include <mutex>

#include "sim/live/servers/member_clock.hpp"
#include "sim/live/system/child_process.hpp"

/// The shim acts on a process that is preloaded with it: this program runs itself again.
namespace leasehold::sim::live {
namespace {

using std::chrono::duration_cast;
using std::chrono::milliseconds;
using std::chrono::steady_clock;
using std::chrono::system_clock;

constexpr milliseconds kWait{120};
constexpr milliseconds kLate{250};  ///< that a busy machine may add

/// What the preloaded process says: milliseconds of its wall clock, and how long its waits took.
struct Seen {
  std::int64_t wall_ms = 0, realtime_wait_ms = 0, steady_wait_ms = 0;
};

template <typename Clock>
std::int64_t measure_wait() {
  std::mutex mutex;
  std::condition_variable never;
  std::unique_lock lock(mutex);
  const auto began = steady_clock::now();
  never.wait_until(lock, Clock::now() + kWait, [] { return false; });
  return duration_cast<milliseconds>(steady_clock::now() - began).count();
}

/// The body of the preloaded process.
int tell() {
  const auto wall = duration_cast<milliseconds>(system_clock::now().time_since_epoch()).count();
  std::printf("%ld %ld %ld\n", static_cast<long>(wall),
              static_cast<long>(measure_wait<system_clock>()),
              static_cast<long>(measure_wait<steady_clock>()));
  return 0;
}
[[maybe_unused]] const bool told = [] {
  if (std::getenv("LEASEHOLD_TELL_CLOCK") != nullptr) std::exit(tell());
  return true;
}();

class ClockShim : public testing::Test {
 protected:
  Seen ask() const {
    const auto self = std::filesystem::read_symlink("/proc/self/exe").string();
    const std::string command = "env " + clock.preload() + " " + clock.file_variable() +
                                " LEASEHOLD_TELL_CLOCK=1 '" + self + "'";
    FILE* pipe = popen(command.c_str(), "r");
    Seen seen;
    EXPECT_EQ(std::fscanf(pipe, "%ld %ld %ld", &seen.wall_ms, &seen.realtime_wait_ms,
                          &seen.steady_wait_ms),
              3);
    pclose(pipe);
    return seen;
  }

  static std::int64_t real_ms() {
    return duration_cast<milliseconds>(system_clock::now().time_since_epoch()).count();
  }

  void expect_ahead(milliseconds ahead) const {
    const auto before = real_ms();
    const auto seen = ask();
    EXPECT_GE(seen.wall_ms, before + ahead.count() - 1);
    EXPECT_LE(seen.wall_ms, real_ms() + ahead.count() + 1);
    for (const auto wait : {seen.realtime_wait_ms, seen.steady_wait_ms}) {
      EXPECT_GE(wait, kWait.count() - 1);
      EXPECT_LE(wait, (kWait + kLate).count());
    }
  }

  Janitor janitor;
  MemberClock clock{janitor.folder() + "/test.clock"};
};

TEST_F(ClockShim, ShowsRealTimeUntilStepsBothWaysMoveTheWallClockAndNoWait) {
  expect_ahead(milliseconds(0));
  for (const auto step : {milliseconds(3'600'000), milliseconds(-3'600'000), milliseconds(1'500)}) {
    clock.set(step);
    expect_ahead(step);
    EXPECT_NEAR(static_cast<double>(duration_cast<milliseconds>(clock.ahead()).count()),
                static_cast<double>(step.count()), 1.0);
  }
}

TEST_F(ClockShim, ADriftBeginsWhereTheClockIs) {
  clock.set(milliseconds(10'000), 500'000);  // half as fast again
  const auto began = steady_clock::now();
  const auto first = ask();
  const auto second = ask();
  const auto passed = duration_cast<milliseconds>(steady_clock::now() - began).count();
  const auto shown = second.wall_ms - first.wall_ms;
  EXPECT_GT(shown, passed / 2);
  EXPECT_LT(shown, passed * 3 / 2 + 20);
  EXPECT_GT(clock.ahead(), milliseconds(10'000));
  // A wait until a time of the fast clock is over sooner.
  EXPECT_LT(second.realtime_wait_ms, kWait.count());
}

/// ld.so divides LD_PRELOAD at both.
TEST_F(ClockShim, WorksFromAFolderWithASpaceAndAColon) {
  namespace fs = std::filesystem;
  const auto self = fs::read_symlink("/proc/self/exe");
  const auto folder = fs::path(janitor.folder()) / "my lab: 2";
  fs::create_directories(folder);
  for (const auto& file : {self, self.parent_path() / "libleasehold_clock_shim.so"}) {
    fs::copy_file(file, folder / file.filename());
  }
  const auto run = "'" + (folder / self.filename()).string() +
                   "' --gtest_filter='*StepsBothWays*' > /dev/null 2>&1";
  EXPECT_EQ(std::system(run.c_str()), 0);
  EXPECT_NE(std::system(("TMPDIR='" + folder.string() + "' " + run).c_str()), 0) << "refused";
}

}  // namespace
}  // namespace leasehold::sim::live

#include "bench/contend/figures.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

namespace leasehold::bench {
namespace {

constexpr std::int64_t kInMs = 1'000'000;

Sample waited(int client, std::int64_t asked_ms, std::int64_t wait_ms) {
  return {
      .client = client, .asked_ns = asked_ms * kInMs, .granted_ns = (asked_ms + wait_ms) * kInMs};
}

Load two_clients() {
  Load load;
  load.clients = 2;
  load.hold = "constant:5ms";
  load.measured_ms = 1'000;
  load.drain_ms = 10'000;
  return load;
}

TEST(Figures, AreThoseOfTheMeasuredTime) {
  RunResult run;
  run.write_ms = 5;  // an acquisition takes 10 ms at least: 100 a second
  run.wire.writes = 8;
  run.server_cpu_s = 0.4;
  run.samples = {waited(0, -50, 60), waited(0, 100, 10), waited(0, 200, 20), waited(1, 300, 30),
                 waited(1, 990, 40)};
  const auto f = figures_of(run, two_clients());
  EXPECT_EQ(f.acquisitions, 4) << "that of the warm-up was granted in time, the last one was not";
  EXPECT_DOUBLE_EQ(f.share_of_ideal, 0.04);
  EXPECT_DOUBLE_EQ(f.commands, 2);
  EXPECT_DOUBLE_EQ(f.wait_p50_ms, 20) << "of the four that were asked for in it";
  EXPECT_DOUBLE_EQ(f.wait_p99_ms, 40) << "a wait that ends after it counts whole";
  EXPECT_DOUBLE_EQ(f.jain, 16.0 / (2 * (9 + 1)));
  EXPECT_DOUBLE_EQ(f.server_cpu_ms, 100);
  EXPECT_DOUBLE_EQ(f.seconds_per_acquisition, 0.25);
}

TEST(Figures, CountTheWholeWaitOfARequestThatIsNeverGranted) {
  RunResult run;
  run.write_ms = 5;
  run.samples = {waited(0, 100, 10), {.client = 1, .asked_ns = 0}};
  EXPECT_DOUBLE_EQ(figures_of(run, two_clients()).wait_p99_ms, 11'000);
}

TEST(Figures, ThrowWithoutSamples) {
  RunResult run;
  run.write_ms = 5;
  EXPECT_THROW((void)figures_of(run, two_clients()), std::runtime_error);
}

}  // namespace
}  // namespace leasehold::bench

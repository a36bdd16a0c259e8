#include "scenarios/lab/lab.hpp"

#include <gtest/gtest.h>

#include "sim/plan/fault.hpp"

namespace leasehold::lab {
namespace {

using sim::live::Progress;

TEST(ProgressLine, TellsTheTimeTheActivityAndTheFaultsOfTheMomentAsFarAsTheyFit) {
  Progress p{.elapsed_s = 12.4,
             .acquisitions = 345,
             .active = {{"pause", 1}, {"slow-link", 2}, {"ttl-off", 1}},
             .phase = "faults"};
  for (const std::string line :
       {"  12/60 s  345 acquisitions  faults: pause, 2 slow-link, ttl-off",
        "  12/60 s  345 acquisitions  faults: pause, +2", "  12/60 s  345 acquisitions  faults: +3",
        "  12/60 s  345 acquisitions  faults", "  12/60 s"}) {
    EXPECT_EQ(to_line(p, 60, 0, line.size()), line);
  }
  p.active.clear();
  p.phase = "healing";
  EXPECT_EQ(to_line(p, 60, 2, 79), "  12/60 s  345 acquisitions  2 violations  healing");
  EXPECT_EQ(minimising_line(34.2), "minimising the failing plan: 34 of at most 160 s");
}

TEST(ProgressLine, FitsEveryWidthWithEveryFault) {
  Progress p{.elapsed_s = 123'456, .acquisitions = 123'456'789, .phase = "cleaning up"};
  for (const auto kind : sim::fault_kinds(sim::Harm::assumption)) p.active[to_string(kind)] = 3;
  for (std::size_t width = 0; width < 400; ++width) {
    EXPECT_LE(to_line(p, 604'800, 12'345, width).size(), width);
  }
}

TEST(ProgressLine, InALogComesOnceInTenSeconds) {
  testing::internal::CaptureStderr();
  StatusLine line;
  for (const double at_s : {0., 4., 9.9, 10., 12., 21.}) line.show("line", at_s);
  line.end();
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "line\nline\nline\n");
}

}  // namespace
}  // namespace leasehold::lab

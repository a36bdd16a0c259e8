#include "scenarios/lab/progress.hpp"

#include <gtest/gtest.h>

#include "sim/plan/fault.hpp"

namespace leasehold::lab {
namespace {

TEST(ProgressLine, TellsTheTimeTheActivityAndTheFaultsOfTheMoment) {
  Progress p{12.4, 60, "faults", 345, 0, {{"pause", 1}, {"slow-link", 2}}};
  EXPECT_EQ(to_line(p, 79), "  12/60 s  345 acquisitions  faults: pause, 2 slow-link");
  p.faults.clear();
  p.phase = "healing";
  p.violations = 2;
  EXPECT_EQ(to_line(p, 79), "  12/60 s  345 acquisitions  2 violations  healing");
}

TEST(ProgressLine, WhatHasNoRoomIsCountedOrLeftOut) {
  const Progress p{12.4, 60, "faults", 345, 0, {{"pause", 1}, {"slow-link", 2}, {"ttl-off", 1}}};
  EXPECT_EQ(to_line(p, 40), "  12/60 s  345 acquisitions  faults: +3");
  EXPECT_EQ(to_line(p, 48), "  12/60 s  345 acquisitions  faults: pause, +2");
  EXPECT_EQ(to_line(p, 36), "  12/60 s  345 acquisitions  faults");
  EXPECT_EQ(to_line(p, 12), "  12/60 s");
}

TEST(ProgressLine, FitsEveryWidthWithEveryFault) {
  Progress p{123'456, 604'800, "cleaning up", 123'456'789, 12'345, {}};
  for (const auto kind : sim::fault_kinds(sim::Harm::assumption)) p.faults[to_string(kind)] = 3;
  for (std::size_t width = 0; width < 400; ++width) EXPECT_LE(to_line(p, width).size(), width);
}

TEST(ProgressLine, SaysThatItMinimisesAndForHowLongAtMost) {
  EXPECT_EQ(minimising_line(34.2), "minimising the failing plan: 34 of at most 160 s");
}

TEST(ProgressLine, InALogComesOnceInTenSeconds) {
  testing::internal::CaptureStderr();
  StatusLine line;
  for (const double at_s : {0., 4., 9.9, 10., 12., 21.}) line.show("line", at_s);
  line.end();
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "line\nline\nline\n");
}

TEST(ProgressLine, OfNoTerminalHasTheUsualWidth) { EXPECT_EQ(line_width(-1), 79u); }

}  // namespace
}  // namespace leasehold::lab

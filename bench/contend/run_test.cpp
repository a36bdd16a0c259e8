#include <gtest/gtest.h>

#include <sstream>

#include "bench/contend/live/live_run.hpp"

namespace leasehold::bench {
namespace {

TEST(SamplesCsv, HasARowForEachRequestAndSaysWhoWaitedAtTheEnd) {
  RunResult run{3, "my \"best\", so far", 2, 7};
  run.samples = {{0, 4, -5, 10, 20}, {1, 0, 90, 100, 105}, {2, 0, 95, kNever, kNever}};
  std::ostringstream out;
  write_samples(out, run, 100);
  EXPECT_EQ(out.str(),
            "3,\"my \"\"best\"\", so far\",2,0,4,-5,10,20,0\n"
            "3,\"my \"\"best\"\", so far\",2,1,0,90,100,105,1\n"
            "3,\"my \"\"best\"\", so far\",2,2,0,95,,,1\n");
}

TEST(RunsCsv, LeavesOutWhatWasNotMeasured) {
  RunResult run{1, "queue", 2, 9};
  run.wire = {5, 6, {{0, 2}, {1, 3}}};
  run.write_ms = 1.5;
  std::ostringstream out;
  write_run(out, run);
  EXPECT_EQ(out.str(), "1,queue,2,9,5,6,5,3,1.5,,,0\n");
}

TEST(WireCounts, TellWritesFromReadsWithinTheMeasuredTime) {
  WireCounts wire;
  for (const char* write : {"findAndModify", "update", "delete"}) wire.count(write, 0, 100);
  for (const char* read : {"aggregate", "getMore", "find", "killCursors"})
    wire.count(read, 99, 100);
  wire.count("findAndModify", -1, 100);
  wire.count("findAndModify", 100, 100);
  EXPECT_EQ(wire.writes, 3);
  EXPECT_EQ(wire.reads, 4);
  EXPECT_EQ(wire.all_attempts(), 1);
}

TEST(WorkerResult, SurvivesItsWayThroughJson) {
  const WorkerResult result{
      {{0, 4, -5, 10, 20}, {2, 0, 95, kNever, kNever}}, {5, 6, {{0, 2}, {7, 3}}}, "why"};
  const auto text = nlohmann::json(result).dump();
  const auto back = nlohmann::json::parse(text).get<WorkerResult>();
  EXPECT_EQ(back.samples, result.samples);
  EXPECT_EQ(nlohmann::json(back).dump(), text);
}

}  // namespace
}  // namespace leasehold::bench

#include "bench/contend/samples.hpp"

#include <gtest/gtest.h>

#include <sstream>

#include "bench/contend/live/worker.hpp"

namespace leasehold::bench {
namespace {

TEST(SamplesCsv, HasARowForEachRequestAndSaysWhoWaitedAtTheEnd) {
  RunResult run{3, "uniform", 2, 7};
  run.samples = {{0, 4, -5, 10, 20}, {1, 0, 90, 100, 105}, {2, 0, 95, kNever, kNever}};
  std::ostringstream out;
  write_samples_header(out);
  write_samples(out, run, 100);
  EXPECT_EQ(out.str(),
            "run,strategy,repetition,client,lock,asked_ns,granted_ns,released_ns,censored\n"
            "3,uniform,2,0,4,-5,10,20,0\n"
            "3,uniform,2,1,0,90,100,105,1\n"
            "3,uniform,2,2,0,95,,,1\n");
}

TEST(SamplesCsv, QuotesANameWithACommaOrAQuote) {
  RunResult run{1, "my \"best\", so far", 1, 1};
  run.samples = {{0, 0, 0, 1, 2}};
  std::ostringstream out;
  write_samples(out, run, 10);
  EXPECT_EQ(out.str(), "1,\"my \"\"best\"\", so far\",1,0,0,0,1,2,0\n");
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
  WorkerResult result;
  result.samples = {{0, 4, -5, 10, 20}, {2, 0, 95, kNever, kNever}};
  result.wire = {5, 6, {{0, 2}, {7, 3}}};
  result.error = "why";
  const auto back = nlohmann::json::parse(nlohmann::json(result).dump()).get<WorkerResult>();
  EXPECT_EQ(back.samples, result.samples);
  EXPECT_EQ(back.wire.writes, 5);
  EXPECT_EQ(back.wire.reads, 6);
  EXPECT_EQ(back.wire.attempts, result.wire.attempts);
  EXPECT_EQ(back.error, "why");
}

}  // namespace
}  // namespace leasehold::bench

#include <gtest/gtest.h>

#include <filesystem>

#include "properties/campaigns/simulate.hpp"
#include "properties/stories/scenario.hpp"
#include "scenarios/lab/report/report.hpp"
#include "scenarios/lab/ran_fixture.hpp"

/// The page in a real browser: it jumps to the violation and says what it shows.
namespace leasehold::lab {
namespace {

namespace fs = std::filesystem;

/// What the browser makes of the page: its document after the scripts ran.
std::string browse(const fs::path& folder, const model::History& history) {
  const auto file = folder / "run.html";
  write_file(file, run_page(history));
  const auto ran = run_program(
      {"chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic",
       "--no-first-run", "--disable-background-networking", "--disable-component-update",
       "--disable-sync", "--host-resolver-rules=MAP * ~NOTFOUND",
       "--user-data-dir=" + (folder / "browser").string(), "--window-size=1400,1000", "--dump-dom",
       "file://" + file.string()});
  EXPECT_EQ(ran.exit_code, 0) << ran.out;
  return ran.out;
}

std::string attribute(const std::string& page, const std::string& name) {
  const auto begin = page.find(name + "=\"");
  if (begin == std::string::npos) return "";
  const auto from = begin + name.size() + 2;
  return page.substr(from, page.find('"', from) - from);
}

TEST(RunPage, JumpsToTheViolationWithItsOverlapTokensAndFault) {
  const sim::live::Janitor folder;
  const auto story = properties::read_scenario(LEASEHOLD_SCENARIOS
                                               "/time-and-the-holder/successor-clock-ahead.scn");
  const auto one = properties::simulate(story.plan);
  const auto page = browse(folder.folder(), one.run.history);
  EXPECT_TRUE(has(page, "G1 violated: lock 'lock-0' was given to another"));
  EXPECT_EQ(attribute(page, "data-overlaps"), "1");
  EXPECT_NE(attribute(page, "data-faults").find("step-up"), std::string::npos);
  EXPECT_EQ(attribute(page, "data-tokens"), "1 2");
}

TEST(RunPage, ShowsTokensExactly) {
  const sim::live::Janitor folder;
  const auto story = properties::read_scenario(
      LEASEHOLD_SCENARIOS "/time-and-the-holder/successor-ahead-beyond-the-margin.scn");
  const auto one = properties::simulate(story.plan);
  std::string tokens;
  for (const auto& e : one.run.history) {
    if (e.kind == model::Kind::granted)
      tokens += (tokens.empty() ? "" : " ") + std::to_string(e.token);
  }
  EXPECT_GT(tokens.size(), 30u) << "beyond what a double holds";
  EXPECT_EQ(attribute(browse(folder.folder(), one.run.history), "data-tokens"), tokens);
}

TEST(RunPage, DrawsALargeRunWhole) {
  const sim::live::Janitor folder;
  const auto one =
      properties::simulate(properties::draw_plan(3, {.processes = {2, 8}, .faulty_ms = 60'000}));
  ASSERT_GE(one.run.history.size(), 10'000u);
  const auto page = browse(folder.folder(), one.run.history);
  EXPECT_TRUE(has(page, "no violation"));
  std::printf("%zu events, drawn in %s ms\n", one.run.history.size(),
              attribute(page, "data-draw-ms").c_str());
  EXPECT_FALSE(attribute(page, "data-draw-ms").empty());
}

}  // namespace
}  // namespace leasehold::lab

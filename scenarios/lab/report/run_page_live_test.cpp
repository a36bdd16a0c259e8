#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "properties/campaigns/campaign.hpp"
#include "properties/stories/scenario.hpp"
#include "scenarios/lab/lab.hpp"
#include "scenarios/lab/ran_fixture.hpp"
#include "sim/live/system/child_process.hpp"

/// The page in a real browser: it jumps to the violation and says what it shows, and a run is drawn
/// as its history has it.
namespace leasehold::lab {
namespace {

namespace fs = std::filesystem;

/// What the browser makes of the page: its document after the scripts ran.
std::string browse(const fs::path& folder, const model::History& history,
                   const std::string& part = "") {
  const auto file = folder / "run.html";
  write_file(file, run_page(history));
  const auto ran = run_program(
      {"chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic",
       "--no-first-run", "--disable-background-networking", "--disable-component-update",
       "--disable-sync", "--host-resolver-rules=MAP * ~NOTFOUND",
       "--user-data-dir=" + (folder / "browser").string(), "--window-size=1400,1000", "--dump-dom",
       "file://" + file.string() + part});
  EXPECT_EQ(ran.exit_code, 0) << ran.out;
  return ran.out;
}
std::string attribute(const std::string& page, const std::string& name) {
  const auto begin = page.find(name + "=\"");
  if (begin == std::string::npos) return "";
  const auto from = begin + name.size() + 2;
  return page.substr(from, page.find('"', from) - from);
}

model::History story(const std::string& name) {
  const auto file = LEASEHOLD_SCENARIOS "/time-and-the-holder/" + name + ".scn";
  return properties::simulate(properties::read_scenario(file).plan).run.history;
}

TEST(RunPage, ShowsTokensExactly) {
  const sim::live::Janitor folder;
  const auto history = story("successor-ahead-beyond-the-margin");
  std::string tokens;
  for (const auto& e : history) {
    if (e.kind == model::Kind::granted)
      tokens += (tokens.empty() ? "" : " ") + std::to_string(e.token);
  }
  EXPECT_GT(tokens.size(), 30u) << "beyond what a double holds";
  EXPECT_EQ(attribute(browse(folder.folder(), history), "data-tokens"), tokens);
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

/// Two holders of one lock that both answered yes at one time.
int pairs_at_once(const model::History& history) {
  struct Yes {
    std::string lock;
    std::int64_t from, to;
  };
  std::map<std::pair<std::string, std::int64_t>, Yes> answers;
  for (const auto& e : history) {
    if (e.kind != model::Kind::held || e.outcome != "yes") continue;
    auto& yes = answers.try_emplace({e.process, e.session}, e.name, e.first_answered_ns, 0)
                    .first->second;
    yes.to = std::max(yes.to, e.last_asked_ns);
  }
  int pairs = 0;
  for (auto a = answers.begin(); a != answers.end(); ++a) {
    for (auto b = std::next(a); b != answers.end(); ++b) {
      pairs += a->second.lock == b->second.lock && a->second.from < b->second.to &&
               b->second.from < a->second.to;
    }
  }
  return pairs;
}

/// A green bar for each grant; red where two held at once, and nowhere else.
void expect_drawn(const std::string& page, const model::History& history, bool two_at_once) {
  const auto grants = std::count_if(history.begin(), history.end(), [](const auto& e) {
    return e.kind == model::Kind::granted;
  });
  const auto green = std::stoi("0" + attribute(page, "data-green"));
  const auto red = std::stoi("0" + attribute(page, "data-red"));
  EXPECT_GT(grants, 1);
  EXPECT_EQ(green, grants);
  EXPECT_GE(red, pairs_at_once(history));
  EXPECT_EQ(red > 0, two_at_once);
  std::printf("%d green bars, %d red\n", green, red);
}

TEST(RunPage, DrawsWhatAVirtualRunHas) {
  const sim::live::Janitor folder;
  const auto sound = properties::simulate(properties::draw_plan(3, {})).run.history;
  expect_drawn(browse(folder.folder(), sound, "#all"), sound, false);
}

TEST(RunPage, JumpsToTheViolationWithItsOverlapTokensAndFault) {
  const sim::live::Janitor folder;
  const auto broken = story("successor-clock-ahead");
  const auto page = browse(folder.folder(), broken);
  EXPECT_TRUE(has(page, "G1 violated: lock 'lock-0' was given to another"));
  EXPECT_EQ(attribute(page, "data-overlaps"), "1");
  EXPECT_NE(attribute(page, "data-faults").find("step-up"), std::string::npos);
  EXPECT_EQ(attribute(page, "data-tokens"), "1 2");
  expect_drawn(browse(folder.folder(), broken, "#all"), broken, true);
}

}  // namespace
}  // namespace leasehold::lab

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "model/history/history_builder.hpp"
#include "properties/stories/scenario.hpp"
#include "scenarios/lab/report/report.hpp"

/// The data of the page, without a browser.
namespace leasehold::lab {
namespace {

using nlohmann::json;

/// The data of the page of a run of workers.
json data_of(const model::History& history) {
  const auto page = run_page(history, {model::Promises{.name = "x"}});
  const std::string mark = "<script>const run = ";
  const auto from = page.find(mark) + mark.size();
  return json::parse(page.substr(from, page.find(";\n", from) - from));
}

/// Two processes that start one second after the history begins.
model::HistoryBuilder late_starters() {
  model::HistoryBuilder s;
  s.exact().start(1'000, "p10.1").start(1'000, "p2.1").named("x");
  return s;
}

TEST(RunPage, CountsItsTimesFromTheFirstStartAsItsWordsDo) {
  const auto page = data_of(late_starters().got(1'200, 1'350, "p2.1", 1, 7).end(2'000));
  EXPECT_EQ(page["story"][1], "    350  C holds x, token 7");
  EXPECT_EQ(page["lanes"][0]["bars"][1]["from"], 350.0);
  EXPECT_EQ(page["end"], 1'000.0);
}

TEST(RunPage, HasTheLanesInTheOrderOfTheirNumbers) {
  const auto page = data_of(late_starters().end(2'000));
  EXPECT_EQ(page["lanes"][0]["name"], "C");
  EXPECT_EQ(page["lanes"][1]["name"], "K");
}

/// A worker says no deadline: p2 releases its lock, is notified of a loss, and holds to the end.
TEST(RunPage, AWorkersHoldingLastsUntilItsReleaseItsLossOrTheEnd) {
  const auto page = data_of(late_starters()
                                .got(1'100, 1'110, "p2.1", 1, 1)
                                .released(1'200, 1'210, "p2.1", 1)
                                .got(1'300, 1'310, "p2.1", 2, 2)
                                .lost(1'400, 1'420, "p2.1", 2)
                                .got(1'500, 1'510, "p2.1", 3, 3)
                                .end(2'000));
  std::vector<std::pair<double, double>> held;
  for (const auto& bar : page["lanes"][0]["bars"]) {
    if (bar["kind"] != "held") continue;
    held.emplace_back(bar["from"].get<double>(), bar["to"].get<double>());
  }
  EXPECT_EQ(held, (std::vector<std::pair<double, double>>{{110, 200}, {310, 420}, {510, 1'000}}));
}

TEST(Transcript, TellsInWordsAndMarksWhatDecidedAViolation) {
  const auto history = late_starters().got(1'100, 1'110, "p2.1", 1, 1).yes(1'120, 1'300, "p2.1", 1)
                           .end(2'000);
  std::vector<model::Index> decided;
  for (model::Index i = 0; i < history.size(); ++i) {
    if (history[i].kind == model::Kind::held) decided.push_back(i);
  }
  EXPECT_EQ(properties::transcript(history, decided),
            (std::vector<std::string>{"      100  C asks for x, for at most 10000 ms",
                                      "      110  C holds x, token 1",
                                      " >    300  C answers that it holds x",
                                      "      999  all faults are over"}));
  EXPECT_EQ(properties::transcript(history).size(), 3u) << "answers are beside the story";
}

}  // namespace
}  // namespace leasehold::lab

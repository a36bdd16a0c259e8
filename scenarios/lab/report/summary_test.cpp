#include "scenarios/lab/lab.hpp"

#include <algorithm>

#include "model/history/history_builder.hpp"
#include "scenarios/lab/ran_fixture.hpp"

/// Renderings of a conclusion; of a page its data, without a browser.
namespace leasehold::lab {
namespace {

model::Finding finding(model::Check check, model::Verdict verdict, std::string why = {}) {
  return {.check = check, .verdict = verdict, .checked = 12, .why = std::move(why)};
}

TEST(Summary, HasTheVerdictARowForEachFindingAndHowToRepeatIt) {
  const auto text = to_markdown(
      {.command = "verify",
       .findings = {finding(model::Check::G2, model::Verdict::violated, "held in A and B at once"),
                    finding(model::Check::G7, model::Verdict::holds)},
       .verdict = model::Verdict::violated,
       .repeat = "leasehold-lab verify --seed 1",
       .run = "my lock: 3 cases in 60 s"});
  EXPECT_TRUE(text.starts_with("### leasehold-lab verify: violated\n\nmy lock: 3 cases")) << text;
  EXPECT_TRUE(has(text,
                  "\n| G2 | **violated** | 12 | 0.0 % | held() is never true in two processes at "
                  "once for one lock, unless both read or both have a permit: "
                  "held in A and B at once |\n",
                  "\n| G7 | holds | 12 | 0.0 % | ", "\n\n    leasehold-lab verify --seed 1\n"));
}

TEST(Reports, AnUnknownSaysWhatToDoAndEachCaseWhatWasCheckedAndExcused) {
  auto excused = finding(model::Check::G7, model::Verdict::holds);
  excused.checked = 12'054;
  excused.excused[0] = 1'930;
  EXPECT_EQ(checks_of(excused), "12,054 checks, 13.8 % excused");
  const auto unknown = finding(model::Check::G1, model::Verdict::unknown, "too few");
  const Conclusion conclusion{.command = "verify",
                              .findings = {excused, unknown},
                              .verdict = model::Verdict::unknown,
                              .advice = "seen too seldom: G1 3 of 5"};
  const auto text = to_markdown(conclusion);
  EXPECT_LT(text.find("seen too seldom: G1 3 of 5"), text.find("| verdict |")) << text;
  EXPECT_TRUE(has(text, "| G7 | holds | 12054 | 13.8 % | "));
  EXPECT_TRUE(has(to_junit(conclusion), "<system-out>12,054 checks, 13.8 % excused</system-out>",
                  "message=\"unknown: too few&#10;seen too seldom: G1 3 of 5\""));
}

TEST(Summary, AHarnessFailureStandsAboveTheTable) {
  const auto text = to_markdown({.command = "verify", .harness_failure = "p0.1 died"});
  EXPECT_TRUE(text.starts_with("### leasehold-lab verify: harness failure\n")) << text;
  EXPECT_LT(text.find("**p0.1 died**"), text.find("| verdict |")) << text;
}

TEST(Summary, NoTextOfARunEndsItsCellOrIsMarkup) {
  const auto text = to_markdown({.command = "verify",
                                 .findings = {finding(model::Check::G2, model::Verdict::violated,
                                                      "x | y\n| z | <b> & `c` *d* [e](f)")},
                                 .verdict = model::Verdict::violated,
                                 .run = "a | <script>"});
  EXPECT_TRUE(has(text, "a \\| &lt;script>"));
  EXPECT_TRUE(has(text, "x \\| y<br>\\| z \\| &lt;b> &amp; \\`c\\` \\*d\\* \\[e\\](f) |\n"));
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 8) << text;
}

TEST(Summary, IsAppendedForAJobMayWriteSeveral) {
  const auto file = testing::TempDir() + "leasehold-summary-" + std::to_string(getpid());
  const Outputs outputs{.summary = file};
  const Conclusion one{.command = "one"}, two{.command = "two"};
  write(one, outputs);
  write(two, outputs);
  write_file("", "three\n");
  EXPECT_EQ(content_of(file), to_markdown(one) + to_markdown(two));
  unlink(file.c_str());
  EXPECT_THROW(write_file("/nowhere/file", "text"), std::runtime_error);
}

/// The data of the page of a run of workers.
nlohmann::json data_of(const model::History& history) {
  const auto page = run_page(history, {.promises = model::Promises{.name = "x"}});
  const std::string mark = "<script>const run = ";
  const auto from = page.find(mark) + mark.size();
  return nlohmann::json::parse(page.substr(from, page.find(";\n", from) - from));
}

/// Two processes that start one second after the history begins.
model::HistoryBuilder late_starters() {
  model::HistoryBuilder s;
  s.exact().start(1'000, "p10.1").start(1'000, "p2.1").named("x");
  return s;
}

TEST(RunPage, HasItsLanesInOrderAndCountsItsTimesFromTheFirstStartAsItsWordsDo) {
  const auto page = data_of(late_starters().got(1'200, 1'350, "p2.1", 1, 7).end(2'000));
  EXPECT_EQ(page["story"][1], "    350  C holds x, token 7");
  EXPECT_EQ(page["lanes"][0]["bars"][1]["from"], 350.0);
  EXPECT_EQ(page["end"], 1'000.0);
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

}  // namespace
}  // namespace leasehold::lab

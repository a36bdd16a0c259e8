#include "scenarios/lab/report/report.hpp"

#include <algorithm>

#include "scenarios/lab/ran_fixture.hpp"

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
                  "once for one lock: held in A and B at once |\n",
                  "\n| G7 | holds | 12 | 0.0 % | ", "\n\n    leasehold-lab verify --seed 1\n"));
}

TEST(Summary, AnUnknownSaysWhatToDoAndEachRowWhatWasExcused) {
  auto excused = finding(model::Check::G7, model::Verdict::holds);
  excused.checked = 12'054;
  excused.excused[0] = 1'930;
  const auto text = to_markdown({.command = "verify",
                                 .findings = {excused},
                                 .verdict = model::Verdict::unknown,
                                 .advice = "seen too seldom: G1 3 of 5"});
  EXPECT_LT(text.find("seen too seldom: G1 3 of 5"), text.find("| verdict |")) << text;
  EXPECT_TRUE(has(text, "| G7 | holds | 12054 | 13.8 % | "));
}

TEST(Reports, EachCaseOfJunitHasItsChecksAndAnUnknownWhatToDo) {
  auto excused = finding(model::Check::G7, model::Verdict::holds);
  excused.checked = 12'054;
  excused.excused[0] = 1'930;
  EXPECT_EQ(checks_of(excused), "12,054 checks, 13.8 % excused");
  excused.checked = 123;
  excused.excused = {};
  EXPECT_EQ(checks_of(excused), "123 checks, 0.0 % excused");
  const auto text = to_junit(
      {.command = "verify",
       .findings = {excused, finding(model::Check::G1, model::Verdict::unknown, "too few")},
       .advice = "run it again"});
  EXPECT_TRUE(has(text, "<system-out>123 checks, 0.0 % excused</system-out>"));
  EXPECT_TRUE(has(text, "message=\"unknown: too few&#10;run it again\""));
}

TEST(Summary, AHarnessFailureStandsAboveTheTable) {
  const auto text = to_markdown({.command = "verify", .harness_failure = "p0.1 died"});
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

}  // namespace
}  // namespace leasehold::lab

#include "sim/conformance/conformance.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "model/history/history_builder.hpp"

namespace leasehold::sim {
namespace {

using model::History;
using model::HistoryBuilder;
using model::TransitionTable;
using model::Verdict;

/// A wait, a release, a crash, a takeover, a loss, a TTL deletion.
History full_story() {
  HistoryBuilder s;
  s.start(1, "a").start(2, "b").start(3, "c");
  s.ask(10, "a", 1).win(10, 20, "a", 1, 100);
  s.ask(12, "b", 1).refused(12, 22, "b", 1);
  s.extend(300, 310, "a", 1, 110);
  s.release(400, 410, "a", 1, 120);
  s.win(430, 440, "b", 1, 130).crash(500, "b");
  s.ask(510, "c", 1).refused(510, 515, "c", 1);
  s.win(1'480, 1'490, "c", 1, 140);
  s.lose(2'480, "c", 1);
  s.gone(3'200, 150);
  return s.end(9'000);
}

/// How often arrows of this input were taken.
std::int64_t count(const Conformance& c, const std::string& name, const std::string& input) {
  std::int64_t sum = 0;
  for (const auto* table : model::all_tables()) {
    for (std::size_t i = 0; table->name() == name && i < table->arrows().size(); ++i) {
      if (table->arrows()[i].input == input) sum += c.taken.at(name).at(i);
    }
  }
  return sum;
}

TEST(Conformance, AWholeStoryIsAPathOfTheDiagrams) {
  const auto c = conform(full_story());
  EXPECT_EQ(c.finding.verdict, Verdict::holds) << c.finding.why;
  const auto never = never_taken(c.taken);
  EXPECT_EQ(never,
            (std::vector<std::string>{"lifecycle: Extending --Extension Failed--> Lost",
                                      "document: Extending --Failure--> Expired",
                                      "flowchart: M --No--> O", "flowchart: O --then--> P"}));
}

TEST(Conformance, AHandOverIsAPathOfTheDiagrams) {
  HistoryBuilder s;
  s.start(1, "a").ask(10, "a", 1).win(10, 20, "a", 1, 100).ask(30, "a", 2);
  s.hand_over(300, 310, "a", 1, 2, 110).release(400, 410, "a", 2, 120);
  const auto c = conform(s.end(9'000));
  EXPECT_EQ(c.finding.verdict, Verdict::holds) << c.finding.why;
}

TEST(Conformance, AReleaseThatPassesTheLockOnIsAPathOfTheDiagrams) {
  HistoryBuilder s;
  s.start(1, "a").start(2, "b").ask(10, "a", 1).win(10, 20, "a", 1, 100);
  s.ask(30, "b", 1).refused(30, 40, "b", 1).pass_on(300, 310, "a", 1, 315, "b", 1, 110);
  s.release(400, 410, "b", 1, 120);
  const auto c = conform(s.end(9'000));
  EXPECT_EQ(c.finding.verdict, Verdict::holds) << c.finding.why;
  EXPECT_EQ(count(c, "lifecycle", "Lock Passed On"), 1);
  EXPECT_EQ(count(c, "flowchart", "Passed On"), 1);
  EXPECT_EQ(count(c, "document", "Handed Over"), 1);
}

TEST(Conformance, AWinWhoseTimeItsAnswerDoesNotSayMayBeGrantedByTheNewsOfIt) {
  HistoryBuilder s;
  s.start(1, "a").ask(10, "a", 1).win_too_late(10, 20, "a", 1, 100);
  s.granted_by_news(30, "a", 1, 100).release(400, 410, "a", 1, 120);
  const auto c = conform(s.end(9'000));
  EXPECT_EQ(c.finding.verdict, Verdict::holds) << c.finding.why;
  EXPECT_EQ(count(c, "lifecycle", "Lock Passed On"), 1);
}

TEST(Conformance, AWinThatCameTooLateMayEndTheCall) {
  HistoryBuilder s;
  s.start(1, "a").ask(10, "a", 1).win_too_late(10, 1'020, "a", 1, 100).ended(1'020, "a", 1, "late");
  const auto c = conform(s.end(9'000));
  EXPECT_EQ(c.finding.verdict, Verdict::holds) << c.finding.why;
  const auto& arrows = model::flowchart().arrows();
  const auto late = std::find_if(arrows.begin(), arrows.end(),
                                 [](const auto& arrow) { return arrow.input == "Won Too Late"; });
  ASSERT_NE(late, arrows.end());
  EXPECT_EQ(c.taken.at("flowchart").at(static_cast<std::size_t>(late - arrows.begin())), 1);
}

TEST(Conformance, ALockThatIsTakenInMidLeaseIsNoPath) {
  const auto taken = [](int at) {
    HistoryBuilder s;
    s.start(1, "a").start(2, "b").ask(10, "a", 1).win(10, 20, "a", 1, 100).ask(30, "b", 1);
    return conform(s.win(at, at + 10, "b", 1, 110).lose(1'010, "a", 1).end(9'000)).finding;
  };
  EXPECT_EQ(taken(1'010).verdict, Verdict::holds) << taken(1'010).why;
  EXPECT_EQ(taken(500).why, "document: no arrow Active --Other Process Acquires-->");
  HistoryBuilder s;  // and so is one that the TTL monitor takes
  s.start(1, "a").ask(10, "a", 1).win(10, 20, "a", 1, 100).gone(500, 110).crash(600, "a");
  EXPECT_EQ(conform(s.end(9'000)).finding.why, "document: no arrow Active --TTL Cleanup-->");
}

TEST(Conformance, AStepThatIsNoArrowIsRefusedByName) {
  HistoryBuilder s;
  s.start(1, "a").ask(10, "a", 1).win(10, 20, "a", 1, 100).lose(1'010, "a", 1);
  s.extend(1'020, 1'030, "a", 1, 110);
  const auto c = conform(s.end(9'000));
  EXPECT_EQ(c.finding.verdict, Verdict::violated);
  EXPECT_EQ(c.finding.why, "lifecycle: no arrow Lost --Background Extension Task-->");
  EXPECT_EQ(c.finding.events.size(), 1u);
}

TEST(Conformance, EachArrowThatTheStoryTakesIsMissedByNameWhenItIsTakenOut) {
  const auto story = full_story();
  const auto whole = conform(story);
  int missed = 0;
  for (const auto* table : model::all_tables()) {
    for (std::size_t i = 0; i < table->arrows().size(); ++i) {
      if (whole.taken.at(std::string(table->name()))[i] == 0) continue;
      auto arrows = table->arrows();
      const auto out = arrows[i];
      arrows.erase(arrows.begin() + static_cast<std::ptrdiff_t>(i));
      const TransitionTable copy(table->name(), table->header(), arrows);
      Tables tables{
          .lifecycle = table == &model::lifecycle() ? copy : model::lifecycle(),
          .document = table == &model::document_states() ? copy : model::document_states(),
          .flowchart = table == &model::flowchart() ? copy : model::flowchart()};
      const auto c = conform(story, tables);
      EXPECT_EQ(c.finding.verdict, Verdict::violated) << out.name();
      const auto name = std::string(out.from) + " --" + std::string(out.input) + "-->";
      EXPECT_NE(c.finding.why.find(name), std::string::npos) << c.finding.why << " / " << name;
      ++missed;
    }
  }
  EXPECT_GE(missed, 30);
}

}  // namespace
}  // namespace leasehold::sim

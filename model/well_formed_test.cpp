#include "model/checker_stories.hpp"

namespace leasehold::model {
namespace {

TEST(CheckForm, AHandOverByWhoStillHoldsIsRefused) {
  auto s = two_callers();
  s.hand_over(300, 310, "a", 1, 2, 110);
  auto history = s.end(9'000);
  std::erase_if(history,
                [](const Event& e) { return e.kind == Kind::release || e.kind == Kind::released; });
  const auto f = find(judge(history, {}), Guarantee::form);
  EXPECT_EQ(f.verdict, Verdict::unknown);
  EXPECT_NE(f.why.find("a hand-over by who still holds"), std::string::npos) << f.why;
}

TEST(CheckForm, AnswersThatCannotBeAreRefused) {
  const std::vector<HistoryBuilder> odd{
      holder().yes(5, 15, "a", 1),  // before the grant
      holder().lose(1'010, "a", 1).no(1'030, 1'020, "a", 1),
      holder().yes(30, 40, "a", 2),  // of nobody
      holder().lose(1'010, "a", 1).notified(1'010, "a", 1).notified(1'011, "a", 1),
  };
  for (HistoryBuilder s : odd) {
    EXPECT_EQ(find(judge(s.end(9'000), {}), Guarantee::form).verdict, Verdict::unknown);
  }
  for (const char* field : {"outcome", "count", "span"}) {
    auto history = holder().release(1'009, 1'020, "a", 1, 110).end(9'000);
    for (auto& e : history) {
      if (e.kind != Kind::held) continue;
      if (field == std::string("outcome")) e.outcome = "perhaps";
      if (field == std::string("count")) e.count = 0;
      if (field == std::string("span")) e.count = 1;  // one question cannot span time
    }
    EXPECT_EQ(find(judge(history, {}), Guarantee::form).verdict, Verdict::unknown) << field;
  }
}

TEST(CheckForm, WhatIsNotWholeIsUnknown) {
  const auto whole = good().end(9'000);
  ASSERT_EQ(overall_tested(judge(whole, {})), Verdict::holds);
  int noticed = 0;
  for (Index i = 0; i < whole.size(); ++i) {
    auto dropped = whole, doubled = whole;
    dropped.erase(dropped.begin() + static_cast<std::ptrdiff_t>(i));
    doubled.insert(doubled.begin() + static_cast<std::ptrdiff_t>(i), whole[i]);
    const bool must_be_there = whole[i].kind != Kind::held;  // nobody has to ask
    noticed += !must_be_there || overall_tested(judge(dropped, {})) != Verdict::holds ? 1 : 0;
    noticed += overall_tested(judge(doubled, {})) != Verdict::holds ? 1 : 0;
  }
  EXPECT_GE(noticed * 10, static_cast<int>(whole.size()) * 2 * 9);
}

}  // namespace
}  // namespace leasehold::model

#include "properties/campaigns/verify.hpp"

#include <gtest/gtest.h>

namespace leasehold::properties {
namespace {

using model::Check;
using model::Finding;
using model::Verdict;

Finding checked(Check check, std::int64_t times) {
  return {.check = check, .checked = times};
}

/// Each cause alone: what the user is to do about it.
TEST(Advice, IsGivenForEveryCauseOfAnUnknown) {
  const auto said_of = [](const Finding& f, const Hindrances& hindrances = {}) {
    std::vector<Finding> all{checked(Check::G1, 9), f};
    conclude(all, {.floors = {{Check::G2, 5}}});
    return answer(all, hindrances).advice;
  };
  const auto unknown = [](model::Open by) {
    Finding f = checked(Check::G2, 9);
    f.leave_open(by, "");
    return f;
  };
  auto excused = checked(Check::G5, 1);
  excused.excused[0] = 900;
  const auto fine = checked(Check::G2, 9);
  const std::pair<std::string, const char*> all[]{
      {said_of(checked(Check::G2, 3), {.see_more = "run more"}),
       "seen too seldom: G2 3 of 5; run more"},
      {said_of(checked(Check::G2, 3)),
       "seen too seldom: G2 3 of 5; run a plan that does more of it"},
      {said_of(checked(Check::G3, 0)),
       "seen too seldom: G3 0 of 1; run a plan that does more of it"},
      {said_of(fine, {.too_seldom = "pause 0 of 1", .see_more = "run more"}),
       "seen too seldom: pause 0 of 1; run more"},
      {said_of(unknown(model::Open::stalled)),
       "too much was late (G2): run it on a machine that does less else"},
      {said_of(excused, {.see_more = "run more"}),
       "too much was late (G5): run it on a machine that does less else, or run more"},
      {said_of(fine, {.stood_still = true}),
       "the machine stood still for more than half of the time: give it more of a CPU"},
      {said_of(unknown(model::Open::unread)),
       "the server's oplog was not read to its end: make it larger, or give the user `read` on "
       "`local`"},
      {said_of(fine, {.interrupted = true}), "it was interrupted: let it run to its end"},
      {said_of(fine, {.nobody_ready = true}),
       "no worker became ready: run its command by hand, and see what it says"},
      {said_of(fine, {.harness_failure = "p0.1 died"}),
       "look at the last words of what died, and at memory and disk, and run it again"},
      {said_of(unknown(model::Open::other)),
       "the lines of G2 say what is missing; scenarios/guide/verdict.md says what to do"},
      {answer({}, {}).advice, "run it again: nothing was checked"}};
  for (const auto& [said, expected] : all) EXPECT_EQ(said, expected);
  auto violated = checked(Check::G2, 9);
  violated.verdict = Verdict::violated;
  EXPECT_EQ(said_of(fine), "") << "it holds";
  EXPECT_EQ(said_of(violated, {.interrupted = true}), "") << "more would not change it";
}

}  // namespace
}  // namespace leasehold::properties

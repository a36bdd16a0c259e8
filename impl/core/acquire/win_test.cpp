#include "core/acquire/win.hpp"

#include <gtest/gtest.h>

namespace leasehold::core {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

AcquireCall call_for_a_minute() {
  AcquireCall call;
  call.name = "report";
  call.options.expiry = seconds(60);
  call.owner = {1, 0};
  call.hand_overs = 3;
  return call;
}

Win win_at(LocalInstant sent, Granted::By by = Granted::By::attempt) {
  return {by, 7, sent, {"report", "x", ServerInstant{99}, 41, ""}, FencingToken(42)};
}

TEST(Win, CountsFromTheSendingOfItsCommand) {
  const LocalInstant sent{std::chrono::hours(1)};
  const auto lock = held_lock(call_for_a_minute(), win_at(sent));
  EXPECT_EQ(lock.deadline, lease_deadline(sent, seconds(60), 0.005));
  EXPECT_EQ(lock.extend_at, sent + seconds(20));
  EXPECT_EQ(lock.token, FencingToken(42));
  EXPECT_EQ(lock.acquired_at, ServerInstant{99});
}

TEST(Win, IsExtendedUpToATenthOfTheCadenceEarlierByChanceOfItsOwner) {
  auto call = call_for_a_minute();
  call.owner.low = 999;
  EXPECT_EQ(held_lock(call, win_at({})).cadence(), milliseconds(18'002));
  call.owner.low = 1'500;
  EXPECT_EQ(held_lock(call, win_at({})).cadence(), milliseconds(19'000));
}

TEST(Win, IsNotHeldBeyondTheLongestHolding) {
  const LocalInstant sent{std::chrono::hours(1)};
  auto call = call_for_a_minute();
  call.options.max_holding = milliseconds(5'000);
  const auto lock = held_lock(call, win_at(sent));
  EXPECT_EQ(lock.deadline, sent + seconds(5));
  EXPECT_EQ(lock.deadline, lock.ends_at) << "no extension moves it";
}

TEST(Win, BeginsANewRowUnlessItWasHandedOver) {
  const auto call = call_for_a_minute();
  EXPECT_EQ(held_lock(call, win_at({}, Granted::By::attempt)).hand_overs, 0);
  EXPECT_EQ(held_lock(call, win_at({}, Granted::By::pass_on)).hand_overs, 0);
  EXPECT_EQ(held_lock(call, win_at({}, Granted::By::hand_over)).hand_overs, 3);
}

TEST(Win, AfterAnUnansweredAttemptIsNeverHandedOver) {
  auto call = call_for_a_minute();
  EXPECT_TRUE(held_lock(call, win_at({})).may_be_handed_over());
  call.unanswered = 1;
  EXPECT_FALSE(held_lock(call, win_at({})).may_be_handed_over());
}

TEST(Win, HasATokenAboveTheOneThatIsStored) {
  auto win = win_at({});
  EXPECT_TRUE(win.token_rises());
  win.document.fencing_token = 42;
  EXPECT_FALSE(win.token_rises()) << "the same is not above";
}

}  // namespace
}  // namespace leasehold::core

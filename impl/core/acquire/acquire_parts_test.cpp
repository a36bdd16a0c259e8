#include <gtest/gtest.h>

#include "core/acquire/attempt_answer.hpp"
#include "core/acquire/contenders.hpp"
#include "core/limits.hpp"
#include "core/testing/core_world.hpp"
#include "core/waiting/pacing.hpp"

/// What an acquire is made of: answers, observations, wins.
namespace leasehold::core::acquire_parts_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

const std::string kHolder = "host:1";
constexpr std::uint64_t kBeat = 7;

const AcquireCall kCall = [] {
  AcquireCall call;
  call.owner = {1, 2};
  return call;
}();
const std::string kOurs = kCall.lock_id(kBeat, kHolder);
const std::string kAnothers = to_hex({9, 9}) + ".3000.1";

Reply with(const std::string& lock_id, Outcome outcome, bool permanent = false,
           bool retried = false) {
  auto reply = shows(lock_id);
  reply.outcome = outcome;
  reply.permanent = permanent;
  reply.retried = retried;
  return reply;
}

TEST(AttemptAnswer, IsByTheLockIdAndTheOutcome) {
  using enum AttemptAnswer;
  const struct {
    const char* what;
    Reply reply;
    AttemptAnswer answer;
  } cases[]{
      {"ours, of this very execution", shows(kOurs), won},
      {"ours, of another time", shows(kCall.lock_id(kBeat - 1, kHolder)), unanswered},
      {"retried by the driver", with(kOurs, Outcome::done, false, true), unanswered},
      {"another's", shows(kAnothers), refused},
      {"another's beside a write-concern error", with(kAnothers, Outcome::unknown), refused},
      {"the .NET package's", shows(std::string(32, 'f')), refused},
      {"a duplicate key", CoreWorld::with(Outcome::duplicate_key), refused},
      {"ours, without a majority", with(kOurs, Outcome::unknown), unanswered},
      {"ours, and no other try can do better", with(kOurs, Outcome::unknown, true), permanent},
      {"not executed", with(kOurs, Outcome::not_executed), not_executed},
      {"not permitted", with(kOurs, Outcome::configuration), cannot_succeed},
  };
  for (const auto& one : cases) {
    EXPECT_EQ(read_answer(kCall, kBeat, kHolder, one.reply), one.answer) << one.what;
  }
}

TEST(AttemptAnswer, SaysForPeopleWhoHasTheLock) {
  LockDocument document{"lock", kOurs, {}, 1, ""};
  EXPECT_EQ(held_by(document), "held by host:1");
  document.lock_id = std::string(32, 'f');
  EXPECT_EQ(held_by(document), "held by " + document.lock_id);
  document.corruption = "no lockId";
  EXPECT_EQ(held_by(document), "corrupt lock document: no lockId");
}

const std::string kOwner(32, 'c');
constexpr LocalInstant kStart{std::chrono::hours(1)};

TEST(HolderObservations, MatureAfterTheLeaseAndTheDriftFromTheFirstReceipt) {
  HolderObservations observations;
  observations.see("n", kOwner + ".1000.1", kStart);
  observations.see("n", kOwner + ".1000.1", kStart + milliseconds(900));
  EXPECT_FALSE(observations.presumed_dead("n", kStart + milliseconds(1'004), 0.005));
  EXPECT_EQ(observations.presumed_dead("n", kStart + milliseconds(1'006), 0.005),
            kOwner + ".1000.1");
}

TEST(HolderObservations, AreNeverOfAForeignForm) {
  HolderObservations observations;
  observations.see("n", kOwner, kStart);
  EXPECT_FALSE(observations.presumed_dead_at("n", 0));
  observations.see("n", kOwner + ".1000.1", kStart);
  observations.see("n", kOwner, kStart);
  EXPECT_FALSE(observations.presumed_dead_at("n", 0));
}

TEST(HolderObservations, AreDroppedAfterTenLeasesWithoutConfirmation) {
  HolderObservations observations;
  observations.see("n", kOwner + ".1000.1", kStart);
  EXPECT_FALSE(observations.presumed_dead("n", kStart + milliseconds(11'001), 0));
}

TEST(HolderObservations, AreBounded) {
  HolderObservations observations;
  for (std::size_t i = 0; i < kMaxSights + 100; ++i) {
    observations.see("n" + std::to_string(i), kOwner + ".1000.1",
                     kStart + milliseconds(static_cast<int>(i)));
  }
  int kept = 0;
  for (std::size_t i = 0; i < kMaxSights + 100; ++i) {
    kept += observations.presumed_dead_at("n" + std::to_string(i), 0) ? 1 : 0;
  }
  EXPECT_EQ(kept, static_cast<int>(kMaxSights));
  EXPECT_TRUE(observations.presumed_dead_at("n" + std::to_string(kMaxSights + 99), 0));
}

AcquireCall call_for_a_minute() {
  AcquireCall call;
  call.name = "report";
  call.options.expiry = seconds(60);
  call.owner = {1, 0};
  call.hand_overs = 3;
  return call;
}

Win win_by(Granted::By by) {
  return {by, 7, {}, {"report", "x", ServerInstant{99}, 41, ""}, FencingToken(42)};
}

TEST(Win, IsExtendedUpToATenthOfTheCadenceEarlierByChanceOfItsOwner) {
  auto call = call_for_a_minute();
  call.owner.low = 999;
  EXPECT_EQ(held_lock(call, win_by(Granted::By::attempt)).cadence(), milliseconds(18'002));
  call.owner.low = 1'500;
  EXPECT_EQ(held_lock(call, win_by(Granted::By::attempt)).cadence(), milliseconds(19'000));
}

TEST(Win, BeginsANewRowUnlessItWasHandedOver) {
  const auto call = call_for_a_minute();
  EXPECT_EQ(held_lock(call, win_by(Granted::By::attempt)).hand_overs, 0);
  EXPECT_EQ(held_lock(call, win_by(Granted::By::pass_on)).hand_overs, 0);
  EXPECT_EQ(held_lock(call, win_by(Granted::By::hand_over)).hand_overs, 3);
}

}  // namespace
}  // namespace leasehold::core::acquire_parts_test

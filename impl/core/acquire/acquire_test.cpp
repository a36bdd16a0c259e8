#include <gtest/gtest.h>

#include "core/acquire/attempt_answer.hpp"
#include "core/acquire/contenders.hpp"
#include "core/testing/core_world.hpp"
#include "core/waiting/pacing.hpp"

namespace leasehold::core::acquire_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using World = CoreWorld;

TEST(Acquire, RetriesAtOnceWithTheSameOwnerAfterALostReply) {
  World w;
  w.acquire(1);
  w.advance(milliseconds(1'000));  // the operation timeout
  EXPECT_EQ(w.count<Abandon>(), 1);
  const auto sent = w.sent_as<AcquireCommand>();
  ASSERT_EQ(sent.size(), 2u);
  const auto& first = std::get<AcquireCommand>(sent[0].body);
  const auto& second = std::get<AcquireCommand>(sent[1].body);
  EXPECT_EQ(first.owner, second.owner);
  EXPECT_NE(first.lock_id, second.lock_id) << "the beat names the execution";
  w.give(ReplyArrived{sent[0].id, w.won(sent[0])});
  EXPECT_TRUE(w.effects.empty()) << "an abandoned command gets no answer";
  w.reply(w.won(w.last_command()));
  EXPECT_TRUE(w.has<Granted>());
}

TEST(Acquire, ATokenNotAboveTheStoredOneEndsTheCallAndDeletesItsOwner) {
  World w;
  w.acquire(1);
  auto reply = w.won(w.last_command(), 50);
  reply.documents[0].fencing_token = 50;
  w.reply(reply);
  EXPECT_NE(w.the<Ended>().error.message.find("not above the stored 50"), std::string::npos);
  EXPECT_EQ(w.sent_as<DeleteCommand>().size(), 1u);
}

TEST(Acquire, ObservationsAreSharedByTheCallsOfAProvider) {
  World w;
  const auto dead = to_hex({9, 9}) + ".500.7";
  w.acquire(1, "lock", World::options(), std::nullopt, true);
  w.reply(World::refused(dead));
  w.advance(milliseconds(600));
  w.acquire(2, "lock", World::options(), std::nullopt, true);
  EXPECT_EQ(std::get<AcquireCommand>(w.last_command().body).observed, dead);
}

TEST(Acquire, TimesOutOnTimeAndNamesTheLastFailure) {
  World w;
  w.acquire(1, "lock", World::options(), milliseconds(250));
  w.reply(World::refused(to_hex({9, 9}) + ".3000.7.db:1:app"));
  w.advance(milliseconds(100));
  w.reply(World::refused(to_hex({9, 9}) + ".3000.7.db:1:app"));
  w.advance(milliseconds(100));
  w.reply(World::refused(to_hex({9, 9}) + ".3000.7.db:1:app"));
  w.advance(milliseconds(50));
  EXPECT_EQ(w.the<Ended>().error.kind, ErrorKind::timed_out);
  EXPECT_EQ(w.find<Ended>()->error.message,
            "lock 'lock': timed out; last attempt: held by db:1:app");
  EXPECT_TRUE(w.sent_as<DeleteCommand>().empty());
}

TEST(Acquire, ConfigurationErrorsEndTheCallAtOnce) {
  World w;
  w.acquire(1);
  auto reply = World::with(Outcome::configuration);
  reply.code = 13;
  reply.message = "not authorized";
  w.reply(reply);
  EXPECT_EQ(w.the<Ended>().error, (Error{ErrorKind::configuration, 13, "not authorized"}));
  EXPECT_TRUE(w.sent_as<DeleteCommand>().empty()) << "it was not executed";
}

TEST(Acquire, ACorruptDocumentIsHeldAndReportedOnce) {
  World w;
  w.acquire(1);
  auto reply = World::refused("x");
  reply.documents[0].corruption = "expiresAt is a string";
  w.reply(reply);
  EXPECT_NE(w.the<Warned>().message.find("expiresAt is a string"), std::string::npos);
  w.advance(milliseconds(100));
  w.reply(reply);
  EXPECT_EQ(w.count<Warned>(), 1);
}

/// A write concern that can never be met: executed, but no majority will acknowledge it.
TEST(Acquire, AnUnknownOutcomeThatNoTryCanMendEndsTheCallAndIsCleanedUp) {
  World w;
  w.acquire(1);
  auto permanent = World::with(Outcome::unknown);
  permanent.permanent = true;
  w.reply(permanent);
  EXPECT_EQ(w.the<Ended>().error.kind, ErrorKind::configuration);
  EXPECT_EQ(w.sent_as<DeleteCommand>().size(), 1u);
}

/// The lock is not reentrant: the first mistake with it is to wait for a lock of one's own.
TEST(Acquire, BehindALockOfItsOwnProcessSaysSo) {
  World w;
  w.hold(1);
  w.give(AcquireAsked{2, "lock", World::options(), w.now + milliseconds(300), false});
  w.advance(milliseconds(300));
  EXPECT_EQ(w.find<Ended>()->error.message,
            "lock 'lock': timed out; another call of this process has the lock, or waited for it "
            "before");
}

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

TEST(Win, IsExtendedUpToATenthOfTheCadenceEarlierByChanceOfItsOwner) {
  AcquireCall call;
  call.options.expiry = seconds(60);
  const Win win{Granted::By::attempt, 7, {}, {"report", "x", ServerInstant{99}, 41, ""},
                FencingToken(42)};
  call.owner = {1, 999};
  EXPECT_EQ(held_lock(call, win).cadence(), milliseconds(18'002));
  call.owner = {1, 1'500};
  EXPECT_EQ(held_lock(call, win).cadence(), milliseconds(19'000));
}

}  // namespace
}  // namespace leasehold::core::acquire_test

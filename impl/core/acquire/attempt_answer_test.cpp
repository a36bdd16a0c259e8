#include "core/acquire/attempt_answer.hpp"

#include <gtest/gtest.h>

#include "core/testing/part_world.hpp"

namespace leasehold::core {
namespace {

const std::string kHolder = "host:1";
constexpr std::uint64_t kBeat = 7;

AcquireCall call() {
  AcquireCall call;
  call.owner = {1, 2};
  return call;
}

AttemptAnswer answer(const Reply& reply) { return read_answer(call(), kBeat, kHolder, reply); }

Reply with(Reply reply, Outcome outcome) {
  reply.outcome = outcome;
  return reply;
}

const std::string kOurs = call().lock_id(kBeat, kHolder);
const std::string kEarlier = call().lock_id(kBeat - 1, kHolder);
const std::string kAnothers = to_hex({9, 9}) + ".3000.1";

TEST(AttemptAnswer, OnlyTheLockIdOfThisVeryExecutionWins) {
  EXPECT_EQ(answer(shows(kOurs)), AttemptAnswer::won);
  EXPECT_EQ(answer(shows(kEarlier)), AttemptAnswer::unanswered) << "ours, at another time";
}

TEST(AttemptAnswer, AReplyThatTheDriverRetriedIsNotThatOfTheWrite) {
  auto reply = shows(kOurs);
  reply.retried = true;
  EXPECT_EQ(answer(reply), AttemptAnswer::unanswered);
}

TEST(AttemptAnswer, AnothersDocumentRefusesWhateverTheWriteConcernSays) {
  EXPECT_EQ(answer(shows(kAnothers)), AttemptAnswer::refused);
  EXPECT_EQ(answer(with(shows(kAnothers), Outcome::unknown)), AttemptAnswer::refused);
  EXPECT_EQ(answer(shows(std::string(32, 'f'))), AttemptAnswer::refused) << "the .NET package's";
}

TEST(AttemptAnswer, ADuplicateKeyRefusesWithoutADocument) {
  EXPECT_EQ(answer(CoreWorld::with(Outcome::duplicate_key)), AttemptAnswer::refused);
}

TEST(AttemptAnswer, WhatIsNotAcknowledgedMayHaveWon) {
  auto reply = with(shows(kOurs), Outcome::unknown);
  EXPECT_EQ(answer(reply), AttemptAnswer::unanswered);
  reply.permanent = true;
  EXPECT_EQ(answer(reply), AttemptAnswer::permanent) << "and no other try can do better";
}

TEST(AttemptAnswer, WhatWasNotExecutedCannotHaveWon) {
  EXPECT_EQ(answer(with(shows(kOurs), Outcome::not_executed)), AttemptAnswer::not_executed);
  EXPECT_EQ(answer(with(shows(kOurs), Outcome::configuration)), AttemptAnswer::cannot_succeed);
}

TEST(AttemptAnswer, SaysForPeopleWhoHasTheLock) {
  LockDocument document{"lock", kOurs, {}, 1, ""};
  EXPECT_EQ(held_by(document), "held by host:1");
  document.lock_id = std::string(32, 'f');
  EXPECT_EQ(held_by(document), "held by " + document.lock_id);
  document.corruption = "no lockId";
  EXPECT_EQ(held_by(document), "corrupt lock document: no lockId");
}

}  // namespace
}  // namespace leasehold::core

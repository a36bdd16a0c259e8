#include "sim/virtual/commands/client_commands.hpp"

#include <gtest/gtest.h>

namespace leasehold::sim::simulated {
namespace {

constexpr int kCode = 91;

Object acquire() {
  return make({{"findAndModify", std::string("locks")},
               {"query", make({{"_id", std::string("l")}})},
               {"upsert", true}});
}

std::int64_t code_of(const std::optional<Object>& reply) {
  return reply ? reply->find("code")->integer() : 0;
}

TEST(InjectedErrors, EachThirdAcquireOfATakenLockIsADuplicateKey) {
  InjectedErrors errors;
  errors.fail_next(6, kCode, false);
  Collection free, taken;
  taken.apply({"l", std::make_shared<const Object>()});
  std::vector<std::int64_t> codes;
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(errors.strikes());
    codes.push_back(code_of(errors.instead_of(acquire(), taken)));
  }
  EXPECT_EQ(codes, (std::vector<std::int64_t>{kCode, kCode, 11000}));
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(errors.strikes());
    EXPECT_EQ(code_of(errors.instead_of(acquire(), free)), kCode);
  }
}

TEST(InjectedErrors, AnExecutedCommandFailsInItsReplyOrItsWriteConcern) {
  InjectedErrors errors;
  errors.fail_next(2, kCode, true);
  const Object done = make({{"ok", 1.0}});
  ASSERT_TRUE(errors.strikes());
  EXPECT_FALSE(errors.instead_of(acquire(), {}));
  EXPECT_TRUE(errors.after(done).find("ok")->truth());
  EXPECT_NE(errors.after(done).find("writeConcernError"), nullptr);
  ASSERT_TRUE(errors.strikes());
  EXPECT_FALSE(errors.after(done).find("ok")->truth());
}

TEST(InjectedErrors, AStreamsCommandIsNotExecutedWhateverWasAskedFor) {
  InjectedErrors errors;
  errors.fail_next(1, kCode, true);
  ASSERT_TRUE(errors.strikes());
  EXPECT_EQ(code_of(errors.instead_of(make({{"getMore", std::int64_t{1}}}), {})), kCode);
}

TEST(InjectedErrors, EachFourthAcquireThatWroteIsAnsweredAsIfTheDriverHadRetried) {
  InjectedErrors errors;
  errors.fail_next(4, kCode, true);
  Executed executed;
  executed.for_majority = true;
  executed.changes.push_back(note_in_oplog());
  std::vector<bool> repeats;
  while (errors.strikes()) repeats.push_back(errors.repeats(acquire(), executed));
  EXPECT_EQ(repeats, (std::vector<bool>{false, false, true, false}));
}

}  // namespace
}  // namespace leasehold::sim::simulated

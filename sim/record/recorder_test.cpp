#include "sim/record/recorder.hpp"

#include <gtest/gtest.h>

namespace leasehold::sim::recorder_test {
namespace {

const core::LocalInstant kNow{std::chrono::seconds(1)};

/// Two callers of one process; the recorder sees them as it sees a core's steps.
class Recorded {
 public:
  void grant(core::SessionId session, const std::string& name, std::int64_t token) {
    recorder.step(core::AcquireAsked{session, name, {}, std::nullopt},
                  {core::Granted{.session = session,
                                 .name = name,
                                 .token = FencingToken(token),
                                 .owner = {session, session},
                                 .sent = kNow,
                                 .deadline = kNow}},
                  kNow);
  }
  void release(core::SessionId session) {
    recorder.step(core::ReleaseAsked{session},
                  {core::Released{.session = session, .result = ReleaseResult::released}}, kNow);
  }
  [[nodiscard]] std::int64_t session_of(const std::string& name, std::int64_t token) const {
    return recorder.grant_of(name, FencingToken(token)).session;
  }

  Recorder recorder{"p0", [](const model::Event&) {}};
};

// Found by a live run of distributed-lock, whose tokens begin at 1 for each name.
TEST(Recorder, TheSameTokenOfTwoLocksIsTwoGrants) {
  Recorded r;
  r.grant(1, "lock-0", 1);
  r.grant(2, "lock-1", 1);
  EXPECT_EQ(r.session_of("lock-0", 1), 1);
  r.release(2);
  EXPECT_EQ(r.session_of("lock-0", 1), 1);
  EXPECT_EQ(r.session_of("lock-1", 1), 0);
}

TEST(Recorder, ATokenThatCameAgainIsTheLaterGrants) {
  Recorded r;
  r.grant(1, "lock", 1);
  r.grant(2, "lock", 1);
  EXPECT_EQ(r.session_of("lock", 1), 2);
  r.release(1);
  EXPECT_EQ(r.session_of("lock", 1), 2);
}

// Found by an hour of soak: each left a hundred bytes behind.
TEST(Recorder, AnAnswerToACallThatGaveUpIsNotKept) {
  Recorded r;
  core::AcquireCommand attempt{};
  attempt.session = 1;
  attempt.name = "lock";
  const core::Command command{7, std::chrono::milliseconds(100), attempt};
  r.recorder.step(core::AcquireAsked{1, "lock", {}, std::nullopt}, {core::Send{command}}, kNow);
  EXPECT_EQ(r.recorder.sessions(), 1u);
  r.recorder.step(core::CancelAsked{1}, {core::Ended{.session = 1}}, kNow);
  r.recorder.step(core::ReplyArrived{7, {}}, {}, kNow);
  EXPECT_EQ(r.recorder.sessions(), 0u);
}

}  // namespace
}  // namespace leasehold::sim::recorder_test

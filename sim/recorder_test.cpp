#include "sim/recorder.hpp"

#include <gtest/gtest.h>

namespace leasehold::sim {
namespace {

const core::LocalInstant kNow{std::chrono::seconds(1)};

/// Two callers of one process; the recorder hears of them as of a core's steps.
class Recorded {
 public:
  void grant(core::SessionId session, const std::string& name, std::int64_t token) {
    recorder.step(core::AcquireAsked{session, name, {}, std::nullopt},
                  {core::Granted{session, FencingToken(token), {session, session}, kNow, kNow}},
                  kNow);
  }
  void release(core::SessionId session) {
    recorder.step(core::ReleaseAsked{session}, {core::Released{session, ReleaseResult::released}},
                  kNow);
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

}  // namespace
}  // namespace leasehold::sim

#include "runtime/effect_runner.hpp"

#include <gtest/gtest.h>

#include <future>

#include "runtime/testing/runtime_parts.hpp"

namespace leasehold::runtime {
namespace {

using Answer = Result<std::shared_ptr<HandleState>>;

/// A runner that a test gives effects to, in place of a core.
struct RunnerWorld : RuntimeParts {
  ~RunnerWorld() { stop(); }

  void run(core::Effect effect) {
    core::Effects effects;
    effects.push_back(std::move(effect));
    runner.run(core::CloseAsked{}, effects, now);
  }
  std::shared_ptr<HandleState> grant(core::SessionId session) {
    std::shared_ptr<HandleState> handle;
    runner.expect(session, {}, [&handle](Answer answer) { handle = *answer; });
    core::Granted granted{};
    granted.session = session;
    granted.token = FencingToken(42);
    granted.deadline = now + milliseconds(1'000);
    run(granted);
    return handle;
  }

  core::LocalInstant now{std::chrono::hours(1)};
  std::vector<std::string> warnings;
  EffectRunner runner{{workers, timers, callbacks, losses},
                      [this](const std::string& warning) { warnings.push_back(warning); },
                      nullptr};
};

TEST(EffectRunner, AGrantAnswersWhoWaitsForThatSession) {
  RunnerWorld w;
  const auto handle = w.grant(7);
  ASSERT_NE(handle, nullptr);
  EXPECT_EQ(handle->token(), FencingToken(42));
  EXPECT_EQ(handle->left_at(w.now).remaining, milliseconds(1'000));
}

TEST(EffectRunner, AnEndAnswersWithItsError) {
  RunnerWorld w;
  std::optional<ErrorKind> kind;
  w.runner.expect(7, {}, [&kind](const Answer& answer) { kind = answer.error().kind; });
  w.run(core::Ended{7, "lock", {ErrorKind::timed_out, 0, "timed out"}});
  EXPECT_EQ(kind, ErrorKind::timed_out);
}

TEST(EffectRunner, AnExtensionReachesItsHandle) {
  RunnerWorld w;
  const auto handle = w.grant(7);
  core::Extended extended{};
  extended.session = 7;
  extended.deadline = w.now + milliseconds(3'000);
  w.run(extended);
  EXPECT_EQ(handle->left_at(w.now).remaining, milliseconds(3'000));
}

TEST(EffectRunner, ALossEndsTheHandleAtOnceAndIsSignalled) {
  RunnerWorld w;
  const auto handle = w.grant(7);
  w.run(core::Lost{7, "lock", FencingToken(42), LostReason::deadline});
  EXPECT_EQ(handle->left_at(w.now).remaining, milliseconds(0));
  w.losses.stop();
  EXPECT_TRUE(handle->lost().stop_requested());
}

TEST(EffectRunner, AReleaseAnswersAllWhoWaitForIt) {
  RunnerWorld w;
  const auto handle = w.grant(7);
  const auto answered = std::make_shared<std::promise<ReleaseResult>>();
  EXPECT_TRUE(handle->ask_release([answered](ReleaseResult r) { answered->set_value(r); }));
  w.run(core::Released{7, "lock", FencingToken(42), ReleaseResult::not_owner});
  EXPECT_EQ(answered->get_future().get(), ReleaseResult::not_owner);
  EXPECT_EQ(handle->wait_for_release(*w.executor), ReleaseResult::not_owner);
}

TEST(EffectRunner, AWarningIsGivenAsCallbacksAre) {
  RunnerWorld w;
  w.run(core::Warned{"no index"});
  w.callbacks.stop();
  EXPECT_EQ(w.warnings, (std::vector<std::string>{"no index"}));
}

TEST(EffectRunner, ATimerIsSetAndClearedAsSaid) {
  RunnerWorld w;
  const auto due = std::make_shared<std::promise<core::Timer>>();
  w.on_due = [due](core::Timer timer) { due->set_value(timer); };
  w.run(core::SetTimer{{core::Timer::Kind::give_up, 1}, w.clock->now() + milliseconds(20)});
  w.run(core::SetTimer{{core::Timer::Kind::give_up, 2}, w.clock->now() + milliseconds(30)});
  w.run(core::ClearTimer{{core::Timer::Kind::give_up, 1}});
  EXPECT_EQ(due->get_future().get().id, 2u);
}

}  // namespace
}  // namespace leasehold::runtime

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <set>

#include "core/testing/drawn_schedule.hpp"

namespace leasehold::core::timers_test {
namespace {

using std::chrono::milliseconds;
using Kind = Timer::Kind;

/// Those of one call, one command or one removal: not the provider's own two.
std::vector<Timer> left_behind(const CoreWorld& w) {
  std::vector<Timer> left;
  for (const auto& [timer, at] : w.timers) {
    if (timer.kind != Kind::extension_round && timer.kind != Kind::stream) left.push_back(timer);
  }
  return left;
}

TEST(Timers, ALockThatIsTakenHeldAndReleasedLeavesNone) {
  CoreWorld w;
  w.acquire(1, "lock", CoreWorld::options(), std::chrono::hours(24));
  w.reply(CoreWorld::refused(std::string(32, 'f')));
  w.advance(milliseconds(100));
  w.reply(w.won(w.last_command()));
  ASSERT_TRUE(w.has<Granted>());
  for (const auto& command : w.sent_as<EnsureIndexCommand>()) {
    w.give(ReplyArrived{command.id, CoreWorld::with(Outcome::done)});
  }
  EXPECT_EQ(left_behind(w), (std::vector<Timer>{{Kind::lease_end, 1}}));
  w.give(ReleaseAsked{1});
  w.reply(CoreWorld::with(Outcome::done, 1));
  ASSERT_TRUE(w.has<Released>());
  EXPECT_EQ(left_behind(w), std::vector<Timer>{});
}

TEST(Timers, AHandOverTakesTheReceiversAttemptOut) {
  CoreWorld w;
  auto o = CoreWorld::options();
  o.waiting = fixed_waiting(milliseconds(60'000));
  w.acquire(1, "lock", o);
  w.reply(CoreWorld::refused(std::string(32, 'f')));
  w.acquire(2, "lock", o, std::nullopt, true);  // wins past the line
  w.reply(w.won(w.last_command()));
  w.give(ReleaseAsked{2});
  ASSERT_TRUE(std::holds_alternative<HandOverCommand>(w.last_command().body));
  EXPECT_FALSE(w.timers.contains({Kind::attempt, 1}));
}

/// The timers that may be set, as far as an onlooker of the effects can tell.
void only_wanted_timers_are_set(const DrawnSchedule& w) {
  for (const auto& [timer, at] : w.timers) {
    switch (timer.kind) {
      case Kind::command_timeout: RC_ASSERT(w.under_way.contains(timer.id)); break;
      case Kind::attempt:
      case Kind::give_up:
      case Kind::lease_end: RC_ASSERT(!w.over.contains(timer.id)); break;
      default: break;
    }
  }
}

RC_GTEST_PROP(Timers, AreSetOnlyForWhatIsUnderWay, ()) {
  DrawnSchedule w;
  w.after_each = [&w](const Effects&) { only_wanted_timers_are_set(w); };
  w.run(*rc::gen::inRange(1, 80));
  w.wind_down();
  RC_ASSERT(left_behind(w) == std::vector<Timer>{});
}

}  // namespace
}  // namespace leasehold::core::timers_test

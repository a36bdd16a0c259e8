#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "core/testing/drawn_schedule.hpp"

namespace leasehold::core::timers_test {
namespace {

using Kind = Timer::Kind;

/// Those of one call, one command or one removal: not the provider's own two.
std::vector<Timer> left_behind(const CoreWorld& w) {
  std::vector<Timer> left;
  for (const auto& [timer, at] : w.timers) {
    if (timer.kind != Kind::extension_round && timer.kind != Kind::stream) left.push_back(timer);
  }
  return left;
}

/// The timers that may be set, as far as an onlooker of the effects can tell.
void only_wanted_timers_are_set(const DrawnSchedule& w) {
  for (const auto& [timer, at] : w.timers) {
    switch (timer.kind) {
      case Kind::command_timeout: RC_ASSERT(w.under_way.contains(timer.id)); break;
      case Kind::attempt: RC_ASSERT(!w.receives(timer.id)); [[fallthrough]];
      case Kind::give_up:
        RC_ASSERT(!w.granted.contains(timer.id) && !w.over.contains(timer.id));
        break;
      case Kind::lease_end: RC_ASSERT(w.is_had(timer.id)); break;
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

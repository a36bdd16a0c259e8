#include "runtime/lock_event_translator.hpp"

#include <gtest/gtest.h>

#include "core/core_world.hpp"

namespace leasehold::runtime {
namespace {

using core::Outcome;
using Kind = LockEvent::Kind;
using std::chrono::milliseconds;

/// A core whose every step is reported.
struct TellerWorld : core::CoreWorld {
  void give_and_tell(const core::Event& event) {
    give(event);
    for (auto& one : teller.tell(event, effects, now)) told.push_back(std::move(one));
  }
  void ask(core::SessionId id) {
    give_and_tell(core::AcquireAsked{id, "lock", options(), std::nullopt, false});
  }
  void answer(core::Reply reply) {
    give_and_tell(core::ReplyArrived{last_command().id, std::move(reply)});
  }
  [[nodiscard]] std::vector<Kind> kinds() const {
    std::vector<Kind> list;
    for (const auto& one : told) list.push_back(one.kind);
    return list;
  }

  LockEventTranslator teller;
  std::vector<LockEvent> told;
};

TEST(LockEventTranslator, ALifeFromRefusalToRelease) {
  TellerWorld w;
  w.ask(1);
  w.answer(core::CoreWorld::refused("somebody"));
  w.now += milliseconds(100);
  w.give_and_tell(core::TimerFired{{core::Timer::Kind::attempt, 1}});
  w.answer(w.won(w.last_command(), 7));
  w.now += milliseconds(40);
  w.give_and_tell(core::ReleaseAsked{1});
  w.now += milliseconds(2);
  w.answer(core::CoreWorld::with(Outcome::done, 1));
  EXPECT_EQ(w.kinds(), (std::vector{Kind::attempt, Kind::refused, Kind::attempt, Kind::acquired,
                                    Kind::released}));
  EXPECT_EQ(w.told[3], (LockEvent{Kind::acquired, "lock", FencingToken(7), milliseconds(100), {}}));
  EXPECT_EQ(w.told[4],
            (LockEvent{Kind::released, "lock", FencingToken(7), milliseconds(42), "released"}));
}

TEST(LockEventTranslator, AFailedExtensionAndALoss) {
  TellerWorld w;
  w.ask(1);
  w.answer(w.won(w.last_command(), 7));
  w.now += milliseconds(1'000);
  w.give_and_tell(core::TimerFired{{core::Timer::Kind::extension_round, 0}});
  w.answer(core::CoreWorld::with(Outcome::unknown));
  w.now += milliseconds(2'000);
  w.give_and_tell(core::TimerFired{{core::Timer::Kind::lease_end, 1}});
  EXPECT_EQ(w.kinds(),
            (std::vector{Kind::attempt, Kind::acquired, Kind::extension_failed, Kind::lost}));
  EXPECT_EQ(w.told[3].detail, "deadline");
  EXPECT_EQ(w.told[3].took, milliseconds(3'000));
}

TEST(LockEventTranslator, AHandOverAndACleanUp) {
  TellerWorld w;
  w.ask(1);
  w.answer(w.won(w.last_command(), 7));
  w.ask(2);
  w.give_and_tell(core::ReleaseAsked{1});
  const auto given = std::get<core::HandOverCommand>(w.last_command().body);
  auto reply = core::CoreWorld::with(Outcome::done);
  reply.operation_time = FencingToken(9);
  reply.documents = {{"lock", given.lock_id, {}, 8, ""}};
  w.answer(reply);
  EXPECT_EQ(w.kinds(),
            (std::vector{Kind::attempt, Kind::acquired, Kind::released, Kind::handed_over}));
  w.give_and_tell(core::ReleaseAsked{2});
  w.answer(core::CoreWorld::with(Outcome::done, 1));
  w.told.clear();
  w.ask(3);
  const auto attempt = w.last_command();
  w.give_and_tell(core::CancelAsked{3});
  w.give_and_tell(core::ReplyArrived{attempt.id, w.won(attempt, 11)});
  w.answer(core::CoreWorld::with(Outcome::done, 1));
  EXPECT_EQ(w.kinds(), (std::vector{Kind::attempt, Kind::gave_up, Kind::cleaned_up}));
  EXPECT_EQ(w.told[1].detail, "cancelled");
}

}  // namespace
}  // namespace leasehold::runtime

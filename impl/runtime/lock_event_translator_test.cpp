#include "runtime/lock_event_translator.hpp"

#include <gtest/gtest.h>

#include "core/testing/core_world.hpp"

namespace leasehold::runtime {
namespace {

using core::Outcome;
using Kind = LockEvent::Kind;
using std::chrono::milliseconds;

/// A core whose every step is reported.
struct TranslatedWorld : core::CoreWorld {
  void step(const core::Event& event) {
    give(event);
    for (auto& one : translator.translate(event, effects, now)) events.push_back(std::move(one));
  }
  void ask(core::SessionId id) {
    step(core::AcquireAsked{id, "lock", options(), std::nullopt, false});
  }
  void answer(core::Reply reply) { step(core::ReplyArrived{last_command().id, std::move(reply)}); }
  [[nodiscard]] std::vector<Kind> kinds() const {
    std::vector<Kind> list;
    for (const auto& one : events) list.push_back(one.kind);
    return list;
  }

  LockEventTranslator translator;
  std::vector<LockEvent> events;
};

TEST(LockEventTranslator, ALifeFromRefusalToRelease) {
  TranslatedWorld w;
  w.ask(1);
  w.answer(core::CoreWorld::refused("somebody"));
  w.now += milliseconds(100);
  w.step(core::TimerFired{{core::Timer::Kind::attempt, 1}});
  w.answer(w.won(w.last_command(), 7));
  w.now += milliseconds(40);
  w.step(core::ReleaseAsked{1});
  w.now += milliseconds(2);
  w.answer(core::CoreWorld::with(Outcome::done, 1));
  EXPECT_EQ(w.kinds(), (std::vector{Kind::attempt, Kind::refused, Kind::attempt, Kind::acquired,
                                    Kind::released}));
  EXPECT_EQ(w.events[3],
            (LockEvent{Kind::acquired, "lock", FencingToken(7), milliseconds(100), {}}));
  EXPECT_EQ(w.events[4],
            (LockEvent{Kind::released, "lock", FencingToken(7), milliseconds(42), "released"}));
}

TEST(LockEventTranslator, ARefusedAndAFailedAttemptSayWhy) {
  TranslatedWorld w;
  w.ask(1);
  w.answer(core::CoreWorld::refused("somebody"));
  w.now += milliseconds(100);
  w.step(core::TimerFired{{core::Timer::Kind::attempt, 1}});
  auto nobody = core::CoreWorld::with(Outcome::not_executed);
  nobody.message = "connection refused";
  w.answer(nobody);
  ASSERT_EQ(w.kinds(),
            (std::vector{Kind::attempt, Kind::refused, Kind::attempt, Kind::attempt_failed}));
  EXPECT_EQ(w.events[1].detail, "held by somebody");
  EXPECT_EQ(w.events[3].detail, "connection refused");
}

TEST(LockEventTranslator, AFailedExtensionAndALoss) {
  TranslatedWorld w;
  w.ask(1);
  w.answer(w.won(w.last_command(), 7));
  w.now += milliseconds(1'000);
  w.step(core::TimerFired{{core::Timer::Kind::extension_round, 0}});
  w.answer(core::CoreWorld::with(Outcome::unknown));
  w.now += milliseconds(2'000);
  w.step(core::TimerFired{{core::Timer::Kind::lease_end, 1}});
  EXPECT_EQ(w.kinds(),
            (std::vector{Kind::attempt, Kind::acquired, Kind::extension_failed, Kind::lost}));
  EXPECT_EQ(w.events[3].detail, "deadline");
  EXPECT_EQ(w.events[3].took, milliseconds(3'000));
}

TEST(LockEventTranslator, AnExtensionLastsFromItsSendingAndAPassOnFromTheCall) {
  TranslatedWorld w;
  w.ask(1);
  w.answer(w.won(w.last_command(), 7));
  w.now += milliseconds(1'000);
  w.step(core::TimerFired{{core::Timer::Kind::extension_round, 0}});
  w.now += milliseconds(3);
  w.answer(core::CoreWorld::with(Outcome::done, 1));
  EXPECT_EQ(w.events.back(),
            (LockEvent{Kind::extended, "lock", FencingToken(7), milliseconds(3), {}}));
  w.ask(2);
  w.now += milliseconds(20);
  core::Granted granted{};
  granted.session = 2;
  granted.name = "lock";
  granted.token = FencingToken(9);
  granted.by = core::Granted::By::pass_on;
  core::Effects effects;
  effects.push_back(granted);
  EXPECT_EQ(w.translator.translate(core::ReplyArrived{99, {}}, effects, w.now),
            (std::vector{
                LockEvent{Kind::passed_on, "lock", FencingToken(9), milliseconds(20), {}}}));
}

TEST(LockEventTranslator, AHandOverAndACleanUp) {
  TranslatedWorld w;
  w.ask(1);
  w.answer(w.won(w.last_command(), 7));
  w.ask(2);
  w.step(core::ReleaseAsked{1});
  const auto given = std::get<core::HandOverCommand>(w.last_command().body);
  auto reply = core::CoreWorld::with(Outcome::done);
  reply.operation_time = FencingToken(9);
  reply.documents = {{"lock", given.lock_id, {}, 8, ""}};
  w.answer(reply);
  EXPECT_EQ(w.kinds(),
            (std::vector{Kind::attempt, Kind::acquired, Kind::released, Kind::handed_over}));
  w.step(core::ReleaseAsked{2});
  w.answer(core::CoreWorld::with(Outcome::done, 1));
  w.events.clear();
  w.ask(3);
  const auto attempt = w.last_command();
  w.step(core::CancelAsked{3});
  w.step(core::ReplyArrived{attempt.id, w.won(attempt, 11)});
  w.answer(core::CoreWorld::with(Outcome::done, 1));
  EXPECT_EQ(w.kinds(), (std::vector{Kind::attempt, Kind::gave_up, Kind::cleaned_up}));
  EXPECT_EQ(w.events[1].detail, "cancelled");
}

}  // namespace
}  // namespace leasehold::runtime

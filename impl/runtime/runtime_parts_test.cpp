#include <gtest/gtest.h>

#include <deque>
#include <future>
#include <thread>

#include "core/testing/core_world.hpp"
#include "runtime/errands.hpp"
#include "runtime/force_release.hpp"
#include "runtime/lock_event_translator.hpp"
#include "runtime/testing/runtime_parts.hpp"

namespace leasehold::runtime {
namespace {

TEST(Timers, AreSetAndClearedAsSaid) {
  RuntimeParts parts;
  const auto due = std::make_shared<std::promise<core::Timer>>();
  parts.on_due = [due](core::Timer timer) { due->set_value(timer); };
  const auto now = parts.clock->now();
  parts.timers.set({core::Timer::Kind::give_up, 1}, now + milliseconds(20));
  parts.timers.set({core::Timer::Kind::give_up, 2}, now + milliseconds(30));
  parts.timers.clear({core::Timer::Kind::give_up, 1});
  EXPECT_EQ(due->get_future().get().id, 2u);
  parts.stop();
}

struct ErrandsWorld : RuntimeParts {
  explicit ErrandsWorld(bool available = true)
      : errands(available, executor, workers) {
    on_reply = [this](core::CommandId id, Reply reply) { errands.replied(id, std::move(reply)); };
    server->shown = {{"lock", "somebody"}};
  }
  ~ErrandsWorld() { stop(); }

  Reply inspect(milliseconds timeout) {
    return errands.ask(core::InspectCommand{"lock"}, timeout);
  }

  Errands errands;
};

/// More often than there are workers: one that hung on would not be there for the last.
TEST(Reads, AnInspectionEndsWithItsTimeAndItsWorkerIsBack) {
  ErrandsWorld w;
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  w.server->mode = FakeServer::Mode::hang;
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(w.inspect(milliseconds(30)).message, "no reply within 30 ms");
    while (w.server->hanging > 0 && std::chrono::steady_clock::now() < limit) {
      std::this_thread::yield();
    }
    EXPECT_EQ(w.server->hanging, 0) << "its connection was not cut";
  }
  w.server->mode = FakeServer::Mode::serve;
  EXPECT_EQ(w.inspect(milliseconds(10'000)).documents.size(), 1u);
  w.errands.replied(kOwnIds + 77, {});  // that nobody waits for
}

TEST(Reads, PublishedLocksAreNotRead) {
  ErrandsWorld w(false);
  EXPECT_EQ(w.inspect(milliseconds(10'000)).outcome, Outcome::configuration);
  EXPECT_EQ(w.server->connections, 0);
}

/// A lock with a lease of 10 s.
const core::ForcedRelease kForce = *core::forced_release(
    {.name = "l", .lock_id = core::format_lock_id({{1, 2}, 10'000, 7}), .acquired_at = {},
     .corruption = {}, .expires_at = {90'000}, .read_at = {30'000}},
    {3, 4});

Reply taken(Outcome outcome) {
  return {.outcome = outcome, .documents = {{kForce.take.name, kForce.take.lock_id}}};
}

/// What is said if these are the replies, of which all but the last are followed by a wait.
Error error_after(std::deque<Reply> replies) {
  std::size_t waits = 0;
  const auto expected = replies.size() - 1;
  const auto error = force_release(kForce, {[&replies](auto) {
                                              auto reply = replies.front();
                                              replies.pop_front();
                                              return reply;
                                            },
                                            [&waits](milliseconds) { return ++waits > 0; }});
  EXPECT_EQ(waits, expected) << error.value().message;
  return error.value();
}

TEST(ForceSteps, EndWhereACommandFails) {
  EXPECT_EQ(error_after({taken(Outcome::unknown)}).kind, ErrorKind::unavailable) << "no majority";
  const auto kind_after = [](Outcome outcome) { return error_after({{.outcome = outcome}}).kind; };
  EXPECT_EQ(kind_after(Outcome::unknown), ErrorKind::unavailable);
  EXPECT_EQ(kind_after(Outcome::not_executed), ErrorKind::unavailable);
  EXPECT_EQ(kind_after(Outcome::configuration), ErrorKind::configuration);
  EXPECT_EQ(kind_after(Outcome::duplicate_key), ErrorKind::refused);
  EXPECT_EQ(error_after({{.outcome = Outcome::unknown, .documents = {{"l", "another's"}}}}).kind,
            ErrorKind::refused);
}

TEST(ForceSteps, AReleaseThatNoMajorityConfirmsIsSaid) {
  const auto said = "no majority confirmed the release of lock 'l'; it frees itself in 42 s";
  auto freed = taken(Outcome::unknown);
  freed.message = "w: timeout";
  EXPECT_EQ(error_after({taken(Outcome::done), freed}).message, said + std::string(": w: timeout"));
  EXPECT_EQ(error_after({taken(Outcome::done), {.outcome = Outcome::done}}).message, said);
  freed = {.outcome = Outcome::done, .documents = {{"l", core::to_hex({1, 2})}}};
  EXPECT_EQ(error_after({taken(Outcome::done), freed}).message, said) << "as before";
}

using Kind = LockEvent::Kind;

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

TEST(LockEventTranslator, ALifeFromRefusalToReleaseAndWhyAttemptsFailed) {
  TranslatedWorld w;
  w.ask(1);
  w.answer(core::CoreWorld::refused("somebody"));
  w.now += milliseconds(100);
  w.step(core::TimerFired{{core::Timer::Kind::attempt, 1}});
  auto nobody = core::CoreWorld::with(Outcome::not_executed);
  nobody.message = "connection refused";
  w.answer(nobody);
  w.now += milliseconds(100);
  w.step(core::TimerFired{{core::Timer::Kind::attempt, 1}});
  w.answer(w.won(w.last_command(), 7));
  w.now += milliseconds(40);
  w.step(core::ReleaseAsked{1});
  w.now += milliseconds(2);
  w.answer(core::CoreWorld::with(Outcome::done, 1));
  ASSERT_EQ(w.kinds(),
            (std::vector{Kind::attempt, Kind::refused, Kind::attempt, Kind::attempt_failed,
                         Kind::attempt, Kind::acquired, Kind::released}));
  EXPECT_EQ(w.events[1].detail, "held by somebody");
  EXPECT_EQ(w.events[3].detail, "connection refused");
  EXPECT_EQ(w.events[5],
            (LockEvent{Kind::acquired, "lock", FencingToken(7), milliseconds(200), {}}));
  EXPECT_EQ(w.events[6],
            (LockEvent{Kind::released, "lock", FencingToken(7), milliseconds(42), "released"}));
}

TEST(LockEventTranslator, AnExtensionLastsFromItsSendingALossFromTheGrantAndAPassOnFromTheCall) {
  TranslatedWorld w;
  w.ask(1);
  w.answer(w.won(w.last_command(), 7));
  w.now += milliseconds(1'000);
  w.step(core::TimerFired{{core::Timer::Kind::extension_round, 0}});
  w.now += milliseconds(3);
  w.answer(core::CoreWorld::with(Outcome::done, 1));
  EXPECT_EQ(w.events.back(),
            (LockEvent{Kind::extended, "lock", FencingToken(7), milliseconds(3), {}}));
  w.now += milliseconds(997);
  w.step(core::TimerFired{{core::Timer::Kind::extension_round, 0}});
  w.answer(core::CoreWorld::with(Outcome::unknown));
  w.now += milliseconds(2'000);
  w.step(core::TimerFired{{core::Timer::Kind::lease_end, 1}});
  EXPECT_EQ(w.kinds(), (std::vector{Kind::attempt, Kind::acquired, Kind::extended,
                                    Kind::extension_failed, Kind::lost}));
  EXPECT_EQ(w.events.back(),
            (LockEvent{Kind::lost, "lock", FencingToken(7), milliseconds(4'000), "deadline"}));
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

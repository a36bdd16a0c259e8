#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <map>

#include "core/testing/core_world.hpp"

/// What the core does where more is to be sent than its slots allow.
namespace leasehold::core {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

CoreWorld world_with(int slots) {
  CoreWorld w;
  w.core = ProviderCore("host:1:test", slots);
  return w;
}

/// So many calls for as many free locks; the first `slots` are sent.
void ask(CoreWorld& w, SessionId first, SessionId last, std::optional<milliseconds> timeout = {}) {
  for (SessionId id = first; id <= last; ++id) {
    w.acquire(id, "lock-" + std::to_string(id), CoreWorld::options(), timeout);
  }
}

TEST(FlowControl, ACallWaitsUnsentUntilASlotIsFree) {
  auto w = world_with(2);
  ask(w, 1, 3);
  ASSERT_EQ(w.sent().size(), 2u);
  w.now += milliseconds(700);
  w.give(ReplyArrived{w.sent()[0].id, w.won(w.sent()[0])});
  ASSERT_EQ(w.sent_as<AcquireCommand>().size(), 3u);
  const Command third = w.sent_as<AcquireCommand>()[2];
  EXPECT_EQ(w.timers.at({Timer::Kind::command_timeout, third.id}), w.now + third.timeout)
      << "its time counts from its sending";
  const auto sent = w.now;
  w.now += milliseconds(100);
  w.give(ReplyArrived{third.id, w.won(third)});
  ASSERT_TRUE(w.has<Granted>());
  EXPECT_EQ(w.find<Granted>()->sent, sent) << "and so does the lease";
}

TEST(FlowControl, WhatWasNeverSentEndsWithoutATrace) {
  auto w = world_with(1);
  ask(w, 1, 3, milliseconds(500));
  w.give(CancelAsked{2});
  EXPECT_EQ(w.find<Ended>()->error.kind, ErrorKind::cancelled);
  w.advance(milliseconds(500));
  EXPECT_EQ(w.core.departures_left(), 1u) << "of the one attempt that was sent";
  EXPECT_EQ(w.sent().size(), 1u);
}

TEST(FlowControl, ASingleAttemptThatFindsNoSlotEndsWithinAnOperation) {
  auto w = world_with(1);
  w.acquire(1, "one");
  w.acquire(2, "other", CoreWorld::options(), {}, true);
  w.give(ReplyArrived{99, {}});
  auto first = w.sent()[0];
  w.timers.erase({Timer::Kind::command_timeout, first.id});
  w.advance(first.timeout);
  ASSERT_TRUE(w.has<Ended>());
  EXPECT_EQ(w.find<Ended>()->session, 2u);
  EXPECT_EQ(w.find<Ended>()->error.kind, ErrorKind::unavailable);
  EXPECT_EQ(w.core.departures_left(), 0u);
}

TEST(FlowControl, ASingleAttemptThatWaitedEndsWithinOneOperationAllTheSame) {
  auto w = world_with(1);
  w.acquire(1, "one");
  w.acquire(2, "other", CoreWorld::options(), {}, true);
  w.advance(milliseconds(900));
  w.give(ReplyArrived{w.sent()[0].id, w.won(w.sent()[0])});
  ASSERT_EQ(w.sent_as<AcquireCommand>().size(), 2u);
  w.advance(milliseconds(99));
  EXPECT_FALSE(w.has<Ended>());
  w.advance(milliseconds(1));
  ASSERT_TRUE(w.has<Ended>());
  EXPECT_EQ(w.find<Ended>()->error.kind, ErrorKind::unknown_outcome);
  EXPECT_EQ(w.core.departures_left(), 1u) << "it was sent: it may have won";
}

/// A process that was stopped finds everything due at once, in any order.
TEST(FlowControl, ACallWhoseTimeIsOverIsNotSentThoughASlotIsFree) {
  auto w = world_with(1);
  ask(w, 1, 2, milliseconds(500));
  w.now += milliseconds(600);
  w.give(ReplyArrived{w.sent()[0].id, w.won(w.sent()[0])});
  EXPECT_EQ(w.sent_as<AcquireCommand>().size(), 1u);
  w.advance(milliseconds(0));
  EXPECT_EQ(w.count<Ended>(), 1);
  EXPECT_EQ(w.core.departures_left(), 0u);
}

TEST(FlowControl, AReleaseIsNotBehindAllAttempts) {
  auto w = world_with(1);
  w.hold(1, "held");
  ask(w, 2, 100);
  w.give(ReleaseAsked{1});
  for (int answered = 0; answered < 2; ++answered) {
    w.give(ReplyArrived{w.last_command().id, w.won(w.sent_as<AcquireCommand>().back())});
  }
  EXPECT_EQ(w.sent_as<DeleteCommand>().size(), 1u);
  EXPECT_LE(w.sent_as<AcquireCommand>().size(), 3u);
}

/// A delete that is too late to be of use is dropped, and the next delete is sent in its place.
TEST(FlowControl, AReleaseThatIsNotSentAnyMoreTakesNoTurnFromTheNext) {
  auto w = world_with(1);
  w.hold(1, "first");
  w.hold(2, "second");
  ask(w, 3, 3);  // takes the slot
  w.give(ReleaseAsked{1});
  w.now += seconds(5);
  w.give(ReleaseAsked{2});
  ask(w, 4, 9);
  w.now += milliseconds(1'500);  // two leases after the first release
  const auto attempts = w.sent_as<AcquireCommand>();
  w.give(ReplyArrived{w.last_command().id, w.won(w.last_command())});
  ASSERT_EQ(w.sent_as<DeleteCommand>().size(), 1u);
  EXPECT_EQ(std::get<DeleteCommand>(w.last_command().body).name, "second");
  EXPECT_EQ(w.sent_as<AcquireCommand>().size(), attempts.size());
}

TEST(FlowControl, NoAttemptIsSentWhileExtensionsAreBehind) {
  auto w = world_with(1);
  constexpr SessionId kHeld = 2 * kMaxBatch + 1;
  for (SessionId id = 1; id <= kHeld; ++id) w.hold(id, "held-" + std::to_string(id));
  ask(w, kHeld + 1, kHeld + 2);  // one is sent
  w.now += milliseconds(1'000);
  w.give(TimerFired{{Timer::Kind::extension_round, 0}});
  const auto attempts = w.sent_as<AcquireCommand>().size();
  w.give(ReplyArrived{w.last_command().id, w.won(w.last_command())});
  for (std::size_t round = 1; round <= 3; ++round) {
    ASSERT_EQ(w.sent_as<ExtendCommand>().size(), round);
    EXPECT_EQ(w.sent_as<AcquireCommand>().size(), attempts);
    const auto extension = w.last_command();
    const auto count = std::get<ExtendCommand>(extension.body).statements.size();
    w.give(ReplyArrived{extension.id,
                        CoreWorld::with(Outcome::done, static_cast<std::int64_t>(count))});
  }
  EXPECT_EQ(w.sent_as<AcquireCommand>().size(), attempts + 1);
}

/// Servers that cannot do so much within an operation timeout would never do it.
TEST(FlowControl, ABatchOfExtensionsWithoutAnAnswerIsSentInHalvesUntilOneIsAnswered) {
  auto w = world_with(1);
  for (SessionId id = 1; id <= 80; ++id) w.hold(id, "held-" + std::to_string(id));
  w.now += milliseconds(1'000);
  w.give(TimerFired{{Timer::Kind::extension_round, 0}});
  const auto size = [&] {
    return std::get<ExtendCommand>(w.last_command().body).statements.size();
  };
  const auto answer = [&](Outcome outcome) {
    const auto matched = outcome == Outcome::done ? static_cast<std::int64_t>(size()) : 0;
    const auto sent = w.sent_as<ExtendCommand>().size();
    w.give(ReplyArrived{w.last_command().id, CoreWorld::with(outcome, matched)});
    while (w.sent_as<ExtendCommand>().size() == sent) w.advance(milliseconds(10));
  };
  std::vector<std::size_t> sizes{size()};
  for (const auto outcome : {Outcome::unknown, Outcome::unknown, Outcome::unknown, Outcome::unknown,
                             Outcome::done, Outcome::done}) {
    answer(outcome);
    sizes.push_back(size());
  }
  EXPECT_EQ(sizes, (std::vector<std::size_t>{80, 40, 20, 10, 10, 20, 40}));
}

TEST(FlowControl, ASlotThatAnAnswerFreesIsForExtensionsThatWaitNotForWhatFollowsFromTheAnswer) {
  auto w = world_with(1);
  w.hold(1, "held");
  ask(w, 2, 2);
  w.now += milliseconds(1'000);
  w.give(TimerFired{{Timer::Kind::extension_round, 0}});
  w.give(CancelAsked{2});
  const auto attempt = w.sent_as<AcquireCommand>().back();
  w.give(ReplyArrived{attempt.id, w.won(attempt)});  // a delete follows
  EXPECT_EQ(w.sent_as<ExtendCommand>().size(), 1u);
  EXPECT_TRUE(w.sent_as<DeleteCommand>().empty());
}

/// The attempts of the receiver were refused: it has nothing to clean up.
TEST(FlowControl, AHandOverThatWasNeverSentEndsAsADeleteOfItsGiverAlone) {
  auto w = world_with(1);
  w.hold(1, "lock");
  w.acquire(2, "lock");  // behind it
  ask(w, 3, 3);          // takes the slot
  w.give(ReleaseAsked{1});
  w.give(CancelAsked{2});
  w.give(ReplyArrived{w.last_command().id, w.won(w.last_command())});
  EXPECT_TRUE(w.sent_as<HandOverCommand>().empty());
  ASSERT_EQ(w.sent_as<DeleteCommand>().size(), 1u);
  EXPECT_FALSE(std::get<DeleteCommand>(w.last_command().body).or_owner);
}

TEST(FlowControl, CongestionIsReportedFromTheFirstThatWaitsToTheLast) {
  auto w = world_with(1);
  std::vector<bool> told;
  const auto listen = [&] {
    for (const auto& effect : w.effects) {
      if (const auto* news = std::get_if<Congested>(&effect)) told.push_back(news->begins);
    }
  };
  for (SessionId id = 1; id <= 3; ++id) {
    ask(w, id, id);
    listen();
  }
  EXPECT_EQ(told, std::vector{true});
  w.give(CancelAsked{3});
  listen();
  w.give(ReplyArrived{w.last_command().id, w.won(w.last_command())});
  listen();
  EXPECT_EQ(told, (std::vector{true, false}));
}

/// It got the lock from this process while it waited for a slot.
TEST(FlowControl, WhoeverIsGivenTheLockLeavesTheLine) {
  auto w = world_with(1);
  w.hold(1, "lock");
  w.acquire(2, "lock");
  w.give(ReleaseAsked{1});  // the hand-over takes the slot
  const auto hand_over = w.last_command();
  w.give(ReplyArrived{hand_over.id, CoreWorld::with(Outcome::done)});  // nothing there: it contends
  ask(w, 3, 3);
  const auto attempt = w.last_command();
  w.give(ReplyArrived{attempt.id, w.won(attempt)});
  EXPECT_EQ(w.sent_as<AcquireCommand>().size(), 3u);
  EXPECT_EQ(w.count<Congested>(), 2) << "no line is left";
}

TEST(FlowControl, InTroubleOneCommandAtATimeAsksUntilOneIsAnswered) {
  auto w = world_with(2);
  ask(w, 1, 20);
  const auto sent = [&w] { return w.sent_as<AcquireCommand>().size(); };
  w.advance(milliseconds(1'000));  // both time out
  EXPECT_EQ(sent(), 3u);
  w.advance(milliseconds(1'000));
  EXPECT_EQ(sent(), 4u);
  w.give(ReplyArrived{w.last_command().id, w.won(w.last_command())});
  EXPECT_EQ(sent(), 6u) << "both slots";
}

int locks() {
  const char* wanted = std::getenv("LEASEHOLD_LOCKS");
  return wanted == nullptr ? 20'000 : std::atoi(wanted);
}

/// Free locks without end, behind so many workers that each carry one command at a time, which
/// takes its time for each statement; nothing else is simulated. Virtual time, hence exact.
class Servers {
 public:
  static constexpr int kWorkers = 4;

  /// For ten times as many locks ten times as long, so that all are extended in a cadence.
  explicit Servers(milliseconds lease = seconds(30) * std::max(20'000, locks()) / 20'000,
                   Duration each_statement = std::chrono::microseconds(150))
      : each_statement_(each_statement) {
    options_.expiry = lease;
    options_.operation_timeout = milliseconds(10'000);
  }

  void ask(std::optional<seconds> timeout) {
    const SessionId id = ++asked_;
    give(AcquireAsked{id, "lock-" + std::to_string(id), options_,
                      timeout ? std::optional(now_ + *timeout) : std::nullopt, false});
  }
  /// Nothing is answered from then on for so long; what was sent before is answered afterwards.
  void stop(LocalInstant from, Duration span) { stopped_from_ = from, stopped_for_ = span; }

  /// The next that happens. False: nothing will.
  bool step() {
    if (due_.empty()) return false;
    const auto [at, event] = *due_.begin();
    due_.erase(due_.begin());
    now_ = std::max(now_, at);
    if (const auto* timer = std::get_if<Timer>(&event)) {
      timers_.erase(*timer);
      give(TimerFired{*timer});
    } else {
      const auto id = std::get<CommandId>(event);
      const auto reply = replies_.extract(id);
      if (reply) give(ReplyArrived{id, reply.mapped()});
    }
    return true;
  }

  int granted = 0, lost = 0, ended = 0, deletes = 0;
  [[nodiscard]] LocalInstant now() const { return now_; }

 private:
  void give(const Event& event) {
    Effects effects;
    core_.next(event, now_, entropy_, effects);
    for (auto& effect : effects) {
      if (auto* send = std::get_if<Send>(&effect)) execute(send->command);
      if (auto* set = std::get_if<SetTimer>(&effect)) set_timer(set->timer, set->at);
      if (auto* clear = std::get_if<ClearTimer>(&effect)) clear_timer(clear->timer);
      if (auto* gone = std::get_if<Abandon>(&effect)) replies_.erase(gone->command);
      granted += std::holds_alternative<Granted>(effect) ? 1 : 0;
      lost += std::holds_alternative<Lost>(effect) ? 1 : 0;
      ended += std::holds_alternative<Ended>(effect) ? 1 : 0;
    }
  }
  void execute(const Command& command) {
    Reply reply;
    reply.outcome = Outcome::done;
    reply.operation_time = FencingToken(++token_);
    Duration takes = milliseconds(4);
    if (const auto* acquire = std::get_if<AcquireCommand>(&command.body)) {
      reply.documents = {{acquire->name, acquire->lock_id, ServerInstant{77}, 1, ""}};
    } else if (const auto* extend = std::get_if<ExtendCommand>(&command.body)) {
      reply.matched = static_cast<std::int64_t>(extend->statements.size());
      takes += reply.matched * each_statement_;
    } else if (std::holds_alternative<DeleteCommand>(command.body)) {
      ++deletes;
    }
    auto& worker = *std::min_element(workers_.begin(), workers_.end());
    auto done = std::max(now_, worker) + takes;
    const auto back = stopped_from_ + stopped_for_;
    if (done >= stopped_from_ && now_ < back) done = std::max(done, back + milliseconds(1));
    worker = done;
    due_.emplace(done, command.id);
    replies_.emplace(command.id, std::move(reply));
  }
  void set_timer(const Timer& timer, LocalInstant at) {
    clear_timer(timer);
    timers_[timer] = due_.emplace(at, timer);
  }
  void clear_timer(const Timer& timer) {
    const auto found = timers_.find(timer);
    if (found == timers_.end()) return;
    due_.erase(found->second);
    timers_.erase(found);
  }

  using Due = std::multimap<LocalInstant, std::variant<Timer, CommandId>>;
  ProviderCore core_{"", kWorkers};
  CountingEntropy entropy_;
  const Duration each_statement_;
  LockOptions options_;
  std::array<LocalInstant, kWorkers> workers_{};  ///< when each is free
  LocalInstant now_{std::chrono::hours(1)}, stopped_from_ = LocalInstant::max() - seconds(60);
  Duration stopped_for_{0};
  SessionId asked_ = 0;
  std::int64_t token_ = 1'000;
  Due due_;
  std::map<Timer, Due::iterator> timers_;
  std::map<CommandId, Reply> replies_;
};

/// Asks for as many as there may be at a time, until all are granted: how long that took.
Duration all_granted(Servers& servers, int count, int at_a_time,
                     std::optional<seconds> timeout = {}) {
  const auto began = servers.now();
  int asked = 0;
  while (servers.granted < count) {
    while (asked < count && asked - servers.granted < at_a_time) {
      servers.ask(timeout);
      ++asked;
    }
    if (!servers.step() || servers.ended > 0) break;
  }
  return servers.now() - began;
}

TEST(FlowControl, AllAtOnceIsNoSlowerThanAFewAtATime) {
  Servers paced, burst;
  const auto of_few = all_granted(paced, locks(), 64);
  const auto of_all = all_granted(burst, locks(), locks());
  EXPECT_EQ(burst.granted, locks());
  EXPECT_EQ(burst.lost + burst.ended + burst.deletes, 0);
  EXPECT_LE(of_all.count() * 8 / 10, of_few.count());
}

TEST(FlowControl, ServersThatStopForFifteenSecondsCostNoLock) {
  Servers servers;
  servers.stop(servers.now() + seconds(12), seconds(15));
  const auto took = all_granted(servers, locks(), locks());
  EXPECT_EQ(servers.granted, locks());
  EXPECT_EQ(servers.lost + servers.ended, 0);
  Servers never_stopped;
  EXPECT_LE(took, all_granted(never_stopped, locks(), locks()) + seconds(40));
}

/// The servers extend 4,000 in a cadence: most calls wait, and none that is held is lost by them.
TEST(FlowControl, WhereMoreIsAskedForThanCanBeExtendedWhatIsHeldStaysHeld) {
  Servers servers(seconds(3), milliseconds(1));
  for (int i = 0; i < 10'000; ++i) servers.ask(seconds(20));
  while (servers.ended == 0 && servers.step()) {
  }
  EXPECT_EQ(servers.lost, 0);
  EXPECT_GT(servers.granted, 2'000);
  EXPECT_LT(servers.granted, 10'000);
}

}  // namespace
}  // namespace leasehold::core

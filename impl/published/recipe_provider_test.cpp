#include "published/recipe_provider.hpp"

#include <gtest/gtest.h>

#include "core/testing/core_world.hpp"

namespace leasehold::published {
namespace {

using core::Outcome;
using core::RawCommand;
using std::chrono::milliseconds;
using Role = RawCommand::Role;

/// A published lock in the place of the core.
struct Bench : core::CoreWorld {
  Bench(const Recipe& recipe, const Hardening& hardening = {}) : lock(recipe, hardening) {}

  void give(const core::Event& event) {
    begin(event);
    lock.next(event, {now, {1'700'000'000'000}}, entropy, effects);
    keep_books();
  }
  void ask(std::optional<core::LocalInstant> give_up_at = std::nullopt) {
    give(core::AcquireAsked{1, "l", options(), give_up_at, false});
  }
  [[nodiscard]] RawCommand last() const { return std::get<RawCommand>(last_command().body); }
  void answer(core::Reply reply) { give(core::ReplyArrived{last_command().id, std::move(reply)}); }
  void answer(Outcome outcome, std::int64_t matched = 1, int code = 0) {
    core::Reply reply;
    reply.outcome = outcome;
    reply.matched = matched;
    reply.code = code;
    if (outcome == Outcome::done && last().role == Role::acquire) {
      reply.documents = {{"l", last().lock_id, {}, 7, ""}};
    }
    answer(std::move(reply));
  }
  void fire(core::Timer::Kind kind, milliseconds later, std::uint64_t id = 1) {
    now += later;
    give(core::TimerFired{{kind, id}});
  }

  RecipeProvider lock;
};

void settle_indexes(Bench& bench, std::size_t count) {
  core::Reply done;
  done.outcome = Outcome::done;
  for (std::size_t i = 0; i < count; ++i) bench.give(core::ReplyArrived{i + 1, done});
}

TEST(PublishedLocks, NoneCanBeShared) {
  Bench bench(*recipe_named("insert-unique"));
  bench.give(core::AcquireAsked{1, "l", core::CoreWorld::options(), std::nullopt, false,
                                core::kReaders});
  EXPECT_EQ(bench.the<core::Ended>().error.kind, ErrorKind::invalid_option);
  EXPECT_TRUE(bench.sent().empty());
}

TEST(InsertUnique, ItsTransactionIsCommittedBeforeTheWorkBegins) {
  Bench bench(*recipe_named("insert-unique"));
  bench.ask();
  EXPECT_EQ(bench.last().role, Role::index);
  settle_indexes(bench, 2);
  EXPECT_EQ(bench.last().role, Role::prepare);
  bench.answer(Outcome::done);
  EXPECT_EQ(bench.find<core::Granted>(), nullptr) << "inserted, not committed";
  EXPECT_EQ(bench.last().role, Role::acquire);
  EXPECT_TRUE(bench.last().on_admin);
  bench.answer(Outcome::done);
  EXPECT_EQ(bench.the<core::Granted>().token.value(), 0) << "this lock has no tokens";
}

TEST(DistributedLock, DrawsAFreshGuidForEachTryAndTakesTheStoredToken) {
  Bench bench(*recipe_named("distributed-lock"));
  bench.ask();
  const auto first = bench.last().owner;
  core::Reply refused;
  refused.outcome = Outcome::done;
  refused.documents = {{"l", "another", {}, 3, ""}};
  bench.answer(refused);
  bench.fire(core::Timer::Kind::attempt, milliseconds(100));
  EXPECT_NE(bench.last().owner, first);
  bench.answer(Outcome::done);
  EXPECT_EQ(bench.the<core::Granted>().token.value(), 7);
}

TEST(DistributedLock, AHungExtensionLeavesItsHolderBelieving) {
  for (const bool hardened : {false, true}) {
    Bench bench(*recipe_named("distributed-lock"), {.own_expiry = hardened});
    bench.ask();
    bench.answer(Outcome::done);
    bench.fire(core::Timer::Kind::extension_round, milliseconds(1'000));
    EXPECT_EQ(bench.last().role, Role::extend);
    bench.fire(core::Timer::Kind::lease_end, milliseconds(10'000));
    EXPECT_EQ(bench.find<core::Lost>() != nullptr, hardened);
    bench.answer(Outcome::done, 0);
    EXPECT_TRUE(hardened || bench.find<core::Lost>()) << "it matched nothing";
  }
}

TEST(DocumentedLocks, ThrowWhatTheServerThrowsAndForgetTheirAttempt) {
  for (const auto* recipe : {recipe_named("distributed-lock"), &document_level()}) {
    Bench bench(*recipe);
    bench.ask();
    bench.answer(Outcome::unknown);
    EXPECT_EQ(bench.the<core::Ended>().error.kind, ErrorKind::unknown_outcome) << recipe->name;
    EXPECT_EQ(bench.lock.departures_left(), 0u);
  }
}

TEST(DocumentedLocks, LeaveNoTimerBehind) {
  for (const bool wins : {true, false}) {
    Bench bench(*recipe_named("distributed-lock"), {.own_expiry = true});
    bench.ask(bench.now + std::chrono::hours(24));
    bench.answer(wins ? Outcome::done : Outcome::duplicate_key);
    bench.give(core::CancelAsked{1});
    bench.give(core::ReleaseAsked{1});
    bench.answer(Outcome::done);
    settle_indexes(bench, 2);
    EXPECT_TRUE(bench.timers.empty()) << wins;
  }
}

}  // namespace
}  // namespace leasehold::published

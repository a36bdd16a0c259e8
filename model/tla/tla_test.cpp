#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "model/crew.hpp"
#include "model/lock_system.hpp"
#include "model/tla/tlc.hpp"

/// The abstract lock is written twice, in C++ and as TLA+, and explored by two programs. They have
/// to agree: on the number of states of the sound lock, and on how soon each variant breaks what.
namespace leasehold::model {
namespace {

using tla::Constants;

constexpr std::uint64_t kAll = 1000;  ///< steps, more than there are

Scope calm() {
  Scope scope;
  scope.failovers = scope.crashes = scope.ttl_passes = scope.losses = scope.late_starts = false;
  return scope;
}
Scope faults() {
  Scope scope;
  scope.failovers = false;
  return scope;
}
Scope late_and_ttl() {
  Scope scope = calm();
  scope.late_starts = scope.ttl_passes = true;
  return scope;
}
Scope handing_over(Scope scope) {
  scope.hand_overs = true;
  return scope;
}
Scope three_clients() {
  Scope scope = calm();
  scope.clients = 3;
  return scope;
}

/// A variant of lock_rules, by the constants that change the specification as much.
struct Wrong {
  std::string_view name;
  Scope scope;
  Constants constants;
};

/// In the smallest scope that shows it, or the largest in which TLC takes but seconds.
const std::vector<Wrong>& wrong_ones() {
  const std::string no = "FALSE";
  static const std::vector<Wrong> all{
      {"no-owner-check-on-release", faults(), {{"ReleaseChecksOwner", no}}},
      {"no-owner-check-on-extension", calm(), {{"ExtensionChecksOwner", no}}},
      {"no-check-of-the-winner", faults(), {{"WinnerChecked", no}}},
      {"deadline-from-the-reply", Scope{}, {{"DeadlineFromSending", no}}},
      {"deadline-moved-by-an-unknown-extension", faults(), {{"UnknownExtensionKeepsDeadline", no}}},
      {"late-extension-revives-a-lost-handle", faults(), {{"LateExtensionIgnored", no}}},
      {"no-deadline-of-its-own", Scope{}, {{"HasDeadline", no}}},
      {"held-until-the-release-is-answered", faults(), {{"HeldEndsBeforeRelease", no}}},
      {"new-owner-per-retry", Scope{}, {{"OwnerPer", R"("attempt")"}}},
      {"owner-per-process", calm(), {{"OwnerPer", R"("process")"}}},
      {"owner-used-on-after-its-delete", calm(), {{"FreshOwnerAfterDelete", no}}},
      {"beat-not-raised-by-a-retry", calm(), {{"BeatRaised", R"("not by retries")"}}},
      {"beat-kept-by-an-extension", calm(), {{"BeatRaised", R"("not by extensions")"}}},
      {"beat-restarted-by-an-extension", calm(), {{"BeatRaised", R"("restarted")"}}},
      {"beat-counted-in-the-document", late_and_ttl(), {{"BeatRaised", R"("counted")"}}},
      {"observation-from-the-sending", faults(), {{"SightFromItsReply", no}}},
      {"observed-beat-not-compared", calm(), {{"SeenBeatCompared", no}}},
      {"observed-string-not-compared",
       calm(),
       {{"SeenOwnerCompared", no}, {"SeenBeatCompared", no}}},
      {"older-own-write-lowers-expires-at", faults(), {{"ExpiryNeverLowered", no}}},
      {"margin-kept-by-the-waiter", Scope{}, {{"MarginKept", R"("by waiter")"}}},
      {"margin-forgotten-by-an-extension", faults(), {{"MarginKept", R"("not in extensions")"}}},
      {"no-margin", Scope{}, {{"MarginKept", R"("nowhere")"}}},
      {"extension-inserts-when-missing", faults(), {{"ExtensionOnlyUpdates", no}}},
      {"expiry-ignored", Scope{}, {{"ExpiryHeeded", no}}},
      {"token-from-cluster-time", calm(), {{"TokenFrom", R"("cluster time")"}}},
      {"token-counter-in-the-document", faults(), {{"TokenFrom", R"("counter")"}}},
      {"no-token", faults(), {{"TokenFrom", R"("nothing")"}}},
      {"majority-not-awaited", Scope{}, {{"MajorityAwaited", no}}},
      {"no-drift-margin-of-the-holder", Scope{}, {{"HolderKeepsDriftMargin", no}}},
      {"no-drift-margin-of-the-observer", faults(), {{"ObserverKeepsDriftMargin", no}}},
      {"hand-over-while-the-old-handle-holds",
       handing_over(faults()),
       {{"HeldEndsBeforeHandOver", no}}},
      {"hand-over-without-owners", handing_over(calm()), {{"HandOverChecksOwners", no}}},
      {"hand-over-inserts-when-missing", handing_over(faults()), {{"HandOverOnlyUpdates", no}}},
  };
  return all;
}

/// Of the sound lock: how far both look.
struct Sound {
  std::string_view name;
  Scope scope;
  std::uint64_t steps;
};
const std::vector<Sound>& sound_ones() {
  static const std::vector<Sound> all{{"no faults, all states", calm(), kAll},
                                      {"faults but failovers", faults(), 10},
                                      {"every fault", Scope{}, 8},
                                      {"every fault and hand-overs", handing_over(Scope{}), 8},
                                      {"three clients", three_clients(), 8}};
  return all;
}

/// An error of the specification itself: one place of it, made another.
struct Planted {
  Scope scope;
  std::uint64_t steps;
  std::string from, to;
};
const std::vector<Planted>& planted_ones() {
  static const std::vector<Planted> all{
      {calm(), kAll, "now - me.since >= mustSee", "TRUE"},
      {faults(), 8, R"(\/ client[c].doubtful # NoOwner \/)", R"(\/)"}};
  return all;
}

Constants constants_of(const Scope& scope, std::uint64_t steps) {
  const auto word = [](bool value) { return value ? "TRUE" : "FALSE"; };
  return {{"N", std::to_string(scope.clients)},
          {"Depth", std::to_string(steps)},
          {"Margin", std::to_string(scope.clock_margin)},
          {"Skew", std::to_string(scope.skew)},
          {"Failovers", word(scope.failovers)},
          {"Crashes", word(scope.crashes)},
          {"TtlPasses", word(scope.ttl_passes)},
          {"Losses", word(scope.losses)},
          {"LateStarts", word(scope.late_starts)},
          {"HandOvers", word(scope.hand_overs)}};
}

using State = LockSystem::State;
struct HashOfState {
  std::size_t operator()(const State& state) const { return hash_of(state); }
};

/// How many states are reached in so many steps. Clients keep their names: the explorer's order of
/// them is no part of the rules, and leaves ties.
std::uint64_t states_within(const Scope& scope, std::uint64_t steps) {
  const LockSystem system(scope);
  const auto first = lock_world::named_state_of(LockSystem::World{}, scope);
  std::unordered_set<State, HashOfState> seen{first};
  std::vector<State> level{first}, next;
  for (std::uint64_t step = 0; step < steps && !level.empty(); ++step) {
    for (const State& state : level) {
      LockSteps out;
      system.steps(lock_world::unpack(state, scope), out);
      for (const auto& [world, action] : out) {
        const State after = lock_world::named_state_of(world, scope);
        if (seen.insert(after).second) next.push_back(after);
      }
    }
    level.swap(next);
    next.clear();
  }
  return seen.size();
}

/// What the explorer finds, of a lock with this error.
Exploration explored(const Wrong& wrong, GuaranteeSet guarantees) {
  Scope scope = wrong.scope;
  variant_named(wrong.name)->change(scope.rules);
  scope.guarantees = guarantees;
  const LockSystem system(scope);
  return Explorer<LockSystem>(system, {.max_states = 2'000'000}).run();
}

/// All that TLC is asked, asked once, by two threads: the first of `sound_ones()` takes longest.
class Tla : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (!tla::has_tlc()) return;
    std::vector<tla::Question> questions;
    for (const Sound& sound : sound_ones()) {
      questions.push_back({.constants = constants_of(sound.scope, sound.steps)});
    }
    for (const Wrong& wrong : wrong_ones()) {
      auto constants = constants_of(wrong.scope, kAll);
      for (const auto& [name, value] : wrong.constants) constants[name] = value;
      questions.push_back({.constants = constants});
    }
    for (const Planted& error : planted_ones()) {
      questions.push_back({.constants = constants_of(error.scope, error.steps),
                           .from = error.from,
                           .to = error.to});
    }
    answers().resize(questions.size());
    Crew(2).each(static_cast<unsigned>(questions.size()),
                 [&](unsigned i) { answers()[i] = tla::ask(questions[i]); });
  }
  void SetUp() override {
    if (!tla::has_tlc()) GTEST_SKIP() << "TLC: scripts/others --tlc fetches it";
  }

  static std::vector<tla::Answer>& answers() {
    static std::vector<tla::Answer> all;
    return all;
  }
  static const tla::Answer& of_sound(std::size_t i) { return answers()[i]; }
  static const tla::Answer& of_wrong(std::size_t i) { return answers()[sound_ones().size() + i]; }
  static const tla::Answer& of_planted(std::size_t i) {
    return answers()[sound_ones().size() + wrong_ones().size() + i];
  }
};

TEST_F(Tla, TheSoundLockHoldsAndHasAsManyStatesAsInTheExplorer) {
  std::printf("%-28s %10s %10s\n", "the sound lock: states", "TLC", "explorer");
  for (std::size_t i = 0; i < sound_ones().size(); ++i) {
    const Sound& sound = sound_ones()[i];
    const tla::Answer& found = of_sound(i);
    const std::uint64_t ours = states_within(sound.scope, sound.steps);
    std::printf("%-28s %10ju %10ju\n", sound.name.data(), std::uintmax_t{found.states},
                std::uintmax_t{ours});
    EXPECT_TRUE(found.ended && found.broken.empty()) << sound.name << "\n" << found.output;
    EXPECT_EQ(found.states, ours) << sound.name;
  }
}

TEST_F(Tla, EachVariantBreaksTheSameGuaranteeInAsManySteps) {
  std::printf("%-40s %-9s %5s %9s\n", "variant", "guarantee", "TLC", "explorer");
  for (std::size_t i = 0; i < wrong_ones().size(); ++i) {
    const Wrong& wrong = wrong_ones()[i];
    const tla::Answer& found = of_wrong(i);
    const auto guarantee = guarantee_named(found.broken);
    ASSERT_TRUE(found.ended && guarantee) << wrong.name << "\n" << found.output;
    // Where several are broken as soon, each program names one of them.
    const auto first = explored(wrong, kExplored);
    const auto same = explored(wrong, {*guarantee});
    std::printf("%-40s %-9s %5ju %9zu\n", wrong.name.data(), found.broken.c_str(),
                std::uintmax_t{found.steps}, same.story.size());
    EXPECT_EQ(found.steps, first.story.size()) << wrong.name << ": " << first.why;
    EXPECT_EQ(found.steps, same.story.size()) << wrong.name << ": " << same.why;
    EXPECT_TRUE(variant_named(wrong.name)->breaks.contains(*guarantee)) << wrong.name;
  }
}

TEST_F(Tla, WithoutTheRuleOfObservationG1IsBroken) {
  EXPECT_EQ(of_planted(0).broken, "G1") << of_planted(0).output;
}

TEST_F(Tla, AForgottenCleanUpBreaksNothingAndShowsInTheNumberOfStates) {
  const Planted& error = planted_ones()[1];
  EXPECT_TRUE(of_planted(1).ended && of_planted(1).broken.empty()) << of_planted(1).output;
  EXPECT_NE(of_planted(1).states, states_within(error.scope, error.steps));
}

/// Who adds a variant writes it here too, unless it is about what the specification leaves out.
TEST(TlaRules, EachVariantIsThereButThoseOfTheQueueAndOfAForeignLock) {
  std::vector<std::string_view> left_out;
  for (const Variant& variant : variants()) {
    const auto is_it = [&](const Wrong& wrong) { return wrong.name == variant.name; };
    if (std::none_of(wrong_ones().begin(), wrong_ones().end(), is_it)) {
      left_out.push_back(variant.name);
    }
  }
  const std::vector<std::string_view> expected{
      "observation-of-a-foreign-lock-id",
      "pass-on-while-the-giver-holds",
      "grant-dated-by-the-release-alone",
      "grant-counted-from-the-notice",
      "grant-counted-from-the-last-read-of-the-stream",
      "grant-counted-from-a-newer-renewal",
      "ended-owners-entry-accepted",
      "lost-place-not-taken-anew"};
  EXPECT_EQ(left_out, expected);
}

/// A specification of which half can never happen would agree as well.
TEST_F(Tla, EachActionIsTaken) {
  std::map<std::string, std::uint64_t> taken;
  for (const tla::Answer& answer : answers()) {
    for (const auto& [action, times] : answer.taken) taken[action] += times;
  }
  EXPECT_GE(taken.size(), 26u);
  for (const auto& [action, times] : taken) EXPECT_GT(times, 0u) << action;
}

}  // namespace
}  // namespace leasehold::model

#include "sim/explored/core_system.hpp"

#include <algorithm>

#include "model/transition_table.hpp"
#include "sim/explored/core_terms.hpp"

namespace leasehold::sim::explored {
namespace {

using namespace terms;

/// In the order of `terms::Broken`, whose values are in the states.
constexpr std::array<const char*, 9> kBroken{
    nullptr,
    "G1: a lease was given away before it ran out or was released",
    "G2: held() is true in two processes at once",
    "G4: a token is not above one that was granted before",
    "G5: a lease ended unreleased, and its holder was not notified",
    "G6: another's lock was touched",
    "G7: a waiter did not get a free or dead lock within the bound",
    "G7: a call that is over left its lock behind",
    "arrows: a step that no diagram has"};

/// In the order of `CoreFault`.
constexpr std::array<const char*, kCoreFaults> kFaultNames{
    "lost request", "late request", "lost reply", "slow reply",  "waiting inside", "error before",
    "error after",  "crash",        "pause",      "clock ahead", "cancel"};

}  // namespace

/// What a verdict is about: without it "holds" says nothing.
std::string describe(const CoreScope& scope) {
  std::string kinds;
  for (unsigned k = 0; k < kCoreFaults; ++k) {
    if ((scope.kinds >> k & 1) != 0)
      kinds += (kinds.empty() ? "" : ", ") + std::string(kFaultNames[k]);
  }
  return "2 providers with " + std::to_string(scope.acquires[0]) + " and " +
         std::to_string(scope.acquires[1]) + " acquires, " + std::to_string(scope.ticks) +
         " ticks with a lease of 3 and a margin of " + std::to_string(scope.margin_ticks) +
         ", up to " + std::to_string(scope.faults) + " of the faults " + kinds;
}

const std::vector<NamedCoreScope>& core_scopes() {
  const auto bit = [](CoreFault fault) { return 1u << static_cast<unsigned>(fault); };
  // No clock frees a dead holder's lock within the ticks: it has to be observed.
  const unsigned deadly =
      bit(CoreFault::crash) | bit(CoreFault::pause) | bit(CoreFault::lost_reply);
  // Long with one fault, short with two: each fits the memory and the minutes of a test run.
  static const std::vector<NamedCoreScope> scopes{
      {"one-fault", {.ticks = 10, .faults = 1}, 3'756'855},
      {"observed-only", {.ticks = 10, .faults = 1, .margin_ticks = 20, .kinds = deadly}, 670'506},
      {"two-faults", {.ticks = 5, .faults = 2}, 12'491'624}};
  return scopes;
}

/// In the order of `terms::Sight`. What a scope cannot show, an exploration of it must not claim.
const std::vector<std::string>& CoreSystem::seen_events() {
  static const std::vector<std::string> names{"takeover of one observed dead",
                                              "takeover by the server's clock",
                                              "own win recognised",
                                              "loss notified",
                                              "extension",
                                              "TTL deletion",
                                              "late request executed",
                                              "call given up"};
  return names;
}

CoreSystem::CoreSystem(const CoreScope& scope) : scope_(scope) {
  // All else is one tick, so that within a lease an extension can fail and be tried again.
  options_.expiry = kLeaseTicks * kTick;
  options_.extension_cadence = kTick;
  options_.operation_timeout = kTick;
  options_.clock_margin = scope.margin_ticks * kTick;
  // From a tick to a tick: the pause has one length, whatever is drawn.
  options_.waiting = uniform_waiting(kTick, kTick);
}

/// Nobody has asked yet, and there is no document.
CoreSystem::State CoreSystem::first() const {
  World w;
  for (unsigned who = 0; who < 2; ++who) {
    Actor a;
    a.life = model::kOutside;
    a.asks_left = scope_.acquires[who];
    w.actors[who] = states_.keep(a);
  }
  w.document = states_.keep(Document());
  return CoreStates::pack(w);
}

/// The properties are checked where a step is made, for most are of steps; a state only carries
/// what was found.
model::Judgement CoreSystem::judge(const State& state) const {
  return {.broken = kBroken[CoreStates::unpack(state).broken], .reached = seen_};
}

/// Which faults a behaviour has had is part of the state, so two that differ in it alone are two:
/// what is left to befall them differs.
bool CoreSystem::spend(World& w, CoreFault fault) const {
  // Each kind once, which bounds the search. What the same fault twice would show is left out.
  const unsigned bit = 1u << static_cast<unsigned>(fault);
  const auto spent = static_cast<unsigned>(std::popcount(w.faults));
  if ((w.faults & bit) != 0 || (scope_.kinds & bit) == 0 || spent >= scope_.faults) return false;
  w.faults |= bit;
  w.fault_at = w.tick;
  return true;
}

void CoreSystem::emit(World to, const char* step, unsigned who, const char* text) const {
  // As `held()` answers: by the clock, whether the loss was reported or not. A paused holder
  // counts: it goes on where it was.
  const auto holds = [&](unsigned p) {
    // A crashed one is no process any more that could be asked.
    const Actor& a = actor(to, p);
    return a.holds && !a.crashed && local(to.tick) < a.deadline;
  };
  if (to.broken == none && holds(0) && holds(1)) to.broken = g2;
  const Action action{static_cast<std::uint8_t>(found_.size()), static_cast<std::uint8_t>(who)};
  Found found{CoreStates::pack(to), action, ""};
  // Only the few states of a counterexample are put in words.
  if (telling_) {
    found.text = std::to_string(to.tick * kTick.count()) + " ms  ";
    if (who < 2) found.text += "p" + std::to_string(who) + " ";
    found.text += step;
    if (*text != 0) found.text += std::string(" ") + text;
  }
  found_.push_back(std::move(found));
}

/// The steps of each state are found once more, this time with their texts. They are the same ones,
/// for an effect or an execution depends on the state alone.
std::vector<std::string> CoreSystem::story(const std::vector<State>& path) const {
  telling_ = true;
  std::vector<std::string> lines;
  for (std::size_t i = 0; i + 1 < path.size(); ++i) {
    steps(path[i]);
    // Two steps may lead to one state; the text of either says how.
    const auto taken = std::find_if(found_.begin(), found_.end(),
                                    [&](const Found& f) { return f.to == path[i + 1]; });
    lines.push_back(taken->text);
  }
  telling_ = false;
  return lines;
}

}  // namespace leasehold::sim::explored

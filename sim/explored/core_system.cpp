#include "sim/explored/core_system.hpp"

#include <algorithm>

#include "model/diagrams/transition_table.hpp"
#include "sim/explored/core_terms.hpp"

namespace leasehold::sim::explored {
namespace {

using namespace terms;

/// In the order of `terms::Broken`, because the states hold its values.
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

/// From tick to tick, whatever the draw: pauses and renewals have one length.
class QueueOfTicks final : public WaitingStrategy {
 public:
  std::chrono::nanoseconds pause(const AttemptSeen&, std::uint64_t) const override { return kTick; }
  std::chrono::nanoseconds longest_pause() const override { return kTick; }
  std::optional<std::chrono::nanoseconds> renewal(std::chrono::nanoseconds) const override {
    return kTick;
  }
};

}  // namespace

/// In the order of `terms::Sight`. An exploration must not claim what its scope cannot show.
const std::vector<std::string>& CoreSystem::seen_events() {
  static const std::vector<std::string> names{"takeover of one observed dead",
                                              "takeover by the server's clock",
                                              "own win recognised",
                                              "loss notified",
                                              "extension",
                                              "TTL deletion",
                                              "late request executed",
                                              "call given up",
                                              "lock handed over inside its process",
                                              "lock passed on along the queue",
                                              "two locks extended by one command",
                                              "write rolled back",
                                              "denied by an old primary"};
  return names;
}

CoreSystem::CoreSystem(const CoreScope& scope)
    : scope_(scope), server_(states_), judge_(scope_, states_, seen_) {
  // All else is one tick, so that within a lease an extension can fail and be tried again.
  options_.expiry = kLeaseTicks * kTick;
  options_.extension_cadence = kTick;
  options_.operation_timeout = kTick;
  options_.clock_margin = scope.margin_ticks * kTick;
  // From tick to tick: the pause has one length, whatever the draw.
  options_.waiting = uniform_waiting(kTick, kTick);
  if (scope.queue) options_.waiting = std::make_shared<QueueOfTicks>();
  if (scope.drifts()) options_.max_drift = kMostDrift;
}

/// No user has asked yet, and there is no document.
CoreSystem::State CoreSystem::first() const {
  World w;
  for (unsigned process = 0; process < 2; ++process) {
    Actor a;
    for (std::size_t u = 0; u < scope_.users[process]; ++u)
      a.users[u].asks_left = scope_.acquires[process];
    w.actors[process] = states_.keep(a);
  }
  w.documents = states_.keep(Documents());
  return CoreStates::pack(w);
}

/// The properties are checked when a step is made, because most are about steps; a state only
/// carries the result.
model::Judgement CoreSystem::judge(const State& state) const {
  return {.broken = kBroken[CoreStates::unpack(state).broken], .reached = seen_};
}

/// The faults of a behaviour are part of the state, so two that differ only in them are two states,
/// because other faults are left for them.
bool CoreSystem::spend(World& w, CoreFault fault) const {
  // Each kind once, which bounds the search. What the same fault twice would show is left out.
  const unsigned bit = 1u << static_cast<unsigned>(fault);
  const auto spent = static_cast<unsigned>(std::popcount(w.faults));
  if ((w.faults & bit) != 0 || (scope_.kinds & bit) == 0 || spent >= scope_.faults) return false;
  w.faults |= bit;
  w.fault_at = w.tick;
  return true;
}

void CoreSystem::emit(World to, const char* step, unsigned process, const char* text) const {
  judge_.judge_state(to);
  const Action action{static_cast<std::uint8_t>(found_.size()), static_cast<std::uint8_t>(process)};
  Found found{CoreStates::pack(to), action, ""};
  // Only the few states of a path are put in words.
  if (telling_) {
    found.text = std::to_string(to.tick * kTick.count()) + " ms  ";
    if (process < 2) found.text += "p" + std::to_string(process) + " ";
    found.text += step;
    if (*text != 0) found.text += std::string(" ") + text;
  }
  found_.push_back(std::move(found));
}

/// The steps of each state are found again, with their texts. They are the same, because an effect
/// or an execution depends on the state alone.
std::vector<std::string> CoreSystem::story(const std::vector<State>& path) const {
  telling_ = true;
  std::vector<std::string> lines;
  for (std::size_t i = 0; i + 1 < path.size(); ++i) {
    steps(path[i]);
    // Two steps may lead to one state; either says how.
    lines.push_back(std::move(std::find_if(found_.begin(), found_.end(), [&](const Found& f) {
                                return f.to == path[i + 1];
                              })->text));
  }
  telling_ = false;
  return lines;
}

}  // namespace leasehold::sim::explored

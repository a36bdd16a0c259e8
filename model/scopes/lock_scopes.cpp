#include "model/scopes/lock_scopes.hpp"

namespace leasehold::model {
namespace {

std::vector<NamedScope> make() {
  Scope three;
  three.clients = 3;
  three.failovers = false;
  Scope messages;
  messages.messages = 2;
  messages.failovers = messages.crashes = messages.losses = messages.ttl_passes = false;
  messages.late_starts = false;
  Scope mixed;
  mixed.dotnet = mixed.stale_primary = true;
  Scope hand_over;
  hand_over.hand_overs = true;
  Scope queue;
  queue.queue = 2;
  queue.failovers = false;
  // The longest first, so that two cores end together.
  return {{"mixed", mixed, 23'980'473},           {"three-clients", three, 23'888'550},
          {"two-messages", messages, 18'398'133}, {"queue", queue, 22'224'691},
          {"hand-over", hand_over, 16'330'746},   {"two-clients", Scope{}, 13'676'446}};
}

}  // namespace

const std::vector<NamedScope>& standard_scopes() {
  static const std::vector<NamedScope> all = make();
  return all;
}

const std::vector<NamedScope>& partial_scopes() {
  static const std::vector<NamedScope> all = [] {
    Scope stale;
    stale.stale_primary = true;
    Scope failover;
    failover.queue = 1;
    Scope stale_queue = stale;
    stale_queue.queue = 1;
    Scope mixed;  // the third client is the package's; it takes over locks with a queue
    mixed.clients = 3;
    mixed.dotnet = true;
    mixed.queue = 1;
    mixed.failovers = false;
    Scope three;
    three.clients = 3;
    three.queue = 2;
    three.failovers = false;
    Scope three_failover;
    three_failover.clients = 3;
    Scope every_fault;
    every_fault.messages = 2;
    three_failover.losses_late = every_fault.losses_late = true;
    return std::vector<NamedScope>{{"stale-primary", stale, 0},
                                   {"three-clients-failover", three_failover, 0},
                                   {"two-messages-every-fault", every_fault, 0},
                                   {"queue-three-clients", three, 0},
                                   {"queue-failover", failover, 0},
                                   {"queue-stale-primary", stale_queue, 0},
                                   {"queue-mixed", mixed, 0}};
  }();
  return all;
}

const NamedScope* scope_named(std::string_view name) {
  for (const auto* scopes : {&standard_scopes(), &partial_scopes()}) {
    for (const NamedScope& s : *scopes) {
      if (s.name == name) return &s;
    }
  }
  return nullptr;
}

std::map<Check, Verdict> verdicts(const Scope& scope, const Exploration& found) {
  constexpr CheckSet kTakesTwo{Check::G2, Check::G3};
  const bool alone = scope.clients - (scope.dotnet ? 1 : 0) < 2;
  std::map<Check, Verdict> all;
  for (const Check g : scope.guarantees) {
    const bool broken = found.verdict == Verdict::violated && found.why.starts_with(to_string(g));
    const bool tested = !alone || !kTakesTwo.contains(g);
    const bool holds = found.verdict == Verdict::holds && tested;
    all[g] = broken ? Verdict::violated : holds ? Verdict::holds : Verdict::unknown;
  }
  return all;
}

}  // namespace leasehold::model

#include "sim/live/run/live_world.hpp"

#include <unistd.h>

#include <algorithm>
#include <stdexcept>

namespace leasehold::sim::live {
namespace {

bool moves_clocks(const FaultPlan& fault) {
  return fault.kind == FaultPlan::Kind::clock_jump || fault.kind == FaultPlan::Kind::clock_drift;
}

}  // namespace

void LiveWorld::start_servers_for(const Plan& plan) {
  ReplicaSetOptions options{.faulty = true};
  // At least the usual one: a busy machine's heartbeats may be late.
  options.election_timeout_ms = std::max(plan.election_timeout_ms, options.election_timeout_ms);
  options.own_settings = plan.heartbeat_ms >= kOwnHeartbeat_ms;
  // A member with a clock that was put back sleeps for so long wherever it waits, and above all in
  // its TTL monitor.
  if (!site_ || clocks_moved_ || options.election_timeout_ms != election_timeout_ms_) {
    site_.reset();
    site_ = std::make_unique<RunSite>(setting_.set, options);
  }
  election_timeout_ms_ = options.election_timeout_ms;
  clocks_moved_ = std::any_of(plan.faults.begin(), plan.faults.end(), moves_clocks);
}

RunResult LiveWorld::run(const Plan& plan) {
  if (!site_ || site_->has_set_of_ours()) start_servers_for(plan);
  auto run = site_->run_in(databases() + "_" + std::to_string(++runs_), janitor_);
  run.foreign = setting_.foreign;
  run.stop = setting_.stop;
  auto result = run_live(plan, run);
  const auto failure = model::harness_failure(result.history);
  if (!failure.empty()) throw std::runtime_error("harness failure: " + failure);
  return result;
}

std::vector<std::string> LiveWorld::leave() {
  return site_ ? site_->leave() : std::vector<std::string>();
}

std::string LiveWorld::databases() { return "leasehold_lab_" + std::to_string(getpid()); }

}  // namespace leasehold::sim::live

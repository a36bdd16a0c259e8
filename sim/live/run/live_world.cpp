#include "sim/live/run/live_world.hpp"

#include <unistd.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "sim/live/own_set/user_set.hpp"

namespace leasehold::sim::live {
namespace {

bool moves_clocks(const FaultPlan& fault) {
  return fault.kind == FaultPlan::Kind::clock_jump || fault.kind == FaultPlan::Kind::clock_drift;
}

}  // namespace

bool TheirSet::can_have(FaultPlan::Kind kind) const {
  if (!script) return power_of(kind) <= power;
  return hits_process(kind) || script->about().faults.contains(kind);
}

Plan TheirSet::possible(Plan plan) const {
  std::erase_if(plan.faults, [this](const FaultPlan& fault) { return !can_have(fault.kind); });
  return plan;
}

RunSite::RunSite(TheirSet theirs, const ReplicaSetOptions& ours)
    : theirs_(std::move(theirs)), at_(begin(ours)) {}

StoreAt RunSite::begin(const ReplicaSetOptions& ours) {
  if (theirs_.script) return begin<ScriptedServers>(theirs_.script);
  if (theirs_.is_ours()) return begin<ReplicaSet>(ours);
  if (theirs_.power > Power::processes) return begin<UserSet>(theirs_.uri);
  return theirs_.uri;
}

LiveRun RunSite::run_in(const std::string& database, Janitor& janitor, const std::string& folder) {
  auto run = LiveRun::on(at_, database, janitor, folder);
  if (theirs_.uri.empty()) return run;
  databases_.push_back(database);
  run.ttl_period_ms = theirs_.ttl_period_ms;
  return run;
}

Traffic RunSite::traffic() const {
  return at_.proxy == nullptr ? Traffic() : at_.proxy->traffic();
}

std::vector<std::string> RunSite::leave() {
  std::vector<std::string> left;
  for (const auto& database : std::exchange(databases_, {})) {
    if (theirs_.keep_databases) continue;
    try {
      drop_database(theirs_.uri, database);
    } catch (const std::exception& error) {
      left.push_back("database " + database + " (" + error.what() + ")");
    }
  }
  return left;
}

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
  if (!site_ || setting_.set.is_ours()) start_servers_for(plan);
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

#include "sim/live/own_set/run_site.hpp"

#include <utility>

#include "sim/live/own_set/preflight.hpp"

namespace leasehold::sim::live {

bool TheirSet::can_have(FaultPlan::Kind kind) const {
  if (!script) return power_of(kind) <= power;
  return hits_process(kind) || script->about().faults.contains(kind);
}

Plan TheirSet::possible(Plan plan) const {
  std::erase_if(plan.faults, [this](const FaultPlan& fault) { return !can_have(fault.kind); });
  return plan;
}

RunSite::RunSite(TheirSet theirs, ReplicaSetOptions ours) : theirs_(std::move(theirs)) {
  if (theirs_.script) {
    scripted_ = std::make_unique<ScriptedServers>(theirs_.script);
  } else if (theirs_.uri.empty()) {
    ours_ = std::make_unique<ReplicaSet>(ours);
  } else if (theirs_.power > Power::processes) {
    user_set_ = std::make_unique<UserSet>(theirs_.uri);
  }
}

LiveRun RunSite::run_in(const std::string& database, Janitor& janitor, const std::string& folder) {
  if (scripted_) return LiveRun::on(*scripted_, database, janitor, folder);
  if (ours_) return LiveRun::on(*ours_, database, janitor, folder);
  databases_.push_back(database);
  auto run = user_set_ ? LiveRun::on(*user_set_, database, janitor, folder)
                       : LiveRun::on(theirs_.uri, database, janitor, folder);
  run.ttl_period_ms = theirs_.ttl_period_ms;
  return run;
}

std::vector<std::string> RunSite::log_files() const {
  if (scripted_) return scripted_->log_files();
  return ours_ ? ours_->log_files() : std::vector<std::string>();
}

Traffic RunSite::traffic() const {
  if (scripted_) return scripted_->proxy().traffic();
  return user_set_ ? user_set_->proxy().traffic() : Traffic();
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

}  // namespace leasehold::sim::live

#include "sim/live/foreign/foreign_processes.hpp"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

namespace leasehold::sim::live {

using model::Event;
using model::Kind;

ForeignWorker::ForeignWorker(Setting setting, Now now_ns, Emit emit)
    : setting_(std::move(setting)), process_(setting_, std::move(now_ns), std::move(emit)) {
  for (int i = 0; i < setting_.workload.process.callers; ++i) {
    callers_.emplace_back([this, i] { ForeignCaller(home_, i).live(); });
  }
}

ForeignWorker::~ForeignWorker() {
  process_.kill();
  callers_.clear();
}

void ForeignProcesses::take(Event e) {
  const std::lock_guard guard(mutex_);
  taken_.push_back(std::move(e));
}

void ForeignProcesses::hand_over() {
  std::vector<Event> taken;
  {
    const std::lock_guard guard(mutex_);
    taken.swap(taken_);
  }
  for (Event& e : taken) emit_(std::move(e));
}

void ForeignProcesses::start_all(std::int64_t began_ns, int) {
  began_ns_ = began_ns;
  workers_.resize(plan_.processes.size());
  for (std::size_t i = 0; i < workers_.size(); ++i) start(i);
}

void ForeignProcesses::start(std::size_t i) {
  const ProcessPlan& process = plan_.processes[i];
  const auto name = next_name(i);
  ForeignWorker::Setting setting;
  setting.command = run_.foreign->command;
  setting.order = {name, store_.uri_for(name), run_.database, process.expiry_ms};
  setting.on_start = [this, name](pid_t pid) {
    run_.janitor->watch(pid);
    store_.began(name, pid);
    if (run_.on_start) run_.on_start(pid);
  };
  setting.resource = [this, uri = setting.order.uri] { return store_.resource(uri); };
  setting.workload = {process, plan_.locks,
                      long_holding(process, options_of(process, "leasehold", 0))};
  setting.seed = next_seed();
  setting.promises = run_.foreign->promises;
  setting.folder = run_.folder;
  setting.began_ns = began_ns_;
  const bool named = std::any_of(plan_.faults.begin(), plan_.faults.end(),
                                 [](const FaultPlan& fault) { return fault.member >= 0; });
  setting.clock_margin_ms = named ? 0 : clock_margin_ms(plan_, run_);
  setting.steps = steps_of(i);
  if (workers_[i]) killed_.push_back(std::move(workers_[i]));
  workers_[i] =
      std::make_unique<ForeignWorker>(setting, now_, [this](Event e) { take(std::move(e)); });
}

void ForeignProcesses::listen_ms(int limit_ms) {
  std::this_thread::sleep_for(std::chrono::milliseconds(limit_ms));
  for (const auto& worker : workers_) worker->attend();
  hand_over();
}

void ForeignProcesses::heal() {
  for (const auto& worker : workers_) worker->heal();
}

bool ForeignProcesses::all_done() const {
  return std::all_of(workers_.begin(), workers_.end(), [](const auto& w) { return w->over(); });
}

/// Waiters of a lock without hand-overs may be late without end.
void ForeignProcesses::end_by_force() {
  for (const auto& worker : workers_) end(*worker);
  for (const auto* all : {&workers_, &killed_}) {
    for (const auto& worker : *all) worker->join();
  }
  hand_over();
}

/// Returns whether it was alive until then.
bool ForeignProcesses::end(ForeignWorker& worker) {
  const auto killed = worker.kill();
  if (!killed) return false;
  Event e = event(Kind::crash, worker.name());
  e.at_ns = *killed;
  take(std::move(e));
  return true;
}

std::vector<ProcessView> ForeignProcesses::running() {
  std::vector<ProcessView> views;
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    if (!workers_[i]->running()) continue;
    views.push_back({.name = workers_[i]->name(),
                     .place = static_cast<std::int64_t>(i),
                     .holds = workers_[i]->holds(),
                     .scripted = plan_.processes[i].scripted});
  }
  return views;
}

/// Null: it was replaced by a successor.
ForeignWorker* ForeignProcesses::named(const std::string& name) const {
  const auto found = std::find_if(workers_.begin(), workers_.end(),
                                  [&](const auto& w) { return w->name() == name; });
  return found == workers_.end() ? nullptr : found->get();
}

bool ForeignProcesses::kill(const std::string& name) { return end(*named(name)); }

void ForeignProcesses::start_successor(const std::string& name) {
  const auto found = std::find_if(workers_.begin(), workers_.end(),
                                  [&](const auto& w) { return w->name() == name; });
  start(static_cast<std::size_t>(found - workers_.begin()));
}

void ForeignProcesses::set_wall_clock(const std::string& name, std::int64_t offset_ms) {
  if (auto* worker = named(name)) worker->set_wall_clock(offset_ms);
}

bool ForeignProcesses::saw_its_wall_clock(const std::string& name) {
  const auto* worker = named(name);
  return worker != nullptr && worker->saw_its_wall_clock();
}

/// A suspension cannot be hidden from a worker's clocks: it is a pause.
void ForeignProcesses::pause(const std::string& name, bool) {
  take(event(Kind::pause, name));
  named(name)->pause();
}

void ForeignProcesses::resume(const std::string& name) {
  auto* worker = named(name);
  if (worker != nullptr && worker->resume()) take(event(Kind::resume, name));
}

}  // namespace leasehold::sim::live

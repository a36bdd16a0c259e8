#include "sim/live/permits/permit_processes.hpp"

#include <signal.h>

#include <algorithm>
#include <sstream>
#include <stdexcept>
#include <utility>

namespace leasehold::sim::live {

PermitProcesses::PermitProcesses(Command command, int count, std::function<std::int64_t()> now_ns)
    : command_(std::move(command)),
      now_ns_(std::move(now_ns)),
      processes_(static_cast<std::size_t>(count)),
      grants_(static_cast<std::size_t>(count)) {
  for (std::size_t place = 0; place < processes_.size(); ++place) start(place);
}

void PermitProcesses::start(std::size_t place) {
  One& one = processes_[place];
  const int life = one.child.pid() < 0 ? 1 : one.life + 1;
  const auto name = "p" + std::to_string(place) + "." + std::to_string(life);
  one = One{ChildProcess(command_(name), ChildProcess::Io::pipes), name};
  one.life = life;
}

void PermitProcesses::read() {
  for (std::size_t place = 0; place < processes_.size(); ++place) read(place);
}

void PermitProcesses::read(std::size_t place) {
  One& one = processes_[place];
  while (one.lines.read_from(one.child.out())) {
    while (const auto line = one.lines.next()) hear(place, *line);
  }
}

void PermitProcesses::hear(std::size_t place, const std::string& line) {
  One& one = processes_[place];
  std::istringstream in(line);
  std::string what;
  PermitClaim claim{.process = one.name};
  if (!(in >> what >> claim.at_ns >> claim.slot >> claim.token)) {
    throw std::runtime_error(one.name + " said '" + line + "': not a line of permit_main");
  }
  if (what == "no") ++losses_;
  if (what != "yes") {
    one.held_token = 0;
    return;
  }
  if (one.held_token != claim.token) ++grants_[place];
  one.held_token = claim.token;
  one.held_slot = claim.slot;
  claims_.push_back(std::move(claim));
}

PermitProcesses::One* PermitProcesses::named(const std::string& name) {
  const auto found = std::find_if(processes_.begin(), processes_.end(),
                                  [&](const One& one) { return one.name == name; });
  return found == processes_.end() ? nullptr : &*found;
}

std::vector<ProcessView> PermitProcesses::running() {
  read();
  std::vector<ProcessView> views;
  for (std::size_t place = 0; place < processes_.size(); ++place) {
    const One& one = processes_[place];
    if (one.killed || one.paused) continue;
    views.push_back({.name = one.name,
                     .place = static_cast<std::int64_t>(place),
                     .holds = one.held_token != 0});
  }
  return views;
}

bool PermitProcesses::kill(const std::string& name) {
  One& one = *named(name);
  if (!one.child.running()) return false;
  one.child.kill();
  one.killed = true;
  const auto died_ns = now_ns_();
  read(static_cast<std::size_t>(&one - processes_.data()));
  if (one.held_token != 0) orphans_.push_back({one.held_slot, one.held_token, died_ns});
  return true;
}

void PermitProcesses::start_successor(const std::string& name) {
  start(static_cast<std::size_t>(named(name) - processes_.data()));
}

void PermitProcesses::pause(const std::string& name, bool suspends) {
  if (suspends) throw std::logic_error("a suspended machine breaks an assumption of the lock");
  One& one = *named(name);
  one.paused = true;
  one.child.send_signal(SIGSTOP);
}

void PermitProcesses::resume(const std::string& name) {
  One* one = named(name);
  if (one == nullptr || !std::exchange(one->paused, false)) return;
  one->child.send_signal(SIGCONT);
}

void PermitProcesses::set_wall_clock(const std::string& name, std::int64_t) {
  throw std::logic_error(name + " has no wall clock of its own");
}

std::vector<std::string> PermitProcesses::ended() {
  std::vector<std::string> all;
  for (auto& one : processes_) {
    if (!one.killed && !one.child.running()) {
      all.push_back(one.name + " ended with status " + std::to_string(one.child.exit_status()));
    }
  }
  return all;
}

}  // namespace leasehold::sim::live

#include "sim/live/system/process_tree.hpp"

#include <signal.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <functional>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>

#include "sim/live/system/child_process.hpp"

namespace leasehold::sim::live {
namespace {

namespace fs = std::filesystem;
using SteadyClock = std::chrono::steady_clock;

constexpr std::chrono::seconds kLimit{60};  ///< of a machine that stands still for ten of them

void wait_for(const std::string& what, const std::function<bool()>& attempt) {
  const auto end = SteadyClock::now() + kLimit;
  while (!attempt()) {
    if (SteadyClock::now() > end) throw std::runtime_error(what + " failed");
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

}  // namespace

ProcessTable::ProcessTable() {
  std::error_code gone;
  for (fs::directory_iterator at("/proc", gone), end; !gone && at != end; at.increment(gone)) {
    const auto name = at->path().filename().string();
    pid_t pid = 0;
    const auto* const last = name.data() + name.size();
    if (std::from_chars(name.data(), last, pid).ptr != last) continue;
    const auto stat = kernel_stat(pid);
    if (stat.size() < 3) continue;
    processes_[pid] = {std::stoi(stat[1]), std::stoi(stat[2]), stat[0] == "Z" || stat[0] == "X"};
  }
}

bool ProcessTable::is_gone(pid_t process) const {
  const auto found = processes_.find(process);
  return found == processes_.end() || found->second.dead;
}

std::vector<pid_t> ProcessTable::tree(pid_t root) const {
  std::vector<pid_t> all;
  const auto add = [&](pid_t pid) {
    if (std::find(all.begin(), all.end(), pid) == all.end()) all.push_back(pid);
  };
  if (processes_.contains(root)) all.push_back(root);
  for (const auto& [pid, entry] : processes_) {
    if (entry.group == root) add(pid);
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (const auto& [pid, entry] : processes_) {
      if (entry.parent == all[i]) add(pid);
    }
  }
  std::erase_if(all, [this](pid_t pid) { return is_gone(pid); });
  return all;
}

pid_t ProcessTable::parent(pid_t process) const {
  const auto found = processes_.find(process);
  return found == processes_.end() ? 0 : found->second.parent;
}

/// Again and again, because one may start another meanwhile.
void stop_tree(pid_t root) {
  wait_for("stopping a member", [root] {
    bool all = true;
    for (const pid_t pid : ProcessTable().tree(root)) {
      if (is_stopped(pid)) continue;
      all = false;
      ::kill(pid, SIGSTOP);
    }
    return all;
  });
}

void resume_tree(pid_t root) {
  for (const pid_t pid : ProcessTable().tree(root)) ::kill(pid, SIGCONT);
}

/// Stopped first, so that none that is started meanwhile loses its parent and is not found.
void kill_trees(const std::vector<pid_t>& roots) {
  std::string complaint;
  for (const pid_t root : roots) {
    try {
      stop_tree(root);
    } catch (const std::runtime_error& error) {
      complaint = error.what();
    }
  }
  std::set<pid_t> seen;
  wait_for("killing a member (" + complaint + ")", [&] {
    const ProcessTable table;
    for (const pid_t root : roots) {
      for (const pid_t pid : table.tree(root)) seen.insert(pid);
    }
    for (const pid_t pid : seen) ::kill(pid, SIGKILL);
    std::erase_if(seen, [&](pid_t pid) { return table.is_gone(pid); });
    return seen.empty();
  });
}

}  // namespace leasehold::sim::live

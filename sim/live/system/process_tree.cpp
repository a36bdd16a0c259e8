#include "sim/live/system/process_tree.hpp"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include "sim/live/system/child_process.hpp"

namespace leasehold::sim::live {

namespace {

namespace fs = std::filesystem;
constexpr std::chrono::seconds kLimit{60};  ///< of a machine that stands still for ten of them

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

/// Again and again, because one may start another meanwhile. One that waits in the kernel stops
/// before it runs again: a shell that has just called vfork waits for a child, which may be
/// stopped.
void stop_tree(pid_t root) {
  std::set<pid_t> signalled;
  until_true("stopping a member", [&] {
    bool all = true;
    for (const pid_t pid : ProcessTable().tree(root)) {
      const bool waits = signalled.contains(pid) && waits_in_kernel(pid);
      if (waits || is_stopped(pid)) continue;
      all = false;
      ::kill(pid, SIGSTOP);
      signalled.insert(pid);
    }
    return all;
  }, kLimit);
}

void resume_tree(pid_t root) {
  for (const pid_t pid : ProcessTable().tree(root)) ::kill(pid, SIGCONT);
}

/// Those that started others are stopped first, so that none that is started meanwhile loses its
/// parent and is not found.
void kill_trees(const std::vector<pid_t>& roots) {
  std::string complaint;
  for (const pid_t root : roots) {
    try {
      if (ProcessTable().tree(root).size() > 1) stop_tree(root);
    } catch (const std::runtime_error& error) {
      complaint = error.what();
    }
  }
  std::set<pid_t> seen;
  until_true("killing a member (" + complaint + ")", [&] {
    const ProcessTable table;
    for (const pid_t root : roots) {
      for (const pid_t pid : table.tree(root)) seen.insert(pid);
    }
    for (const pid_t pid : seen) ::kill(pid, SIGKILL);
    std::erase_if(seen, [&](pid_t pid) { return table.is_gone(pid); });
    return seen.empty();
  }, kLimit);
}

namespace {

namespace fs = std::filesystem;

/// As the kernel ends an address with it: ":1F90 ".
std::string port_in_table(int port) {
  std::array<char, 8> text{};
  std::snprintf(text.data(), text.size(), ":%04X ", static_cast<unsigned>(port));
  return text.data();
}

/// The inodes of the open sockets (proc(5)) with addresses that end so. A socket of IPv6 may be
/// connected to an address of IPv4, as those of Java are.
std::vector<std::string> inodes_of(const std::string& local, const std::string& remote) {
  constexpr std::size_t kLocal = 1, kRemote = 2, kInode = 9;
  std::vector<std::string> inodes;
  for (const char* table : {"/proc/net/tcp", "/proc/net/tcp6"}) {
    std::ifstream in(table);
    for (std::string line; std::getline(in, line);) {
      const bool may_be = line.find(local) != std::string::npos &&
                          line.find(remote) != std::string::npos;
      if (!may_be) continue;
      std::istringstream text(line);
      const std::vector<std::string> fields{std::istream_iterator<std::string>(text), {}};
      const bool is_it = fields.size() > kInode && (fields[kLocal] + ' ').ends_with(local) &&
                         (fields[kRemote] + ' ').ends_with(remote);
      if (is_it && fields[kInode] != "0") inodes.push_back(fields[kInode]);
    }
  }
  return inodes;
}

bool has_open(pid_t pid, const fs::path& what) {
  std::error_code gone;
  for (fs::directory_iterator at("/proc/" + std::to_string(pid) + "/fd", gone), end;
       !gone && at != end; at.increment(gone)) {
    std::error_code closed;
    if (fs::read_symlink(at->path(), closed) == what) return true;
  }
  return false;
}

}  // namespace

void SocketOwners::add(const std::string& name, pid_t process) {
  const std::lock_guard lock(mutex_);
  known_[name] = process;
  names_.clear();  // a dead process may have had its number
}

/// If a known process is no child of ours, it has the number of a dead one.
void SocketOwners::look_again() const {
  names_.clear();
  const ProcessTable table;
  for (const auto& [name, process] : known_) {
    if (table.parent(process) != getpid()) continue;
    for (const pid_t pid : table.tree(process)) names_[pid] = name;
  }
}

std::string SocketOwners::owner_of(const std::string& inode) const {
  const fs::path socket = "socket:[" + inode + "]";
  const auto found = std::find_if(names_.begin(), names_.end(),
                                  [&](const auto& each) { return has_open(each.first, socket); });
  return found == names_.end() ? "" : found->second;
}

/// Only in vain are all processes of the machine looked at.
std::string SocketOwners::of(int from, int to) const {
  const auto inodes = inodes_of(port_in_table(from), port_in_table(to));
  if (inodes.empty()) return "";
  const std::lock_guard lock(mutex_);
  auto owner = owner_of(inodes.front());
  if (owner.empty()) {
    look_again();
    owner = owner_of(inodes.front());
  }
  return owner;
}

std::set<std::string> SocketOwners::connected_to(const std::set<int>& ports) const {
  const std::string loopback = "0100007F";  // in this machine's order of bytes
  std::vector<std::string> inodes;
  for (const int port : ports) {
    const auto found = inodes_of("", loopback + port_in_table(port));
    inodes.insert(inodes.end(), found.begin(), found.end());
  }
  const std::lock_guard lock(mutex_);
  look_again();
  std::set<std::string> names;
  for (const auto& inode : inodes) names.insert(owner_of(inode));
  names.erase("");
  return names;
}

}  // namespace leasehold::sim::live

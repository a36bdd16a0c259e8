#include "sim/live/stores/socket_owners.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <vector>

#include "sim/live/system/process_tree.hpp"

namespace leasehold::sim::live {
namespace {

namespace fs = std::filesystem;

/// As the kernel ends an address with it: ":1F90 ".
std::string port_in_table(int port) {
  std::array<char, 8> text{};
  std::snprintf(text.data(), text.size(), ":%04X ", static_cast<unsigned>(port));
  return text.data();
}

/// The socket's inode (proc(5)); "0" or empty: there is none any more. A socket of IPv6 may be
/// connected to an address of IPv4, as those of Java are.
std::string inode_of(int from, int to) {
  constexpr std::size_t kLocal = 1, kRemote = 2, kInode = 9;
  const auto local = port_in_table(from), remote = port_in_table(to);
  for (const char* table : {"/proc/net/tcp", "/proc/net/tcp6"}) {
    std::ifstream in(table);
    for (std::string line; std::getline(in, line);) {
      if (line.find(local) == std::string::npos) continue;
      std::istringstream text(line);
      const std::vector<std::string> fields{std::istream_iterator<std::string>(text), {}};
      const bool is_it = fields.size() > kInode && (fields[kLocal] + ' ').ends_with(local) &&
                         (fields[kRemote] + ' ').ends_with(remote);
      if (is_it) return fields[kInode];
    }
  }
  return "";
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

/// Only in vain are all processes of the machine looked at. If a known one is no child of ours, it
/// has the number of a dead one.
std::string SocketOwners::of(int from, int to) const {
  const auto inode = inode_of(from, to);
  if (inode.empty() || inode == "0") return "";
  const fs::path socket = "socket:[" + inode + "]";
  const std::lock_guard lock(mutex_);
  const auto owner = [&] {
    return std::find_if(names_.begin(), names_.end(),
                        [&](const auto& each) { return has_open(each.first, socket); });
  };
  auto found = owner();
  if (found == names_.end()) {
    names_.clear();
    const ProcessTable table;
    for (const auto& [name, process] : known_) {
      if (table.parent(process) != getpid()) continue;
      for (const pid_t pid : table.tree(process)) names_[pid] = name;
    }
    found = owner();
  }
  return found == names_.end() ? "" : found->second;
}

}  // namespace leasehold::sim::live
